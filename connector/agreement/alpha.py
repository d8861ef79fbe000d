"""Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability) from closed forms.

alpha = 1 - (n - 1) D / P over the units with two ratings or more, with D = sum_u D_u and

    D_u = (sum over ordered pairs of ratings in u of d2) / (m_u - 1),   P = sum over c, k of n_c n_k d2(c, k).

Observed disagreement is D / n, expected disagreement P / (n (n - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from connector.agreement import wide
from connector.agreement.distances import DISTANCES, MOST_VALUES, SET_DISTANCES, ratio_d2, set_matrix, set_pairs
from connector.agreement.intervals import SEED, Coefficient, interval_of
from connector.agreement.patterns import DENSE, Patterns, fold, tally
from connector.agreement.ratings import Floats, Ints, Level, Ratings

SAMPLED_PAIRS = 1_000_000
SAMPLED_PAIRS_RESAMPLED = 20_000
"""Of the sampled pairs, those that every bootstrap replicate weighs again."""
NOTHING = 1e-12
"""Relative size under which a sum of squares that was computed by subtraction counts as zero."""


class Metric(Protocol):
    """D and P of B rows of pattern weights."""

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) D and (B,) P for (B, G) weights. P is 0 where there is no variation."""


@dataclass(frozen=True, eq=False)
class AlphaStatistic:
    """Alpha as a function of pattern weights.

    patterns : pairable patterns whose values are in the order that the distance needs.
    values : (V,) numbers (interval, ratio) or V sets; unused for nominal and ordinal.
    distance : a name of `distances.DISTANCES`.
    """

    patterns: Patterns
    values: Any
    distance: str

    @cached_property
    def metric(self) -> Metric:
        """The distance, made ready for these patterns."""
        return _METRICS[self.distance](self.patterns, self.values)

    @property
    def weights(self) -> Ints:
        """(G,) observed units of each pattern."""
        return self.patterns.weights

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        return self.patterns.distinct > 1

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        patterns = self.patterns
        if self.distance == "interval":
            return patterns.n_patterns
        pairs = 0
        if self.distance == "ordinal" and patterns.n_values > MOST_VALUES:
            # their distances are looked up anew in every replicate, which costs as much as eight sums
            pairs = 8 * len(patterns.entry_pairs[0])
        return max(patterns.n_patterns, patterns.n_values, pairs)

    def totals(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """(B,) n, D and P."""
        n = _count(self.patterns, weights)
        d, p = self.metric.totals(weights)
        return n, d, p

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) alpha, NaN where undefined."""
        n, d, p = self.totals(weights)
        ratio: Floats = np.divide((n - 1) * d, p, out=np.full_like(p, math.nan), where=p > 0)
        return 1 - ratio

    def with_conflict(self) -> AlphaStatistic:
        """Alpha with one conflict between the two commonest values added."""
        return AlphaStatistic(self.patterns.with_conflict(), self.values, self.distance)


def _count(patterns: Patterns, weights: Floats) -> Floats:
    """(B,) n, ratings."""
    n: Floats = weights @ patterns.size.astype(np.float64)
    return n


class _Fixed:
    """Distances that do not depend on the marginals: D_u is computed once per pattern."""

    def __init__(self, patterns: Patterns, values: Any) -> None:
        self.patterns = patterns
        self.prepare(values)
        self.disagreement = self.per_pattern()

    def prepare(self, values: Any) -> None:
        """Keeps what d2 and expected need of the values."""

    def per_pattern(self) -> Floats:
        """(G,) D_u."""
        patterns = self.patterns
        a, b = patterns.entry_pairs
        d2 = self.d2(patterns.col[a], patterns.col[b])
        per_pair = 2.0 * patterns.n[a] * patterns.n[b] * d2
        disagreement: Floats = tally(patterns.row[a], per_pair, patterns.n_patterns) / (patterns.size - 1)
        return disagreement

    def d2(self, a: Ints, b: Ints) -> Floats:
        """(K,) distances of the values with codes a[k] and b[k]."""
        raise NotImplementedError

    def expected(self, weights: Floats) -> Floats:
        """(B,) P."""
        raise NotImplementedError

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        return weights @ self.disagreement, self.expected(weights)


class _Nominal(_Fixed):
    def per_pattern(self) -> Floats:
        size = self.patterns.size.astype(np.float64)
        same = tally(self.patterns.row, self.patterns.n.astype(np.float64) ** 2, self.patterns.n_patterns)
        disagreement: Floats = (size * size - same) / (size - 1)
        return disagreement

    def expected(self, weights: Floats) -> Floats:
        counts = self.patterns.sums(weights, self.patterns.n.astype(np.float64))
        n = _count(self.patterns, weights)
        p: Floats = n * n - np.einsum("bv,bv->b", counts, counts)
        return p


class _Interval(_Fixed):
    """P = 2 (n Q - T^2) with T and Q the sums of centred values and of their squares: no marginals needed."""

    def prepare(self, values: Floats) -> None:
        self.x = _standard(values, self.patterns.marginals)
        row, n, x = self.patterns.row, self.patterns.n, self.x[self.patterns.col]
        self.t = tally(row, n * x, self.patterns.n_patterns)
        self.q = tally(row, n * x * x, self.patterns.n_patterns)

    def d2(self, a: Ints, b: Ints) -> Floats:
        difference: Floats = self.x[a] - self.x[b]
        return difference * difference

    def expected(self, weights: Floats) -> Floats:
        t, q, n = weights @ self.t, weights @ self.q, _count(self.patterns, weights)
        spread = n * q - t * t
        return np.where(spread > NOTHING * n * q, 2 * spread, 0.0)


class _Ordinal:
    """The interval form on mid-ranks, which follow the marginals of each resample."""

    def __init__(self, patterns: Patterns) -> None:
        self.patterns = patterns
        a, b = patterns.entry_pairs
        self.row = patterns.row[a]
        self.a, self.b = patterns.col[a], patterns.col[b]
        self.coincidence = 2.0 * patterns.n[a] * patterns.n[b] / (patterns.size[self.row] - 1)
        self.kinds, self.kind = np.unique(self.a * patterns.n_values + self.b, return_inverse=True)
        self.table: Floats | None = None
        if len(self.kinds) * patterns.n_patterns <= DENSE:
            self.table = np.zeros((patterns.n_patterns, len(self.kinds)))
            np.add.at(self.table, (self.row, self.kind), self.coincidence)

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        n = _count(self.patterns, weights)
        counts = self.patterns.sums(weights, self.patterns.n.astype(np.float64))
        # measured from the middle rank, so that the ranks add up to nothing
        ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
        varied = np.count_nonzero(counts, axis=1) > 1
        p = np.where(varied, 2 * n * np.einsum("bv,bv,bv->b", counts, ranks, ranks), 0.0)
        if self.table is not None:
            a, b = np.divmod(self.kinds, self.patterns.n_values)
            d: Floats = np.einsum("bk,bk->b", weights @ self.table, (ranks[:, a] - ranks[:, b]) ** 2)
            return d, p
        d = np.empty(len(weights))
        for place, (one, rank) in enumerate(zip(weights, ranks, strict=True)):
            d[place] = (one[self.row] * self.coincidence) @ (rank[self.a] - rank[self.b]) ** 2
        return d, p


class _Matrix(_Fixed):
    """Any distance on few values: one V x V matrix, made once."""

    matrix: Floats

    def d2(self, a: Ints, b: Ints) -> Floats:
        d2: Floats = self.matrix[a, b]
        return d2

    def expected(self, weights: Floats) -> Floats:
        counts = self.patterns.sums(weights, self.patterns.n.astype(np.float64))
        p: Floats = np.einsum("bv,bv->b", counts @ self.matrix, counts)
        return p


class _Ratio(_Matrix):
    def prepare(self, values: Floats) -> None:
        self.matrix = ratio_d2(values[:, None], values[None, :])


class _RatioFourier(_Fixed):
    """P as a short Fourier sum: d2 is a difference kernel in the logarithm, 1 - sech^2((ln x - ln y) / 2)."""

    def prepare(self, values: Floats) -> None:
        self.values = values
        positive = values > 0
        row, n = self.patterns.row, self.patterns.n.astype(np.float64)
        of_entry = positive[self.patterns.col]
        g = self.patterns.n_patterns
        self.n_positive = tally(row[of_entry], n[of_entry], g)
        logs = np.log(values[self.patterns.col[of_entry]])
        low, high = (float(logs.min()), float(logs.max())) if len(logs) else (0.0, 0.0)
        step = 2 * math.pi / (high - low + 34)
        frequencies = step * np.arange(int(12 / step) + 1)
        kernel = np.full(len(frequencies), 4.0)
        kernel[1:] = 4 * math.pi * frequencies[1:] / np.sinh(math.pi * frequencies[1:])
        # k and -k give the same term
        kernel[1:] *= 2
        self.kernel = kernel * step / (2 * math.pi)
        self.waves = np.empty((g, 2 * len(frequencies)))
        for place, w in enumerate(frequencies):
            phase = w * (logs - low)
            self.waves[:, 2 * place] = tally(row[of_entry], n[of_entry] * np.cos(phase), g)
            self.waves[:, 2 * place + 1] = tally(row[of_entry], n[of_entry] * np.sin(phase), g)

    def d2(self, a: Ints, b: Ints) -> Floats:
        return ratio_d2(self.values[a], self.values[b])

    def expected(self, weights: Floats) -> Floats:
        n, positive = _count(self.patterns, weights), weights @ self.n_positive
        waves = weights @ self.waves
        same = (waves * waves).reshape(len(weights), -1, 2).sum(axis=2) @ self.kernel
        p = positive * positive + 2 * (n - positive) * positive - same
        return np.where(p > NOTHING * n * n, p, 0.0)


class _Sets(_Matrix):
    name = "masi"

    def prepare(self, values: Sequence[Any]) -> None:
        self.matrix = set_matrix(values, self.name)


class _SetsJaccard(_Sets):
    name = "jaccard"


class _SampledSets(_Fixed):
    """Expected disagreement of many distinct sets, from seeded pairs of ratings."""

    name = "masi"

    def prepare(self, values: Sequence[Any]) -> None:
        self.values = values
        patterns = self.patterns
        random = np.random.Generator(np.random.PCG64(SEED))
        held = patterns.n * patterns.weights[patterns.row]
        last = np.cumsum(held)
        first_rating = random.integers(0, last[-1], SAMPLED_PAIRS)
        # any other rating than the first, each as likely
        second_rating = (first_rating + random.integers(1, last[-1], SAMPLED_PAIRS)) % last[-1]
        first, second = (np.searchsorted(last, drawn, side="right") for drawn in (first_rating, second_rating))
        self.pairs = patterns.row[first], patterns.row[second]
        self.distance = self.d2(patterns.col[first], patterns.col[second])
        self.error = float(self.distance.std() / math.sqrt(SAMPLED_PAIRS))
        self.base = patterns.weights.astype(np.float64)

    def d2(self, a: Ints, b: Ints) -> Floats:
        kinds, kind = np.unique(a * len(self.values) + b, return_inverse=True)
        distances = set_pairs(self.values, *np.divmod(kinds, len(self.values)), self.name)
        of_pair: Floats = distances[kind]
        return of_pair

    def expected(self, weights: Floats) -> Floats:
        total = float(self.base @ self.patterns.size)
        p = np.empty(len(weights))
        for place, one in enumerate(weights):
            if np.array_equal(one, self.base):
                p[place] = self.distance.mean()
                continue
            times = one / self.base
            kept = slice(0, SAMPLED_PAIRS_RESAMPLED)
            first, second = self.pairs[0][kept], self.pairs[1][kept]
            p[place] = (self.distance[kept] * times[first] * times[second]).mean()
        return p * total * (total - 1)


class _SampledJaccard(_SampledSets):
    name = "jaccard"


def _ordinal(patterns: Patterns, _values: Any) -> Metric:
    return _Ordinal(patterns)


def _ratio(patterns: Patterns, values: Floats) -> Metric:
    return (_Ratio if len(values) <= MOST_VALUES else _RatioFourier)(patterns, values)


def _masi(patterns: Patterns, values: Sequence[Any]) -> Metric:
    return (_Sets if len(values) <= MOST_VALUES else _SampledSets)(patterns, values)


def _jaccard(patterns: Patterns, values: Sequence[Any]) -> Metric:
    return (_SetsJaccard if len(values) <= MOST_VALUES else _SampledJaccard)(patterns, values)


_METRICS: dict[str, Callable[[Patterns, Any], Metric]] = {
    "nominal": _Nominal,
    "ordinal": _ordinal,
    "interval": _Interval,
    "ratio": _ratio,
    "masi": _masi,
    "jaccard": _jaccard,
}


def _standard(values: Floats, counts: Ints) -> Floats:
    """Values moved to their mean and scaled to 1, so that squares neither cancel nor overflow."""
    largest = float(np.abs(values).max(initial=0.0))
    x = values / largest if largest > 1e150 else values
    used = counts > 0
    x = x - np.average(x[used], weights=counts[used])
    reach = float(np.abs(x[used]).max())
    # a category that nobody used may lie far out: its place does not matter
    return np.where(used, x / reach if reach > 0 else x, 0.0)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Ratings recoded for a level, with their patterns; `reason` is wrong_level where the values do not fit it."""

    ratings: Ratings
    patterns: Patterns
    reason: str | None = None


