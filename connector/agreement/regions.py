"""Regions of images as answers to be compared: an answer is a tuple of regions, a region as `shapes` has it.

The distance of two answers is 1 - F1 of their regions, matched one to one within label and frame where they overlap by
half (intersection over union .5), as many as can be; 0 where both marked nothing. Alpha is 1 - observed / expected
disagreement with the expectation over all pairs of answers (Braylan, Alonso and Lease 2022, Measuring annotator
agreement generally across complex structured, multi-object, and free-text annotation tasks, WWW). A region with several
labels counts once for each.

iou_50 : that. iou_50_95 : the mean of it over the overlaps .50, .55, ... .95, which asks for exact outlines too.

Beside it, over all pairs of raters of one image and with regions matched whatever their labels: alpha of the labels of
matched regions (a pair of them is a coincidence as in Krippendorff's formula, 1 / (m - 1) each), F1 of detection, and
the mean overlap of what matched.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from connector.agreement.alpha import Prepared, sampled_entries
from connector.agreement.continua import spread
from connector.agreement.diagnosis import CategoryFinding, PairFinding
from connector.agreement.distances import Comparison
from connector.agreement.intervals import Case
from connector.agreement.matching import matched
from connector.agreement.patterns import Patterns, tally, whole_tally
from connector.agreement.ratings import Floats, Ints
from connector.agreement.shapes import FAMILIES, HALF, ROUNDING, Edges, Items, Known, Shapes
from connector.agreement.unitizing import ContinuumAlpha, Counts, SpanF1, case_of

NO_LABEL_SHOWN = "(no label)"


class Regions(Comparison):
    """Sets of regions, by how many of them are the same.

    overlaps : from which intersection over union on two regions are the same; the distance is the mean over them.
    """

    most_values = 400
    sampled_pairs = 50_000
    majority_by = "half"
    confused = ("pair of matched regions", "pairs of matched regions")
    note = (
        "Regions are compared by image: two answers differ by 1 - F1 of their regions, matched one to one where label "
        "and frame are the same and intersection over union is {overlaps}; key points match within 1% of the image's "
        "diagonal, lines as bands of as much to each side, a mask and an outline by pixel. Both empty agree. Detection "
        "and overlap are of regions matched whatever their label; so is alpha of labels, over pairs of matched "
        "regions, each with the weight of a pair of raters of its image. A label's one-vs-rest is the same alpha over "
        "its own regions alone, its specific agreement the F1 of them."
    )

    def __init__(self, name: str, overlaps: Sequence[float], words: str) -> None:
        self.name = name
        self.note = self.note.format(overlaps=words)
        self._overlaps = overlaps
        self._last: weakref.ref[Matches] | None = None

    def comparable(self, value: Any) -> bool:
        """A tuple of regions."""
        match value:
            case tuple(regions):
                first = regions[0] if regions else None
                return not regions or (isinstance(first, tuple) and len(first) == 4 and first[0] in FAMILIES)
            case _:
                return False

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) 1 - F1 of the answers a[k] and b[k]."""
        return self._matches(values).distances(a, b, self._overlaps)

    def consensus(self, values: Sequence[Any], times: Sequence[int]) -> Any:
        """The regions that at least half of the raters marked."""
        everyone = np.arange(len(values))
        patterns = Patterns(
            np.zeros(len(values), dtype=np.int64),
            everyone,
            np.array(times, dtype=np.int64),
            np.array([sum(times)], dtype=np.int64),
            np.ones(1, dtype=np.int64),
            len(values),
            np.zeros(0, dtype=np.int64),
        )
        return consensus(Matches(values), patterns)[0]

    def consensus_each(self, values: Sequence[Any], patterns: Patterns) -> Sequence[Any]:
        """(G,) the regions that at least half of the raters marked, of every pattern."""
        return consensus(self._matches(values), patterns)

    def statistic(self, patterns: Patterns, values: Sequence[Any]) -> None:
        """None: alpha is that of the distances. What is compared is kept as long as the patterns."""
        self._matches(values, patterns)

    def companions(self, prepared: Prepared) -> Mapping[str, Case]:
        """Alpha of the labels of matched regions, F1 of detection, mean overlap."""
        found = self._detected(prepared)
        statistics: dict[str, ContinuumAlpha | SpanF1] = {
            "krippendorff_alpha_labels": found.labels,
            "detection_f1": found.f1,
            "mean_iou": found.overlap,
        }
        return {name: case_of(statistic) for name, statistic in statistics.items()}

    def findings(
        self,
        prepared: Prepared,
        declared: Sequence[Any],
        confidence: float | None,  # noqa: ARG002 - no interval by label
        seed: int,  # noqa: ARG002
    ) -> Sequence[CategoryFinding]:
        """Each label, declared ones first: the distance over its own regions alone."""
        if prepared.reason is not None:
            return []
        matches = self._matches(prepared.ratings.codebook.categories, prepared.patterns.pairable)
        return label_findings(matches, prepared, declared, self)

    def confusions(self, prepared: Prepared) -> Sequence[PairFinding]:
        """Every two labels (or sets of them) of regions that are the same otherwise, by pair of ratings."""
        return [] if prepared.reason is not None else self._detected(prepared).confusions

    def _detected(self, prepared: Prepared) -> Detected:
        patterns = prepared.patterns.pairable
        values = prepared.ratings.codebook.categories
        found = patterns.kept.get("detected")
        if not isinstance(found, Detected) or found.shapes.answers is not values:
            found = patterns.kept["detected"] = Detected(self._matches(values, patterns), patterns)
        return found

    def _matches(self, values: Sequence[Any], patterns: Patterns | None = None) -> Matches:
        """The same for the same answers as long as somebody keeps them: the patterns do."""
        last = self._last() if self._last else None
        if last is None or last.shapes.answers is not values:
            last = Matches(values)
            self._last = weakref.ref(last)
        if patterns is not None:
            patterns.kept["matches"] = last
        return last


