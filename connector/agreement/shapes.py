"""Regions of images as arrays, and how much two of them overlap.

A region is (shape, geometry, labels, frame); coordinates run from the top left corner, rotations clockwise in degrees:

    rectangle  x, y, width, height, rotation about (x, y)
    ellipse    x, y of the centre, horizontal and vertical radius, rotation about the centre
    polygon    x1, y1, x2, y2, ...
    keypoint   x, y, and the distance at which two points are half alike (1% of the image's diagonal)
    brush      width, height, then the lengths of the runs of pixels row by row, the first of them outside the mask

Two regions of one frame are as alike as their intersection over union; rectangles, ellipses and polygons can overlap
each other, masks only masks. Two key points are alike by 1 - d / (2 r), with d their distance and r the half-way one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.agreement.continua import spread
from connector.agreement.ratings import Floats, Ints

AREA, MASK, POINT = 0, 1, 2
FAMILIES = {"rectangle": AREA, "ellipse": AREA, "polygon": AREA, "brush": MASK, "keypoint": POINT}
"""Shapes -> what can overlap each other."""
NO_LABEL = ""
"""Stands for the label of a region that carries none."""
HALF = 0.5
"""Intersection over union from which on two regions are taken for the same."""
ROUNDING = 1e-9
CORNERS = 96
"""Of the polygon that stands for an ellipse."""
CANDIDATES = 2_000_000
"""Most pairs of regions looked at together."""


class Edges(NamedTuple):
    """Regions of two answers that may be the same: (E,) the pair of answers, the row of either, how alike they are."""

    k: Ints
    mine: Ints
    theirs: Ints
    alike: Floats

    @classmethod
    def joined(cls, parts: Iterable[Edges]) -> Edges:
        """All of them, one after the other."""
        none = np.zeros(0, dtype=np.int64)
        k, mine, theirs, alike = zip((none, none, none, np.zeros(0)), *parts, strict=True)
        return cls(np.concatenate(k), np.concatenate(mine), np.concatenate(theirs), np.concatenate(alike))

    def take(self, places: Any) -> Edges:
        """Some of the edges."""
        return Edges(*(column[places] for column in self))


@dataclass(frozen=True, eq=False)
class Items:
    """Rows to be matched, sorted by answer and key: only those of one key are.

    region : (R,) of each. starts : (V + 1,) where each answer's rows begin. keys : (R,).
    """

    region: Ints
    starts: Ints
    keys: Ints
    n_keys: int

    @property
    def sizes(self) -> Ints:
        """(V,) rows of each answer."""
        return np.diff(self.starts)

    @cached_property
    def places(self) -> Ints:
        """(R,) answer and key as one number, ascending."""
        answer = np.repeat(np.arange(len(self.starts) - 1), self.sizes)
        return answer * self.n_keys + self.keys


@dataclass(frozen=True, eq=False)
class Shapes:
    """The regions of V answers.

    answers : as they are. regions : all of them, answer by answer. of : (R,) the answer of each. family, frame : (R,).
    sets : the sets of labels that regions carry; labels : (R,) which one. bounds : four (R,) edges, left, top, right
    and bottom. area : (R,). plain : (R,) whether the bounds are all of it; figures : (R,) polygons of others that have
    an area, else None.
    """

    answers: Sequence[Any]
    regions: Sequence[Any]
    of: Ints
    family: Ints
    frame: Ints
    labels: Ints
    sets: Sequence[tuple[str, ...]]
    bounds: tuple[Floats, Floats, Floats, Floats]
    area: Floats
    plain: NDArray[np.bool_]
    figures: NDArray[Any]

    @classmethod
    def of_answers(cls, answers: Sequence[Any]) -> Shapes:
        """The regions of answers, each a sequence of regions."""
        regions = list(chain.from_iterable(answers))
        of = np.repeat(np.arange(len(answers)), np.fromiter(map(len, answers), np.int64, len(answers)))
        names, geometries, labels, frames = zip(*regions, strict=True) if regions else ((), (), (), ())
        code_of: dict[tuple[str, ...], int] = {}
        codes = np.array([code_of.setdefault(one, len(code_of)) for one in labels], dtype=np.int64)
        family = np.array([FAMILIES[name] for name in names], dtype=np.int64)
        return cls(
            answers,
            regions,
            of,
            family,
            np.array(frames, dtype=np.int64),
            codes,
            list(code_of),
            *_outlines(names, geometries),
        )

    @cached_property
    def label_names(self) -> Sequence[str]:
        """Every label seen, sorted; `NO_LABEL` among them where a region carries none."""
        return sorted({label for labels in self.sets for label in labels or (NO_LABEL,)})

    @cached_property
    def whole(self) -> Items:
        """Every region once, whatever its labels."""
        return self._items(np.arange(len(self.of)), np.zeros(len(self.of), dtype=np.int64), 1)

    @cached_property
    def by_label(self) -> Items:
        """Every region once for each label it carries."""
        place = {label: code for code, label in enumerate(self.label_names)}
        codes = [[place[label] for label in labels or (NO_LABEL,)] for labels in self.sets]
        times = np.array([len(one) for one in codes], dtype=np.int64)
        flat = np.array([code for one in codes for code in one], dtype=np.int64)
        region = np.repeat(np.arange(len(self.of)), times[self.labels])
        first = np.cumsum(times) - times
        label = flat[spread(first[self.labels], times[self.labels])]
        return self._items(region, label, max(len(place), 1))

    def label_of(self, keys: Ints) -> Ints:
        """(R,) the label of keys of `by_label`."""
        return keys % max(len(self.label_names), 1)

    def _items(self, region: Ints, label: Ints, n_labels: int) -> Items:
        frames, frame = np.unique(self.frame, return_inverse=True)
        key = (frame * len(FAMILIES) + self.family)[region] * n_labels + label
        n_keys = max(len(frames), 1) * len(FAMILIES) * n_labels
        order = np.argsort(self.of[region] * n_keys + key, kind="stable")
        starts = np.searchsorted(self.of[region], np.arange(len(self.answers) + 1))
        return Items(region[order], starts, key[order], n_keys)

    def edges(self, items: Items, a: Ints, b: Ints) -> Iterator[Edges]:
        """What may be the same in the answers a[k] and b[k], many pairs at a time, at `HALF` or above."""
        effort = np.cumsum(items.sizes[a] * items.sizes[b])
        bounds = np.searchsorted(effort, np.arange(CANDIDATES, effort[-1] if len(effort) else 0, CANDIDATES))
        cuts = np.unique(np.concatenate([[0], bounds, [len(a)]])).tolist()
        for first, last in pairwise(cuts):
            found = self._edges(items, a[first:last], b[first:last])
            yield found._replace(k=found.k + first)

    def _edges(self, items: Items, a: Ints, b: Ints) -> Edges:
        times = items.sizes[a]
        mine = spread(items.starts[a], times)
        k = np.repeat(np.arange(len(a)), times)
        wanted = b[k] * items.n_keys + items.keys[mine]
        low = np.searchsorted(items.places, wanted, side="left")
        met = np.searchsorted(items.places, wanted, side="right") - low
        k, mine, theirs = np.repeat(k, met), np.repeat(mine, met), spread(low, met)
        alike, near = self._alike(items.region[mine], items.region[theirs])
        return Edges(k[near], mine[near], theirs[near], alike)

    def _alike(self, i: Ints, j: Ints) -> tuple[Floats, Ints]:
        """How alike the regions i[e] and j[e] of one family and frame are, and where they are alike by half."""
        left, top, right, bottom = self.bounds
        width = np.minimum(right[i], right[j]) - np.maximum(left[i], left[j])
        near = np.flatnonzero(width >= 0)
        i, j, width = i[near], j[near], width[near]
        height = np.minimum(bottom[i], bottom[j]) - np.maximum(top[i], top[j])
        # no more than the overlap of their bounds, nor than the smaller one, can be common to both
        common = np.minimum(width * np.maximum(height, 0.0), np.minimum(self.area[i], self.area[j]))
        whole = self.area[i] + self.area[j]
        alike = np.divide(common, whole - common, out=np.zeros(len(common)), where=whole > common)
        points = self.family[i] == POINT
        kept = np.flatnonzero((alike >= HALF - ROUNDING) | (points & (height >= 0)))
        near, i, j, alike = near[kept], i[kept], j[kept], np.minimum(alike[kept], 1.0)
        dear = np.flatnonzero(~(self.plain[i] & self.plain[j]))
        if len(dear):
            alike[dear] = self._exactly(i[dear], j[dear])
            kept = np.flatnonzero(alike >= HALF - ROUNDING)
            near, alike = near[kept], alike[kept]
        return alike, near

    def _exactly(self, i: Ints, j: Ints) -> Floats:
        # one order, so that rounding does not depend on whose answer comes first
        i, j = np.minimum(i, j), np.maximum(i, j)
        alike = np.zeros(len(i))
        for family, overlap in ((AREA, self._of_areas), (MASK, self._of_masks)):
            here = np.flatnonzero(self.family[i] == family)
            if len(here):
                common = overlap(i[here], j[here])
                whole = self.area[i[here]] + self.area[j[here]] - common
                alike[here] = np.divide(common, whole, out=np.zeros(len(here)), where=whole > 0)
        here = np.flatnonzero(self.family[i] == POINT)
        alike[here] = self._of_points(i[here], j[here])
        return np.clip(np.where(alike > 1 - ROUNDING, 1.0, alike), 0.0, 1.0)

    def _of_points(self, i: Ints, j: Ints) -> Floats:
        x, y, reach = (np.array([self.regions[one][1][part] for one in i.tolist()]) for part in range(3))
        x2, y2 = (np.array([self.regions[one][1][part] for one in j.tolist()]) for part in range(2))
        apart = np.hypot(x - x2, y - y2)
        # a reach that is not known leaves points alike that are equal
        near: Floats = 1 - np.divide(apart, 2 * reach, out=(apart > 0).astype(np.float64), where=reach > 0)
        return near

    def _of_areas(self, i: Ints, j: Ints) -> Floats:
        import shapely

        used, place = np.unique(np.concatenate([i, j]), return_inverse=True)
        figures = self.figures[used]
        straight = self.plain[used]
        figures[straight] = shapely.box(*(edge[used[straight]] for edge in self.bounds))
        common: Floats = shapely.area(shapely.intersection(figures[place[: len(i)]], figures[place[len(i) :]]))
        return common

    def _of_masks(self, i: Ints, j: Ints) -> Floats:
        return np.array([self._common(first, second) for first, second in zip(i.tolist(), j.tolist(), strict=True)])

    def _common(self, i: int, j: int) -> float:
        """Pixels of two masks of one size that both hold."""
        one, other = (self.regions[place][1] for place in (i, j))
        if one[:2] != other[:2]:
            return 0.0
        edges, runs = (np.cumsum(np.array(geometry[2:], dtype=np.int64)) for geometry in (one, other))
        first, last = edges[:-1:2], edges[1::2]
        # pixels of the other mask before each of the other's edges; in between they rise one by one, or not at all
        before = np.concatenate([[0], np.cumsum(np.where(np.arange(len(runs)) % 2, np.diff(runs, prepend=0), 0))])
        held = np.interp(np.stack([first[: len(last)], last]), np.concatenate([[0], runs]), before)
        return float((held[1] - held[0]).sum())


def _outlines(
    names: Sequence[str], geometries: Sequence[Any]
) -> tuple[tuple[Floats, Floats, Floats, Floats], Floats, NDArray[np.bool_], NDArray[Any]]:
    """Bounds and area of every region, whether it is a rectangle that stands straight, and else its figure."""
    n = len(names)
    rectangle = np.array([name == "rectangle" for name in names], dtype=np.bool_)
    left, top, width, height, rotation = np.zeros((5, n))
    if rectangle.any():
        boxes = [one for one, it in zip(geometries, rectangle.tolist(), strict=True) if it]
        flat = np.fromiter(chain.from_iterable(boxes), np.float64, 5 * len(boxes)).reshape(-1, 5)
        left[rectangle], top[rectangle], width[rectangle], height[rectangle], rotation[rectangle] = flat.T
    bounds = left, top, left + width, top + height
    area = width * height
    plain = rectangle & (rotation == 0)
    figures = np.full(n, None, dtype=object)
    others = np.flatnonzero(~plain)
    drawn = [place for place in others.tolist() if FAMILIES[names[place]] == AREA]
    if drawn:
        figures[drawn] = figures_of([names[place] for place in drawn], [geometries[place] for place in drawn])
        _outline(figures[drawn], np.array(drawn), bounds, area)
    for place in others.tolist():
        outline: tuple[float, float, float, float]
        if names[place] == "brush":
            size = geometries[place]
            outline, area[place] = (0.0, 0.0, size[0], size[1]), sum(size[3::2])
        elif names[place] == "keypoint":
            x, y, reach = geometries[place]
            outline = (x - reach, y - reach, x + reach, y + reach)
        else:
            continue
        for edge, found in zip(bounds, outline, strict=True):
            edge[place] = found
    return bounds, area, plain, figures


def _outline(figures: NDArray[Any], places: Ints, bounds: Sequence[Floats], area: Floats) -> None:
    import shapely

    area[places] = shapely.area(figures)
    for edge, found in zip(bounds, shapely.bounds(figures).T, strict=True):
        edge[places] = found


def figures_of(shapes: Sequence[str], geometries: Sequence[Sequence[float]]) -> NDArray[Any]:
    """(N,) valid polygons (several in one where lines cross) of rectangles, ellipses and polygons."""
    import shapely

    rings = [corners(shape, geometry) for shape, geometry in zip(shapes, geometries, strict=True)]
    of = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    figures: NDArray[Any] = shapely.polygons(shapely.linearrings(np.concatenate(rings), indices=of))
    crossed = ~shapely.is_valid(figures)
    figures[crossed] = shapely.make_valid(figures[crossed])
    return figures


def corners(shape: str, geometry: Sequence[float]) -> Floats:
    """(C, 2) corners of a rectangle, an ellipse (as a polygon of the same area) or a polygon."""
    if shape == "polygon":
        return np.array(geometry, dtype=np.float64).reshape(-1, 2)
    x, y, width, height, rotation = geometry
    turn = math.radians(rotation)
    if shape == "rectangle":
        along, down = np.array([0, width, width, 0]), np.array([0, 0, height, height])
    else:
        angles = 2 * math.pi * np.arange(CORNERS) / CORNERS
        larger = math.sqrt(2 * math.pi / CORNERS / math.sin(2 * math.pi / CORNERS))
        along, down = larger * width * np.cos(angles), larger * height * np.sin(angles)
    cos, sin = math.cos(turn), math.sin(turn)
    return np.stack([x + along * cos - down * sin, y + along * sin + down * cos], axis=1)
