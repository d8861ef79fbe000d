"""Sets of labels (or of paths). The distance of two empty sets is 0.

masi : 1 - Jaccard x M, M in {1, 2/3, 1/3, 0} (Passonneau 2006, LREC).
jaccard : 1 - |A and B| / |A or B|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from connector.agreement.distances.base import Comparison
from connector.agreement.ratings import Floats, Ints

if TYPE_CHECKING:
    from connector.agreement.alpha import Prepared
    from connector.agreement.diagnosis import CategoryFinding, PairFinding


class Sets(Comparison):
    """MASI or Jaccard distance, through one membership matrix."""

    graded = False
    labelled = True

    def __init__(self, name: str, *, monotonic: bool) -> None:
        self.name = name
        self._monotonic = monotonic

    def comparable(self, value: Any) -> bool:
        """A set is a tuple."""
        return isinstance(value, tuple)

    def matrix(self, values: Sequence[Any]) -> Floats:
        """(V, V) distances of V sets."""
        labels: dict[Any, int] = {}
        for members in values:
            for label in members:
                labels.setdefault(label, len(labels))
        belongs = np.zeros((len(values), max(len(labels), 1)), dtype=np.float32)
        for place, members in enumerate(values):
            belongs[place, [labels[label] for label in members]] = 1
        shared = (belongs @ belongs.T).astype(np.float64)
        size = belongs.sum(axis=1, dtype=np.float64)
        return self._distance(shared, size[:, None], size[None, :])

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances of sets a[k] and b[k]."""
        frozen = [frozenset(members) for members in values]
        shared = np.array(
            [len(frozen[i] & frozen[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.float64
        )
        size = np.array([len(members) for members in frozen], dtype=np.float64)
        return self._distance(shared, size[a], size[b])

    def findings(
        self, prepared: Prepared, declared: Sequence[Any], confidence: float | None, seed: int
    ) -> Sequence[CategoryFinding]:
        """Each label: a rating has it or not."""
        from connector.agreement.diagnosis import label_findings  # late: it is built upon distances

        categories = prepared.ratings.codebook.categories
        return label_findings(prepared.patterns, categories, declared, confidence, seed)

    def confusions(self, prepared: Prepared) -> Sequence[PairFinding]:
        """Every two sets met in one unit."""
        from connector.agreement.diagnosis import disagreeing_pairs

        return disagreeing_pairs(prepared.patterns, prepared.ratings.codebook.categories)

    def _distance(self, shared: Floats, size_a: Floats, size_b: Floats) -> Floats:
        union = size_a + size_b - shared
        jaccard: Floats = np.divide(shared, union, out=np.ones_like(shared), where=union > 0)
        if not self._monotonic:
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


MASI = Sets("masi", monotonic=True)
JACCARD = Sets("jaccard", monotonic=False)