class Matches:
    """Regions of answers matched within label and frame; what was compared once is known."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self.shapes = Shapes.of_answers(answers)
        self._known: dict[Sequence[float], Known] = {}
        self._within: tuple[Ints, Ints, Edges] | None = None

    def distances(self, a: Ints, b: Ints, overlaps: Sequence[float]) -> Floats:
        """(K,) mean over the overlaps of 1 - F1."""
        v = len(self.shapes.answers)
        known = self._known.setdefault(overlaps, Known())
        return known.of(
            np.minimum(a, b) * v + np.maximum(a, b), lambda new: self._distances(*np.divmod(new, v), overlaps)
        )

    def matched(self, a: Ints, b: Ints) -> Edges:
        """The regions of the answers a[k] and b[k] that match."""
        edges = self.shapes.edges(self.shapes.by_label, a, b)
        found = Edges.joined(part.take(matched(part)) for part in edges)
        v = len(self.shapes.answers)
        pairs, place = np.unique(np.minimum(a, b) * v + np.maximum(a, b), return_index=True)
        same = np.bincount(found.k, minlength=len(a)).astype(np.float64)
        self._known.setdefault((HALF,), Known()).remember(pairs, self._apart(a, b, same)[place])
        return found

    def within(self, patterns: Patterns) -> Edges:
        """The regions that match in the pairs of different answers met in one unit, `patterns.entry_pairs`."""
        first, second = patterns.entry_pairs
        a, b = patterns.col[first], patterns.col[second]
        if self._within is None or not (np.array_equal(self._within[0], a) and np.array_equal(self._within[1], b)):
            self._within = a, b, self.matched(a, b)
        return self._within[2]

    def _distances(self, a: Ints, b: Ints, overlaps: Sequence[float]) -> Floats:
        same = np.zeros(len(a))
        for edges in self.shapes.edges(self.shapes.by_label, a, b):
            for overlap in overlaps:
                near = edges if overlap <= HALF else edges.take(edges.alike >= overlap - ROUNDING)
                same += np.bincount(near.k[matched(near)], minlength=len(a))
        return self._apart(a, b, same / len(overlaps))

    def _apart(self, a: Ints, b: Ints, same: Floats) -> Floats:
        size = self.shapes.by_label.sizes[a] + self.shapes.by_label.sizes[b]
        apart: Floats = 1 - np.divide(2 * same, size, out=np.ones(len(a)), where=size > 0)
        apart[a == b] = 0.0
        return apart


class Detected:
    """Regions of one image matched whatever their labels, over all pairs of ratings of G patterns."""

    def __init__(self, matches: Matches, patterns: Patterns) -> None:
        self.shapes = matches.shapes
        self._patterns = patterns
        first, second = patterns.entry_pairs
        self._times = (patterns.n[first] * patterns.n[second]).astype(np.float64)
        row, mine, theirs, times, alike = [], [], [], [], []
        items = self.shapes.whole
        for edges in self.shapes.edges(items, patterns.col[first], patterns.col[second]):
            kept = edges.take(matched(edges))
            row.append(patterns.row[first][kept.k])
            mine.append(items.region[kept.mine])
            theirs.append(items.region[kept.theirs])
            times.append(self._times[kept.k])
            alike.append(kept.alike)
        # two raters with equal answers: every region is the other's
        twice = np.flatnonzero(patterns.n > 1)
        sizes = items.sizes[patterns.col[twice]]
        own = items.region[spread(items.starts[patterns.col[twice]], sizes)]
        n = patterns.n[twice]
        row.append(np.repeat(patterns.row[twice], sizes))
        mine.append(own)
        theirs.append(own)
        times.append(np.repeat(n * (n - 1) / 2, sizes))
        alike.append(np.ones(len(own)))
        self.row, self.mine, self.theirs = (np.concatenate(part) for part in (row, mine, theirs))
        self.times, self.alike = np.concatenate(times), np.concatenate(alike)

    @cached_property
    def found(self) -> Floats:
        """(G,) matched pairs of regions, over pairs of ratings."""
        return tally(self.row, self.times, self._patterns.n_patterns)

    @property
    def f1(self) -> SpanF1:
        """F1 of detection."""
        patterns = self._patterns
        sizes = self.shapes.whole.sizes[patterns.col] * patterns.n * (patterns.size[patterns.row] - 1)
        return SpanF1(patterns.weights, 2 * self.found, tally(patterns.row, sizes, patterns.n_patterns))

    @property
    def overlap(self) -> SpanF1:
        """Mean intersection over union of matched regions."""
        overlap = tally(self.row, self.times * self.alike, self._patterns.n_patterns)
        return SpanF1(self._patterns.weights, overlap, self.found)

    @cached_property
    def labels(self) -> ContinuumAlpha:
        """Alpha of the labels of matched regions, those without a label on either side left out."""
        patterns, sets = self._patterns, self.shapes.sets
        labelled = np.array([bool(labels) for labels in sets], dtype=np.bool_)
        a, b = self.shapes.labels[self.mine], self.shapes.labels[self.theirs]
        both = np.flatnonzero(labelled[a] & labelled[b]) if len(sets) else np.zeros(0, dtype=np.int64)
        row, a, b = self.row[both], a[both], b[both]
        amount = self.times[both] / (patterns.size[row] - 1)
        n = tally(row, 2 * amount, patterns.n_patterns)
        cells, cell = np.unique(np.concatenate([row, row]) * len(sets) + np.concatenate([a, b]), return_inverse=True)
        of_cell = tally(cell, np.concatenate([amount, amount]), len(cells))
        counts = Counts(*np.divmod(cells, max(len(sets), 1)), of_cell, len(sets))
        d = tally(row, np.where(a != b, 2 * amount, 0.0), patterns.n_patterns)
        marks = np.rint(n).astype(np.int64)
        return ContinuumAlpha(patterns.weights, n, d, n, counts, marks, 1.0)

    @property
    def confusions(self) -> list[PairFinding]:
        """Labels of matched regions that differ, commonest first."""
        a, b = self.shapes.labels[self.mine], self.shapes.labels[self.theirs]
        differ = np.flatnonzero(a != b)
        weight = np.rint(self.times[differ]).astype(np.int64) * self._patterns.weights[self.row[differ]]
        shown = [_shown(labels) for labels in self.shapes.sets]
        order = sorted(range(len(shown)), key=lambda code: (not self.shapes.sets[code], str(shown[code])))
        rank = np.empty(len(shown), dtype=np.int64)
        rank[order] = np.arange(len(shown))
        a, b = rank[a[differ]], rank[b[differ]]
        kinds, kind = np.unique(np.minimum(a, b) * max(len(shown), 1) + np.maximum(a, b), return_inverse=True)
        totals = whole_tally(kind, weight, len(kinds))
        whole = int(totals.sum())
        found = np.argsort(-totals, kind="stable")
        x, y = np.divmod(kinds[found], max(len(shown), 1))
        return [
            PairFinding(shown[order[i]], shown[order[j]], n, n / whole)
            for i, j, n in zip(x.tolist(), y.tolist(), totals[found].tolist(), strict=True)
        ]


def consensus(matches: Matches, patterns: Patterns) -> list[Any]:
    """(G,) the regions that at least half of the raters of each pattern marked.

    Regions of two raters are the same where they match within label and frame. Of those that enough raters marked, the
    one stands for all that overlaps the others most; a tie goes to the first in order.
    """
    shapes = matches.shapes
    items = shapes.by_label
    sizes = items.sizes[patterns.col]
    entry = np.repeat(np.arange(len(patterns.row)), sizes)
    item = spread(items.starts[patterns.col], sizes)
    offset = np.cumsum(sizes) - sizes - items.starts[patterns.col]
    raters = patterns.n[entry].astype(np.float64)
    overlap = raters.copy()
    first, second = patterns.entry_pairs
    kept = matches.within(patterns)
    i, j = kept.mine + offset[first[kept.k]], kept.theirs + offset[second[kept.k]]
    x, y = np.concatenate([i, j]), np.concatenate([j, i])
    theirs = patterns.n[entry[y]]
    raters += tally(x, theirs, len(entry))
    overlap += tally(x, np.concatenate([kept.alike, kept.alike]) * theirs, len(entry))
    enough = 2 * raters >= patterns.size[patterns.row[entry]]
    order = np.lexsort((_in_order(shapes, items)[item], -overlap))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    beaten = x[enough[y] & (rank[y] < rank[x])]
    stands = enough.copy()
    stands[beaten] = False
    return _regions_of(shapes, items, patterns, entry, item, np.flatnonzero(stands))


def _in_order(shapes: Shapes, items: Items) -> Ints:
    """(R,) places of the rows' regions in one order, whatever the order of the answers."""
    named = {names: place for place, names in enumerate(sorted({one[2] for one in shapes.regions}))}
    labels = np.array([named[one[2]] for one in shapes.regions], dtype=np.int64)
    # equal outlines may be begun at other corners, and be of other shapes
    begun = np.array([one[1][:2] for one in shapes.regions], dtype=np.float64).reshape(-1, 2).T
    families = list(FAMILIES)
    family = np.array([families.index(one[0]) for one in shapes.regions], dtype=np.int64)
    order = np.lexsort((family, *begun, labels, shapes.area, *shapes.bounds))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[items.region]


