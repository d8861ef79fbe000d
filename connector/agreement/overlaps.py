"""How far marks of different raters are of the same place, whatever their labels.

A place is (on, parts): the object that was marked, and the marks that are one region of it; a mark is (start, end,
labels) of a text or a time line, or (shape, geometry, labels, frame) as `shapes` has it. Most places have one part; a
track in a video has one for each frame that is compared, and labels of a video may have several ranges.

Two stretches are alike by their intersection over union, in characters or in time; two regions of an image as `shapes`
says. Two tracks are alike by the sum of that over the frames that both are in, divided by the number of frames that
either is in (the vIoU of Zhang et al. 2020, Where does it exist, CVPR), where frames under one half count as none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from connector.agreement.continua import spread
from connector.agreement.patterns import tally
from connector.agreement.ratings import Floats, Ints
from connector.agreement.shapes import CANDIDATES, HALF, ROUNDING, Shapes

STRETCH = 3
"""Members of a mark of a text or a time line; a region of an image has one more."""


class Overlaps(NamedTuple):
    """(E,) pairs of places that are alike by half or more, and how alike they are."""

    i: Ints
    j: Ints
    alike: Floats


def overlaps(task: Ints, rater: Ints, places: Sequence[Any]) -> Overlaps:
    """The pairs of M places, each marked by a rater in a task, that are of one task and object and of two raters."""
    held: dict[tuple[int, str, int], list[int]] = {}
    for n, (of, (on, parts)) in enumerate(zip(task.tolist(), places, strict=True)):
        if parts:
            held.setdefault((of, on, len(parts[0]) == STRETCH), []).append(n)
    stretches = [members for (_, _, on_line), members in held.items() if on_line and len(members) > 1]
    drawn = [members for (_, _, on_line), members in held.items() if not on_line and len(members) > 1]
    found = [_of_stretches(stretches, rater, places), _of_shapes(drawn, rater, places)]
    return Overlaps(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _of_stretches(groups: Sequence[Sequence[int]], rater: Ints, places: Sequence[Any]) -> Overlaps:
    rows = [
        (group, n, start, end)
        for group, members in enumerate(groups)
        for n in members
        for start, end, _ in places[n][1]
    ]
    if not rows:
        return _none()
    of, place, start, end = (np.array(column) for column in zip(*rows, strict=True))
    order = np.lexsort((end, start, of))
    of, place, start, end = of[order], place[order], start[order].astype(np.float64), end[order].astype(np.float64)
    starts = np.unique(start)
    first = of * (len(starts) + 1) + np.searchsorted(starts, start)
    behind = np.searchsorted(first, of * (len(starts) + 1) + np.searchsorted(starts, end))
    times = behind - np.arange(len(of)) - 1
    lengths = tally(place, end - start, len(places))
    whole = np.bincount(place, minlength=len(places)) == 1
    i, j, common = [], [], []
    for part in _batches(times):
        one = np.repeat(part, times[part])
        other = spread(part + 1, times[part])
        shared = np.minimum(end[one], end[other]) - start[other]
        one_place, other_place = place[one], place[other]
        of_both = lengths[one_place] + lengths[other_place]
        # of two marks of one range each all is known already
        near = (shared >= (HALF - ROUNDING) * (of_both - shared)) | ~(whole[one_place] & whole[other_place])
        kept = np.flatnonzero(near & (rater[one_place] != rater[other_place]))
        i.append(one_place[kept])
        j.append(other_place[kept])
        common.append(shared[kept])
    return _summed(np.concatenate(i), np.concatenate(j), np.concatenate(common), lengths)


def _summed(i: Ints, j: Ints, common: Floats, lengths: Floats) -> Overlaps:
    """Of places that have several ranges all they have in common."""
    i, j = np.minimum(i, j), np.maximum(i, j)
    pairs, pair = np.unique(i * len(lengths) + j, return_inverse=True)
    i, j = np.divmod(pairs, len(lengths))
    shared = tally(pair, common, len(pairs))
    whole = lengths[i] + lengths[j] - shared
    # ranges of one mark that overlap each other count twice
    alike = np.divide(shared, whole, out=np.ones(len(pairs)), where=whole > 0)
    return _near(i, j, np.minimum(alike, 1.0))


def _of_shapes(groups: Sequence[Sequence[int]], rater: Ints, places: Sequence[Any]) -> Overlaps:
    answers: list[list[int]] = []
    a: list[int] = []
    b: list[int] = []
    for members in groups:
        by_rater: dict[int, list[int]] = {}
        for n in members:
            by_rater.setdefault(int(rater[n]), []).append(n)
        if len(by_rater) > 1:
            codes = range(len(answers), len(answers) + len(by_rater))
            answers += by_rater.values()
            for one, other in combinations(codes, 2):
                a.append(one)
                b.append(other)
    if not a:
        return _none()
    shapes = Shapes.of_answers([[part for n in answer for part in places[n][1]] for answer in answers])
    owner = np.array([n for answer in answers for n in answer for _ in places[n][1]], dtype=np.int64)
    items = shapes.whole
    i, j, alike = [], [], []
    for edges in shapes.edges(items, np.array(a), np.array(b)):
        i.append(owner[items.region[edges.mine]])
        j.append(owner[items.region[edges.theirs]])
        alike.append(edges.alike)
    return _of_tracks(np.concatenate(i), np.concatenate(j), np.concatenate(alike), places)


def _of_tracks(i: Ints, j: Ints, alike: Floats, places: Sequence[Any]) -> Overlaps:
    """Of places that are in several frames the mean over all of them."""
    i, j = np.minimum(i, j), np.maximum(i, j)
    pairs, pair = np.unique(i * len(places) + j, return_inverse=True)
    i, j = np.divmod(pairs, max(len(places), 1))
    alike = tally(pair, alike, len(pairs))
    frames = np.array([len(parts) for _, parts in places], dtype=np.int64)
    for k in np.flatnonzero((frames[i] > 1) | (frames[j] > 1)).tolist():
        alike[k] /= len({part[3] for n in (i[k], j[k]) for part in places[n][1]})
    return _near(i, j, np.minimum(alike, 1.0))


def _near(i: Ints, j: Ints, alike: Floats) -> Overlaps:
    near = np.flatnonzero(alike >= HALF - ROUNDING)
    return Overlaps(i[near], j[near], alike[near])


def _none() -> Overlaps:
    none = np.zeros(0, dtype=np.int64)
    return Overlaps(none, none, np.zeros(0))


def _batches(times: Ints) -> Iterator[Ints]:
    """Rows in parts that have not many partners together."""
    effort = np.cumsum(times)
    bounds = np.searchsorted(effort, np.arange(CANDIDATES, int(effort[-1]), CANDIDATES))
    for first, last in pairwise(np.unique(np.concatenate([[0], bounds, [len(times)]])).tolist()):
        yield np.arange(first, last)
