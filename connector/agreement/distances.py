"""Distances between two values: d2 of Krippendorff's formulas.

nominal, ordinal, interval, ratio : Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
masi : 1 - Jaccard x M, M in {1, 2/3, 1/3, 0} (Passonneau 2006, LREC).
jaccard : 1 - |A and B| / |A or B|.

Set distances stand in d2's place unsquared; the distance of two empty sets is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from connector.agreement.ratings import Floats, Ints

SET_DISTANCES = ("masi", "jaccard")
DISTANCES = ("nominal", "ordinal", "interval", "ratio", *SET_DISTANCES)
MOST_VALUES = 2_000
"""Above this many distinct values no V x V matrix is made."""


def ratio_d2(x: Floats, y: Floats) -> Floats:
    """((x - y) / (x + y))^2, and 0 for two zeros. Values must not be negative."""
    total = x + y
    # x and y are halved first where their sum would overflow
    huge = ~np.isfinite(total)
    total = np.where(huge, x / 2 + y / 2, total)
    difference = np.where(huge, x / 2 - y / 2, x - y)
    quotient: Floats = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
    return quotient * quotient


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