def prepare(ratings: Ratings, level: Level, distance: str, *, placed: bool = True) -> Prepared:
    """Ratings whose codes follow the order (ordinal) or are numbers (interval, ratio), or that are sets.

    placed : whether the units' own patterns are wanted.
    """
    fitted: Ratings | None = ratings
    if distance in SET_DISTANCES and not _all_sets(ratings):
        fitted = None
    if level is Level.ORDINAL:
        fitted = ratings.in_order()
    elif level.ordered:
        fitted = ratings.as_numbers()
    if fitted is not None and level is Level.RATIO:
        numbers = fitted.codebook.numbers
        if (numbers[fitted.value_counts > 0] < 0).any():
            fitted = None
    if fitted is None:
        return Prepared(ratings, fold(ratings, placed=placed), "wrong_level")
    return Prepared(fitted, fold(fitted, placed=placed))


def _all_sets(ratings: Ratings) -> bool:
    categories = ratings.codebook.categories
    return all(isinstance(categories[code], tuple) for code in np.flatnonzero(ratings.value_counts))


def alpha_statistic(prepared: Prepared, distance: str) -> AlphaStatistic:
    """Alpha of prepared ratings by a named distance."""
    book = prepared.ratings.codebook
    values: Any = book.categories
    if distance in ("interval", "ratio"):
        values = book.numbers
    elif distance in SET_DISTANCES:
        # a category that nobody used need not be a set
        values = [category if isinstance(category, tuple) else (category,) for category in book.categories]
    return AlphaStatistic(prepared.patterns.pairable, values, distance)


