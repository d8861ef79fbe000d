"""Texts: Levenshtein's distance over the length of the longer text (rapidfuzz).

Its cost goes by the product of two lengths. Where one of two texts is longer than `LONG` code points, both are compared
by words, as transcripts are: Levenshtein's distance in words and signs over the number of those of the longer text. And
where one has more than `MOST_WORDS`, by which words they have, whatever their order: the bag distance of Bartolini,
Ciaccia and Patella (2002), String matching with metric trees using an approximate distance, SPIRE, over the same
number; it is never more than the other.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from connector.agreement.distances.base import Comparison
from connector.agreement.ratings import Floats, Ints

LONG = 5_000
"""Code points of a text up to which it is compared by them: two such texts take about 2 ms."""
MOST_WORDS = 10_000
"""Of a text up to which their order is looked at: two such texts take about 20 ms."""

_WORD = re.compile(r"\w+|[^\w\s]")


class Texts(Comparison):
    """Normalised edit distance."""

    name = "edit"
    note = (
        f"Texts are compared by edit distance over the length of the longer one: in characters, where one of two has "
        f"more than {LONG:,} of them in words, where one has more than {MOST_WORDS:,} words by which words they have."
    )

    def comparable(self, value: Any) -> bool:
        """A text."""
        return isinstance(value, str)

    def matrix(self, values: Sequence[Any]) -> Floats:
        """(V, V) distances of V texts."""
        from rapidfuzz.distance import Levenshtein  # late: only texts need it
        from rapidfuzz.process import cdist

        short = np.flatnonzero(~_long(values))
        texts = [values[code] for code in short.tolist()]
        matrix = np.zeros((len(values), len(values)))
        matrix[np.ix_(short, short)] = cdist(texts, texts, scorer=Levenshtein.normalized_distance, dtype=np.float64)
        if len(short) < len(values):
            a, b = np.triu_indices(len(values), 1)
            long = _long(values)
            here = np.flatnonzero(long[a] | long[b])
            a, b = a[here], b[here]
            matrix[a, b] = matrix[b, a] = _by_words(values, a, b)
        return matrix

    def pairs(self, values: Sequence[Any], a: Ints, b: Ints) -> Floats:
        """(K,) distances of the texts a[k] and b[k]."""
        from rapidfuzz.distance import Levenshtein

        between = Levenshtein.normalized_distance
        long = _long(values)
        by_words = long[a] | long[b]
        apart = np.zeros(len(a))
        near = zip(a[~by_words].tolist(), b[~by_words].tolist(), strict=True)
        apart[~by_words] = [between(values[i], values[j]) for i, j in near]
        apart[by_words] = _by_words(values, a[by_words], b[by_words])
        return apart


def is_long(text: str) -> bool:
    """Whether a text is too long to be compared by its characters."""
    return len(text) > LONG


def _long(values: Sequence[str]) -> Any:
    return np.fromiter(map(is_long, values), np.bool_, len(values))


def _by_words(values: Sequence[str], a: Ints, b: Ints) -> Floats:
    """(K,) distances of the texts a[k] and b[k] in words."""
    from rapidfuzz.distance import Levenshtein

    code_of: dict[str, int] = {}
    used = np.unique(np.concatenate([a, b])).tolist()
    words = {
        code: array("I", [code_of.setdefault(word, len(code_of)) for word in _WORD.findall(values[code])])
        for code in used
    }
    many = [code for code in used if len(words[code]) > MOST_WORDS]
    bags = {code: np.unique(words[code], return_counts=True) for code in (used if many else ())}
    apart = np.zeros(len(a))
    for k, (i, j) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        longer = max(len(words[i]), len(words[j]))
        if longer > MOST_WORDS:
            apart[k] = 1 - _shared(bags[i], bags[j]) / longer
        else:
            apart[k] = Levenshtein.normalized_distance(words[i], words[j])
    return apart


def _shared(one: Any, other: Any) -> int:
    """How many words two bags (words, how often each) have in common."""
    _, mine, theirs = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    return int(np.minimum(one[1][mine], other[1][theirs]).sum())


EDIT = Texts()