def _regions_of(
    shapes: Shapes, items: Items, patterns: Patterns, entry: Ints, item: Ints, kept: Ints
) -> list[tuple[Any, ...]]:
    """(G,) regions out of the rows kept, each with those of its labels that are kept."""
    found: list[list[Any]] = [[] for _ in range(patterns.n_patterns)]
    several: dict[tuple[int, int], list[str]] = {}
    rows = item[kept]
    labels = shapes.label_of(items.keys[rows]).tolist()
    for row, region, label in zip(patterns.row[entry[kept]].tolist(), items.region[rows].tolist(), labels, strict=True):
        one = shapes.regions[region]
        if len(one[2]) < 2:
            found[row].append(one)
        else:
            several.setdefault((row, region), []).append(shapes.label_names[label])
    for (row, region), names in several.items():
        shape, geometry, _, frame = shapes.regions[region]
        found[row].append((shape, geometry, tuple(sorted(names)), frame))
    return [tuple(sorted(one)) for one in found]


def label_findings(
    matches: Matches, prepared: Prepared, declared: Sequence[Any], comparison: Regions
) -> list[CategoryFinding]:
    """Each label by itself."""
    shapes, patterns = matches.shapes, prepared.patterns
    names = shapes.label_names
    counts = _by_label(shapes)
    held = tally(counts[1], counts[2] * patterns.marginals[counts[0]], len(names))
    whole = float(held.sum())
    pairs = _observed(matches, patterns.pairable)
    chance = _by_chance(matches, patterns.pairable, comparison)
    found = {}
    for code, name in enumerate(names):
        expected, observed = chance.apart[code], pairs.apart[code]
        value = 1 - observed / expected if expected > 0 else None
        found[name] = CategoryFinding(
            name,
            float(held[code]) / whole if whole else 0.0,
            float(pairs.same[code] / pairs.marked[code]) if pairs.marked[code] else None,
            value,
            None if value is not None else "no_variation" if patterns.pairable.n_units else "no_pairable_units",
            too_rare=bool(pairs.marked[code] == 0),
        )
    order = [*declared, *(name for name in names if name and name not in set(declared))]
    return [found.get(name) or CategoryFinding(name, 0.0, None, None, "no_variation", too_rare=True) for name in order]


