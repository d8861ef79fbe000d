"""Texts: Levenshtein's distance over the length of the longer text (rapidfuzz)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from connector.agreement.distances.base import Comparison
from connector.agreement.ratings import Floats, Ints


class Texts(Comparison):
    """Normalised edit distance."""

    name = "edit"

    def comparable(self, value: Any) -> bool:
        """A text."""
        return isinstance(value, str)

    def matrix(self, values: Sequence[Any]) -> Floats:
        """(V, V) distances of V texts."""
        from rapidfuzz.distance import Levenshtein  # late: only texts need it
        from rapidfuzz.process import cdist

        matrix: Floats = cdist(values, values, scorer=Levenshtein.normalized_distance, dtype=np.float64)
        return matrix

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances of the texts a[k] and b[k]."""
        from rapidfuzz.distance import Levenshtein

        between = Levenshtein.normalized_distance
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return np.array([between(values[i], values[j]) for i, j in pairs], dtype=np.float64)


EDIT = Texts()
