"""Where the disagreement sits: by pair of categories and by category, each one against the rest.

Specific agreement is Cicchetti and Feinstein's (1990), for any number of raters: sum n (n - 1) / sum n (m - 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from connector.agreement.patterns import Patterns, tally, whole_tally
from connector.agreement.ratings import Floats, Ints


@dataclass(frozen=True, slots=True)
class CategoryFinding:
    """One category (or one label of sets) against the rest.

    share : of all counted ratings (sets: the share of ratings that hold the label).
    specific_agreement : chance that another rater says so too where one does, None where nobody said it in company.
    one_vs_rest : nominal alpha of "this category or not", None with `reason` where undefined.
    """

    category: Any
    share: float
    specific_agreement: float | None
    one_vs_rest: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class PairFinding:
    """Two categories that raters of one unit disagreed between.

    n : unordered pairs of ratings that disagree so; share : of all disagreeing pairs of the question.
    """

    a: Any
    b: Any
    n: int
    share: float


def disagreeing_pairs(patterns: Patterns, categories: Sequence[Any]) -> list[PairFinding]:
    """Every pair of categories met in one unit, commonest first."""
    first, second = patterns.entry_pairs
    if not len(first):
        return []
    row = patterns.row[first]
    counts = patterns.weights[row] * patterns.n[first] * patterns.n[second]
    kinds, kind = np.unique(patterns.col[first] * patterns.n_values + patterns.col[second], return_inverse=True)
    totals = whole_tally(kind, counts, len(kinds))
    order = np.argsort(-totals, kind="stable")
    a, b = np.divmod(kinds[order], patterns.n_values)
    whole = int(totals.sum())
    return [
        PairFinding(categories[i], categories[j], n, n / whole)
        for i, j, n in zip(a.tolist(), b.tolist(), totals[order].tolist(), strict=True)
    ]


def category_findings(patterns: Patterns, categories: Sequence[Any]) -> list[CategoryFinding]:
    """Every category of the codebook, used or not, in its order."""
    return _one_vs_rest(patterns, patterns.row, patterns.col, patterns.n, categories)


def label_findings(patterns: Patterns, sets: Sequence[Any], declared: Sequence[Any] = ()) -> list[CategoryFinding]:
    """Every label of sets, declared ones first: each rating has it or not."""
    used = np.unique(patterns.col)
    code_of = {label: code for code, label in enumerate(declared)}
    for code in used:
        for label in _members(sets[code]):
            code_of.setdefault(label, len(code_of))
    if not code_of:
        return []
    held = [[code_of[label] for label in _members(sets[code])] for code in used]
    per_set = np.array([len(codes) for codes in held], dtype=np.int64)
    place = np.searchsorted(used, patterns.col)
    times = per_set[place]
    flat = np.array([code for codes in held for code in codes], dtype=np.int64)
    start = (np.cumsum(per_set) - per_set)[place]
    within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    label = flat[np.repeat(start, times) + within]
    row, n = np.repeat(patterns.row, times), np.repeat(patterns.n, times)
    cells, cell = np.unique(row * len(code_of) + label, return_inverse=True)
    merged = whole_tally(cell, n, len(cells))
    row, label = np.divmod(cells, len(code_of))
    return _one_vs_rest(patterns, row, label, merged, list(code_of))


def _members(answer: Any) -> tuple[Any, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


def _one_vs_rest(patterns: Patterns, row: Ints, col: Ints, n: Ints, categories: Sequence[Any]) -> list[CategoryFinding]:
    v = len(categories)
    size, weight = patterns.size[row], patterns.weights[row].astype(np.float64)
    company = size >= 2
    counts = tally(col, weight * n, v)
    alike = tally(col, weight * n * (n - 1), v)
    chances = tally(col, weight * n * (size - 1), v)
    d = tally(col[company], (weight * 2 * n * (size - n))[company] / (size[company] - 1), v)
    pairable = tally(col[company], (weight * n)[company], v)
    total = float(patterns.pairable.n_ratings)
    p = 2 * pairable * (total - pairable)
    shares = counts / max(patterns.n_ratings, 1)
    specific = _quotient(alike, chances)
    alphas = 1 - _quotient((total - 1) * d, p)
    reason = "no_variation" if total else "no_pairable_units"
    return [
        CategoryFinding(category, share, _known(own), _known(value), reason if math.isnan(value) else None)
        for category, share, own, value in zip(
            categories, shares.tolist(), specific.tolist(), alphas.tolist(), strict=True
        )
    ]


def _quotient(above: Floats, below: Floats) -> Floats:
    quotient: Floats = np.divide(above, below, out=np.full_like(below, math.nan), where=below > 0)
    return quotient


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