def _by_label(shapes: Shapes) -> tuple[Ints, Ints, Ints]:
    """(C,) answer, label, and how many regions of the answer carry it."""
    items = shapes.by_label
    answer = np.repeat(np.arange(len(shapes.answers)), items.sizes)
    n = max(len(shapes.label_names), 1)
    cells, times = np.unique(answer * n + shapes.label_of(items.keys), return_counts=True)
    return *np.divmod(cells, n), times


class _Labelled:
    """Disagreement on each label by itself, over weighted pairs of answers.

    apart : (L,) mean of 1 - F1 over the regions with the label. same, marked : (L,) regions that matched, and all.
    """

    def __init__(self, matches: Matches, a: Ints, b: Ints, edges: Edges, weight: Floats, total: float) -> None:
        shapes = matches.shapes
        items = shapes.by_label
        n = max(len(shapes.label_names), 1)
        answer, label, times = _by_label(shapes)
        starts = np.searchsorted(answer, np.arange(len(shapes.answers) + 1))
        cells, sizes = [], []
        for side in (a, b):
            held = np.diff(starts)[side]
            place = spread(starts[side], held)
            cells.append(np.repeat(np.arange(len(side)), held) * n + label[place])
            sizes.append(times[place])
        kinds, kind = np.unique(np.concatenate(cells), return_inverse=True)
        size = tally(kind, np.concatenate(sizes), len(kinds))
        cell = edges.k * n + shapes.label_of(items.keys[edges.mine])
        same = 2 * np.bincount(np.searchsorted(kinds, cell), minlength=len(kinds))
        k, of = np.divmod(kinds, n)
        self.apart = tally(of, weight[k] * (1 - same / size), n) / total if total else np.zeros(n)
        self.same, self.marked = tally(of, weight[k] * same, n), tally(of, weight[k] * size, n)