def alpha(prepared: Prepared, distance: str, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Alpha of prepared ratings with its interval where a confidence is given."""
    if not prepared.patterns.pairable.n_units:
        return Coefficient(None, "no_pairable_units")
    if prepared.reason:
        return Coefficient(None, prepared.reason)
    if np.count_nonzero(prepared.patterns.pairable.marginals) < 2:
        return Coefficient(None, "no_variation")
    statistic = alpha_statistic(prepared, distance)
    n, d, p = (float(total[0]) for total in statistic.totals(statistic.weights[None, :].astype(np.float64)))
    if p <= 0:
        return Coefficient(None, "no_variation")
    value = 1 - (n - 1) * d / p
    interval = None if confidence is None else interval_of(statistic, value, confidence, seed)
    error = getattr(statistic.metric, "error", None)
    expected = p / (n * (n - 1))
    return Coefficient(
        value, None, d / n, expected, interval, None if error is None else error * (1 - value) / expected
    )


def krippendorff_alpha(
    data: Ratings | Any,
    level: str = "nominal",
    confidence: float | None = None,
    *,
    distance: str | None = None,
    seed: int = SEED,
) -> Coefficient:
    """Krippendorff's alpha of ratings, ragged as they come.

    Parameters
    ----------
    data : a `Ratings`, or a units x raters array or nested sequence with None, NaN or "" where a rating is missing.
    level : nominal, ordinal, interval or ratio.
    confidence : for an interval (bootstrap over units; jackknife under 100), for instance 0.95.
    distance : masi or jaccard where the values are sets; by default the level's own.

    Returns
    -------
    `.value` is None where alpha is undefined and `.reason` says why: no_pairable_units, no_variation, wrong_level.
    Ordinal is Krippendorff's metric by the marginals, not Gwet's ordinal weights. Raises ValueError for an unknown
    level or distance, InvalidRatings for infinite values.

    >>> krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["b", None]]).value
    0.4444444444444444
    """
    of_level, name = level_and_distance(level, distance)
    if wide.is_numeric(data) and name == of_level.value:
        found = _of_array(data, of_level, confidence, seed)
        if found is not None:
            return found
    ratings = data if isinstance(data, Ratings) else Ratings.from_wide(data)
    return alpha(prepare(ratings, of_level, name, placed=False), name, confidence, seed)


def _of_array(table: Any, level: Level, confidence: float | None, seed: int) -> Coefficient | None:
    """Alpha of a numeric array without its long form, or None where its values need that."""
    counts = wide.count(table)
    if counts is None:
        return wide.interval_alpha(table) if level is Level.INTERVAL and confidence is None else None
    found = wide.alpha_of_counts(counts, level)
    if confidence is None or found.value is None:
        return found
    statistic = AlphaStatistic(counts.patterns().pairable, counts.values, str(level.value))
    return replace(found, interval=interval_of(statistic, found.value, confidence, seed))


def level_and_distance(level: str, distance: str | None) -> tuple[Level, str]:
    """Checked names; the distance is the level's own unless given."""
    try:
        of_level = Level(level)
    except ValueError:
        raise ValueError(f"unknown level {level!r}: one of {', '.join(Level)}") from None
    name = distance or str(of_level.value)
    if name not in DISTANCES:
        raise ValueError(f"unknown distance {name!r}: one of {', '.join(DISTANCES)}")
    if name in SET_DISTANCES and of_level is not Level.NOMINAL:
        raise ValueError(f"distance {name} compares sets, which have no {of_level.value} level")
    if name not in SET_DISTANCES and name != of_level.value:
        raise ValueError(f"distance {name} does not belong to level {of_level.value}")
    return of_level, name
