"""Distances between two values: d2 of Krippendorff's formulas.

nominal, ordinal, interval, ratio : Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
masi : of sets, 1 - Jaccard x M, M in {1, 2/3, 1/3, 0} (Passonneau 2006, LREC).
jaccard : of sets, 1 - |A and B| / |A or B|.
kendall : of rankings with ties, the share of pairs of items that the two put in opposite order, a pair tied in one of
    them alone counted half: Kendall's distance K with p = 1/2 of Fagin, Kumar, Mahdian, Sivakumar and Vee (2006),
    Comparing partial rankings, SIAM J. Discrete Math. 20, over the number of pairs. A ranking is a tuple of (item,
    rank); items that it leaves out are tied behind all others.
edit : of texts, Levenshtein's distance over the length of the longer text (rapidfuzz).

The last four lie between 0 and 1 and stand in d2's place unsquared; the distance of two empty sets is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from connector.agreement.ratings import Floats, Ints

SET_DISTANCES = ("masi", "jaccard")
VALUE_DISTANCES = (*SET_DISTANCES, "kendall", "edit")
"""Distances that compare whole values (sets, rankings, texts) instead of belonging to a level of measurement."""
DISTANCES = ("nominal", "ordinal", "interval", "ratio", *VALUE_DISTANCES)
MOST_VALUES = 2_000
"""Above this many distinct values no V x V matrix is made."""
CELLS = 4_000_000
"""Pairs of items x pairs of rankings compared at a time."""


def ratio_d2(x: Floats, y: Floats) -> Floats:
    """((x - y) / (x + y))^2, and 0 for two zeros. Values must not be negative."""
    total = x + y
    # x and y are halved first where their sum would overflow
    huge = ~np.isfinite(total)
    total = np.where(huge, x / 2 + y / 2, total)
    difference = np.where(huge, x / 2 - y / 2, x - y)
    quotient: Floats = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
    return quotient * quotient


def comparable(value: Any, distance: str) -> bool:
    """Whether a value is what the distance compares: a set, a ranking, a text."""
    if distance in SET_DISTANCES:
        return isinstance(value, tuple)
    if distance == "kendall":
        return isinstance(value, tuple) and all(map(_is_place, value)) and _names_items_once(value)
    return isinstance(value, str)


def _is_place(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[1], int | float)


def _names_items_once(ranking: Sequence[Any]) -> bool:
    return len({item for item, _ in ranking}) == len(ranking)


def stand_in(value: Any, distance: str) -> Any:
    """A declared category that nobody gave, as something that can be compared: its distances are never used."""
    if comparable(value, distance):
        return value
    return (value,) if distance in SET_DISTANCES else () if distance == "kendall" else str(value)


def distance_matrix(values: Sequence[Any], distance: str) -> Floats:
    """(V, V) distances of V sets, rankings or texts."""
    if distance in SET_DISTANCES:
        return set_matrix(values, distance)
    if distance == "kendall":
        return _ranking_matrix(values)
    from rapidfuzz.distance import Levenshtein  # late: only texts need it
    from rapidfuzz.process import cdist

    matrix: Floats = cdist(values, values, scorer=Levenshtein.normalized_distance, dtype=np.float64)
    return matrix


def distance_pairs(values: Sequence[Any], a: Ints, b: Ints, distance: str) -> Floats:
    """(K,) distances of the values a[k] and b[k]."""
    if distance in SET_DISTANCES:
        return set_pairs(values, a, b, distance)
    if distance == "kendall":
        return _ranking_pairs(values, a, b)
    from rapidfuzz.distance import Levenshtein

    between = Levenshtein.normalized_distance
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return np.array([between(values[i], values[j]) for i, j in pairs], dtype=np.float64)


def _places(rankings: Sequence[Sequence[tuple[Hashable, float]]]) -> Floats:
    """(V, I) rank of every item of any of the rankings; items left out are tied last."""
    items = {item: code for code, item in enumerate(dict.fromkeys(item for ranking in rankings for item, _ in ranking))}
    places = np.full((len(rankings), len(items)), np.inf)
    for row, ranking in enumerate(rankings):
        for item, rank in ranking:
            places[row, items[item]] = rank
    return places


def _orders(places: Floats) -> Iterator[Floats]:
    """(V, J) blocks of which of two items comes first: -1, 0 for a tie, 1; all pairs of items once."""
    first, second = np.triu_indices(places.shape[1], 1)
    step = max(1, CELLS // max(len(places), 1))
    for start in range(0, len(first), step):
        one, other = places[:, first[start : start + step]], places[:, second[start : start + step]]
        yield (one > other).astype(np.float64) - (one < other)


def _ranking_matrix(rankings: Sequence[Any]) -> Floats:
    places = _places(rankings)
    apart = np.zeros((len(rankings), len(rankings)))
    for order in _orders(places):
        strict = order * order
        orders = strict.sum(axis=1)
        # pairs in opposite order, and half of those that one of the two leaves tied
        apart += (orders[:, None] + orders - strict @ strict.T - order @ order.T) / 2
    return apart / max(places.shape[1] * (places.shape[1] - 1) // 2, 1)


def _ranking_pairs(rankings: Sequence[Any], a: Ints, b: Ints) -> Floats:
    places = _places(rankings)
    n_pairs = max(places.shape[1] * (places.shape[1] - 1) // 2, 1)
    apart = np.zeros(len(a))
    step = max(1, CELLS // n_pairs)
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        for one, other in zip(_orders(places[a[part]]), _orders(places[b[part]]), strict=True):
            apart[part] += np.abs(one - other).sum(axis=1) / 2
    return apart / n_pairs


def set_matrix(sets: Sequence[Sequence[Any]], distance: str) -> Floats:
    """(V, V) MASI or Jaccard distances of V sets, through one membership matrix."""
    labels: dict[Any, int] = {}
    for members in sets:
        for label in members:
            labels.setdefault(label, len(labels))
    belongs = np.zeros((len(sets), max(len(labels), 1)), dtype=np.float32)
    for place, members in enumerate(sets):
        belongs[place, [labels[label] for label in members]] = 1
    shared = (belongs @ belongs.T).astype(np.float64)
    size = belongs.sum(axis=1, dtype=np.float64)
    return _set_distance(shared, size[:, None], size[None, :], distance)


def set_pairs(sets: Sequence[Sequence[Any]], a: Ints, b: Ints, distance: str) -> Floats:
    """(K,) MASI or Jaccard distances of sets a[k] and b[k]."""
    frozen = [frozenset(members) for members in sets]
    shared = np.array(
        [len(frozen[i] & frozen[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.float64
    )
    size = np.array([len(members) for members in frozen], dtype=np.float64)
    return _set_distance(shared, size[a], size[b], distance)


def _set_distance(shared: Floats, size_a: Floats, size_b: Floats, distance: str) -> Floats:
    union = size_a + size_b - shared
    jaccard: Floats = np.divide(shared, union, out=np.ones_like(shared), where=union > 0)
    if distance == "jaccard":
        apart: Floats = 1 - jaccard
        return apart
    smaller, larger = np.minimum(size_a, size_b), np.maximum(size_a, size_b)
    monotonicity = np.select(
        [(shared == smaller) & (shared == larger), (shared == smaller) & (shared > 0), shared > 0],
        [1.0, 2 / 3, 1 / 3],
        0.0,
    )
    masi: Floats = 1 - jaccard * monotonicity
    return masi