def _observed(matches: Matches, patterns: Patterns) -> _Labelled:
    """Over pairs of ratings of one unit, each unit by its ratings as in alpha."""
    first, second = patterns.entry_pairs
    twice = np.flatnonzero(patterns.n > 1)
    equal = patterns.col[twice]
    edges = matches.within(patterns)
    own = matches.matched(equal, equal)
    both = Edges.joined((edges, own._replace(k=own.k + len(first))))
    row = np.concatenate([patterns.row[first], patterns.row[twice]])
    times = np.concatenate([2 * patterns.n[first] * patterns.n[second], patterns.n[twice] * (patterns.n[twice] - 1)])
    return _Labelled(
        matches,
        np.concatenate([patterns.col[first], equal]),
        np.concatenate([patterns.col[second], equal]),
        both,
        patterns.weights[row] * times / (patterns.size[row] - 1),
        float(patterns.n_ratings),
    )


def _by_chance(matches: Matches, patterns: Patterns, comparison: Regions) -> _Labelled:
    """Over all pairs of ratings where answers are few, else over the pairs that expected disagreement comes from."""
    used = np.flatnonzero(patterns.marginals)
    times = patterns.marginals[used].astype(np.float64)
    n = float(times.sum())
    if patterns.n_values <= comparison.most_values:
        i, j = np.triu_indices(len(used))
        a, b = used[i], used[j]
        weight = np.where(i == j, times[i] * (times[i] - 1), 2 * times[i] * times[j])
        return _Labelled(matches, a, b, matches.matched(a, b), weight, n * (n - 1))
    first, second = sampled_entries(patterns, comparison.sampled_pairs)
    a, b = patterns.col[first], patterns.col[second]
    return _Labelled(matches, a, b, matches.matched(a, b), np.ones(len(a)), float(len(a)))


def _shown(labels: tuple[str, ...]) -> Any:
    """A set of labels as a category of the report."""
    if len(labels) > 1:
        return labels
    return labels[0] if labels else NO_LABEL_SHOWN


IOU_50 = Regions("iou_50", (HALF,), "at least .5")
IOU_50_95 = Regions(
    "iou_50_95",
    tuple(round(HALF + 0.05 * step, 2) for step in range(10)),
    "at least .5, .55, ... .95 (the mean)",
)
