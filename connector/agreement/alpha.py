"""Krippendorff's alpha (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability) from closed forms.

alpha = 1 - (n - 1) D / P over the units with two ratings or more, with D = sum_u D_u and

    D_u = (sum over ordered pairs of ratings in u of d2) / (m_u - 1),   P = sum over c, k of n_c n_k d2(c, k).

Observed disagreement is D / n, expected disagreement P / (n (n - 1)).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from connector.agreement import wide
from connector.agreement.distances import COMPARISONS, LEVEL_DISTANCES, MOST_VALUES, Alpha, Comparison, ratio_d2
from connector.agreement.intervals import SEED, Case, Coefficient, measured
from connector.agreement.patterns import DENSE, Patterns, Skew, dot, fold, tally
from connector.agreement.ratings import Floats, Ints, InvalidRatings, Level, Ratings, as_ratings, maybe_turned

MOST_EXACT = 100
"""Units for which alpha without them is computed anew where that has no closed form."""
SAMPLED_PAIRS_RESAMPLED = 20_000
"""Of the sampled pairs, at most so many are weighed again by every bootstrap replicate."""
CLOSE = 2**20
"""Of the largest number, the part over which numbers that float64 does not hold must spread for the ratio level."""
NOTHING = 1e-12
"""Relative size under which a sum of squares that was computed by subtraction counts as zero."""


class Metric(Protocol):
    """D and P of B rows of pattern weights."""

    @property
    def disagreement(self) -> Floats:
        """(G,) D_u of each pattern, by the marginals as they are."""

    @property
    def kept(self) -> Any:
        """What the metric of other patterns of the same values is made of."""

    def d2(self, a: Ints, b: Ints) -> Floats:
        """(K,) distances of the values with codes a[k] and b[k], by the marginals as they are."""

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) D and (B,) P for (B, G) weights. P is 0 where there is no variation."""

    def slopes(self) -> tuple[Floats, Floats] | None:
        """(G,) what one unit more of each pattern adds to D and to P, at the observed weights; None if not known."""

    def without_one(self) -> tuple[Floats, Floats] | None:
        """(G,) D and P when one unit of each pattern is left out; None if not known exactly."""


@dataclass(frozen=True, eq=False)
class AlphaStatistic:
    """Alpha as a function of pattern weights.

    patterns : pairable patterns whose values are in the order that the distance needs.
    values : (V,) numbers (interval, ratio) or V whole answers (or what a metric of them kept); unused for nominal and
        ordinal.
    distance : a name of `distances.LEVEL_DISTANCES` or `distances.COMPARISONS`.
    """

    patterns: Patterns
    values: Any
    distance: str

    @cached_property
    def metric(self) -> Metric:
        """The distance, made ready for these patterns."""
        of_level = _METRICS.get(self.distance)
        if of_level is not None:
            return of_level(self.patterns, self.values)
        comparison = COMPARISONS[self.distance]
        compared = _Compared if len(self.values) <= comparison.most_values else _Sampled
        return compared(self.patterns, self.values, comparison)

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

    @cached_property
    def observed(self) -> tuple[float, float, float]:
        """n, D and P at the observed weights."""
        if not self.patterns.n_patterns:
            return 0.0, 0.0, 0.0
        n, d, p = (float(total[0]) for total in self.totals(self.weights[None, :].astype(np.float64)))
        return n, d, p

    @cached_property
    def found(self) -> Coefficient:
        """Alpha with observed and expected disagreement, or why it is undefined."""
        n, d, p = self.observed
        if p <= 0:
            return Coefficient(None, "no_variation")
        value, expected = 1 - (n - 1) * d / p, p / (n * (n - 1))
        error = getattr(self.metric, "error", None)
        of_value = None if error is None else error * (1 - value) / expected
        return Coefficient(value, None, d / n, expected, expected_error=of_value)

    @property
    def sampled(self) -> bool:
        """Whether expected disagreement is estimated from sampled pairs."""
        return isinstance(self.metric, _Sampled)

    @property
    def cost(self) -> Floats:
        """(G,) points of alpha that one unit of each pattern takes away."""
        return self._points * self.metric.disagreement

    def apart(self, a: Ints, b: Ints) -> Floats:
        """(K,) points of alpha that two ratings cost each other, times (m_u - 1)."""
        return self._points * self.metric.d2(a, b)

    @property
    def _points(self) -> float:
        """Points of alpha per unit of disagreement."""
        n, _, p = self.observed
        return (n - 1) / p

    @property
    def skew(self) -> Skew:
        """How far one value outweighs the others."""
        return self.patterns.skew

    def influence(self) -> Floats | None:
        """(G,) of one unit more of each pattern, as Gwet linearises alpha: that of 1 - n D / P."""
        slopes = self.metric.slopes()
        if slopes is None:
            return None
        n, d, p = self.observed
        moved: Floats = self.patterns.size * d / p + n * slopes[0] / p - n * d * slopes[1] / (p * p)
        return -float(self.weights.sum()) * moved

    def linearised(self) -> Floats | None:
        """(G,) for Gwet's interval."""
        return self.influence()

    def without_one(self) -> Floats | None:
        """(G,) alpha without one unit of each pattern, NaN where undefined then.

        Where it is not known in closed form expected disagreement is held as it is; for a continuum of ordinal values
        the largest ones are then computed anew (answers by the thousand, whose expected disagreement is sampled, are
        not).
        """
        without = self.metric.without_one()
        left = float(self.patterns.n_ratings) - self.patterns.size
        if without is not None:
            d, p = without
            ratio: Floats = np.divide((left - 1) * d, p, out=np.full_like(p, math.nan), where=p > 0)
            alone: Floats = 1 - ratio
            return alone
        n, total, p_all = self.observed
        held: Floats = 1 - np.divide(
            (total - self.metric.disagreement) * n * (n - 1),
            left * p_all,
            out=np.full(len(left), math.nan),
            where=left > 0,
        )
        if self.sampled:
            return held
        for place in np.argsort(-np.nan_to_num(held, nan=-math.inf), kind="stable")[:MOST_EXACT].tolist():
            weights = self.weights.astype(np.float64)
            weights[place] -= 1
            held[place] = float(self.evaluate(weights[None, :])[0])
        return held

    def with_conflict(self) -> AlphaStatistic:
        """Alpha with one conflict between the two commonest values added, where there are two."""
        several = np.count_nonzero(self.patterns.marginals) > 1
        return self.on(self.patterns.with_conflict()) if several else self

    def with_agreement(self) -> AlphaStatistic:
        """Alpha with one agreement on the second commonest value added."""
        return self.on(self.patterns.with_agreement())

    def on(self, patterns: Patterns) -> AlphaStatistic:
        """The same distance on other patterns of the same values; distances compared once are not compared again."""
        return AlphaStatistic(patterns, self.metric.kept, self.distance)


def _count(patterns: Patterns, weights: Floats) -> Floats:
    """(B,) n, ratings."""
    return dot(weights, patterns.size.astype(np.float64))


class _Fixed:
    """Distances that do not depend on the marginals: D_u is computed once per pattern."""

    def __init__(self, patterns: Patterns, values: Any) -> None:
        self.patterns = patterns
        self.kept = values
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
        return dot(weights, self.disagreement), self.expected(weights)

    def expected_slope(self) -> Floats | None:
        """(G,) what one unit more of each pattern adds to P."""
        return None

    def slopes(self) -> tuple[Floats, Floats] | None:
        slope = self.expected_slope()
        return None if slope is None else (self.disagreement, slope)

    def without_one(self) -> tuple[Floats, Floats] | None:
        """P is a quadratic form of the counts: its slope counts the pairs of a unit's own ratings twice."""
        slope = self.expected_slope()
        if slope is None:
            return None
        base = self.patterns.weights.astype(np.float64)
        d, p = (float(total[0]) for total in self.totals(base[None, :]))
        own = self.disagreement * (self.patterns.size - 1)
        left = p - slope + own
        # what is left of a difference of equal numbers is no variation
        return np.maximum(d - self.disagreement, 0.0), np.where(left > NOTHING * p, left, 0.0)


class _Nominal(_Fixed):
    def per_pattern(self) -> Floats:
        size = self.patterns.size.astype(np.float64)
        same = tally(self.patterns.row, self.patterns.n.astype(np.float64) ** 2, self.patterns.n_patterns)
        disagreement: Floats = (size * size - same) / (size - 1)
        return disagreement

    def d2(self, a: Ints, b: Ints) -> Floats:
        unlike: Floats = (a != b).astype(np.float64)
        return unlike

    def expected(self, weights: Floats) -> Floats:
        counts = self.patterns.sums(weights, self.patterns.n.astype(np.float64))
        n = _count(self.patterns, weights)
        p: Floats = n * n - np.einsum("bv,bv->b", counts, counts)
        return p

    def expected_slope(self) -> Floats:
        patterns = self.patterns
        same = tally(patterns.row, patterns.n * patterns.marginals[patterns.col], patterns.n_patterns)
        return 2 * (float(patterns.n_ratings) * patterns.size - same)


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
        t, q, n = dot(weights, self.t), dot(weights, self.q), _count(self.patterns, weights)
        spread = n * q - t * t
        return np.where(spread > NOTHING * n * q, 2 * spread, 0.0)

    def expected_slope(self) -> Floats:
        weights, n = self.patterns.weights, float(self.patterns.n_ratings)
        t, q = float(weights @ self.t), float(weights @ self.q)
        return 2 * (self.patterns.size * q + n * self.q - 2 * t * self.t)


class _Ordinal:
    """The interval form on mid-ranks, which follow the marginals of each resample."""

    kept = None

    def __init__(self, patterns: Patterns, _values: Any) -> None:
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

    @cached_property
    def ranks(self) -> Floats:
        """(V,) mid-ranks by the marginals as they are."""
        counts = self.patterns.marginals
        ranks: Floats = np.cumsum(counts) - counts / 2
        return ranks

    def d2(self, a: Ints, b: Ints) -> Floats:
        apart: Floats = self.ranks[a] - self.ranks[b]
        return apart * apart

    @cached_property
    def disagreement(self) -> Floats:
        """(G,) D_u by the marginals as they are."""
        return tally(self.row, self.coincidence * self.d2(self.a, self.b), self.patterns.n_patterns)

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

    def without_one(self) -> tuple[Floats, Floats] | None:
        """All ranks anew for each pattern that loses a unit."""
        patterns = self.patterns
        if self.table is None or patterns.n_patterns * patterns.n_values > DENSE:
            return None
        base = patterns.weights.astype(np.float64)
        coincidences, own = base @ self.table, patterns.dense(patterns.n)
        a, b = np.divmod(self.kinds, patterns.n_values)
        d, p = np.empty(patterns.n_patterns), np.empty(patterns.n_patterns)
        step = max(1, DENSE // (max(len(self.kinds), patterns.n_values) + 1))
        for start in range(0, patterns.n_patterns, step):
            part = slice(start, start + step)
            counts = patterns.marginals - own[part]
            n = counts.sum(axis=1)
            ranks = np.cumsum(counts, axis=1) - counts / 2 - n[:, None] / 2
            varied = np.count_nonzero(counts, axis=1) > 1
            p[part] = np.where(varied, 2 * n * np.einsum("gv,gv,gv->g", counts, ranks, ranks), 0.0)
            apart = ranks[:, a] - ranks[:, b]
            d[part] = np.einsum("gk,gk,gk->g", np.maximum(coincidences - self.table[part], 0.0), apart, apart)
        return d, p

    def slopes(self) -> tuple[Floats, Floats]:
        """Directly, and through the ranks: one more rating of a value moves its own rank by a half, later ones by 1."""
        patterns = self.patterns
        counts, n = patterns.marginals.astype(np.float64), float(patterns.n_ratings)
        ranks = np.cumsum(counts) - counts / 2 - n / 2
        apart = ranks[self.a] - ranks[self.b]
        direct = tally(self.row, self.coincidence * apart * apart, patterns.n_patterns)
        pull = 2 * patterns.weights[self.row] * self.coincidence * apart
        of_rank = tally(self.a, pull, patterns.n_values) - tally(self.b, pull, patterns.n_values)
        squares = float(counts @ (ranks * ranks))
        by_value = 2 * (squares + n * ranks * ranks) + _through_ranks(4 * n * counts * ranks)
        moved, expected = (
            tally(patterns.row, patterns.n * of_value[patterns.col], patterns.n_patterns)
            for of_value in (_through_ranks(of_rank), by_value)
        )
        return direct + moved, expected


def _through_ranks(of_rank: Floats) -> Floats:
    """(V,) slopes by value from slopes by rank."""
    later: Floats = of_rank.sum() - np.cumsum(of_rank) + of_rank / 2
    return later


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

    def expected_slope(self) -> Floats:
        patterns = self.patterns
        to_all = self.matrix @ patterns.marginals.astype(np.float64)
        return tally(patterns.row, 2 * patterns.n * to_all[patterns.col], patterns.n_patterns)


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
        self.entry_row, self.entry_n = row[of_entry], n[of_entry]
        logs = np.log(values[self.patterns.col[of_entry]])
        self.logs = logs - logs.min(initial=math.inf)
        self.step = 2 * math.pi / (float(self.logs.max(initial=0.0)) + 34)
        frequencies = self.step * np.arange(int(12 / self.step) + 1)
        kernel = np.full(len(frequencies), 4.0)
        kernel[1:] = 4 * math.pi * frequencies[1:] / np.sinh(math.pi * frequencies[1:])
        # k and -k give the same term
        kernel[1:] *= 2
        self.kernel = kernel * self.step / (2 * math.pi)
        self.last = np.zeros(g), np.zeros(len(kernel), dtype=np.complex128)

    def turns(self, logs: Floats) -> Iterator[NDArray[np.complex128]]:
        """(K,) exp(i w ln x) of entries, one frequency after the other."""
        turn = np.exp(1j * self.step * logs)
        now = turn
        for k in range(len(self.kernel)):
            # a product of few turns is as exact as the turn itself, and ten times as fast
            now = now * turn if k % 16 else np.exp(1j * k * self.step * logs)
            yield now

    @cached_property
    def waves(self) -> Floats:
        """(G, 2 F) each pattern's part of the sum, real and imaginary."""
        g = self.patterns.n_patterns
        waves = np.empty((g, 2 * len(self.kernel)))
        for place, now in enumerate(self.turns(self.logs)):
            waves[:, 2 * place] = tally(self.entry_row, self.entry_n * now.real, g)
            waves[:, 2 * place + 1] = tally(self.entry_row, self.entry_n * now.imag, g)
        return waves

    def summed(self, weights: Floats) -> Floats:
        """(B, 2 F) the sums; of a single row of weights without the patterns' parts, but from the last such row's sums
        where few weights differ."""
        if len(weights) > 1 or "waves" in self.__dict__:
            summed: Floats = weights @ self.waves
            return summed
        now, (before, sums) = weights[0], self.last
        if 2 * np.count_nonzero(now != before) > len(now):
            before, sums = np.zeros_like(before), np.zeros_like(sums)
        moved = now - before
        entries = np.flatnonzero(moved[self.entry_row])
        amounts = self.entry_n[entries] * moved[self.entry_row[entries]]
        sums = sums + np.array([(amounts * turned).sum() for turned in self.turns(self.logs[entries])])
        self.last = now.copy(), sums
        single: Floats = sums.view(np.float64)[None, :]
        return single

    def d2(self, a: Ints, b: Ints) -> Floats:
        return ratio_d2(self.values[a], self.values[b])

    def expected(self, weights: Floats) -> Floats:
        n, positive = _count(self.patterns, weights), dot(weights, self.n_positive)
        waves = self.summed(weights)
        same = (waves * waves).reshape(len(weights), -1, 2).sum(axis=2) @ self.kernel
        p = positive * positive + 2 * (n - positive) * positive - same
        return np.where(p > NOTHING * n * n, p, 0.0)

    def expected_slope(self) -> Floats:
        weights, n = self.patterns.weights.astype(np.float64), float(self.patterns.n_ratings)
        positive, kernel = float(weights @ self.n_positive), np.repeat(self.kernel, 2)
        zeros = self.patterns.size - self.n_positive
        pulled = self.waves @ (kernel * (weights @ self.waves))
        slope: Floats = 2 * (positive * self.n_positive + (n - positive) * self.n_positive + zeros * positive - pulled)
        return slope


class _Compared(_Matrix):
    """Whole answers by one of `distances.COMPARISONS`."""

    def __init__(self, patterns: Patterns, values: Any, comparison: Comparison) -> None:
        self.comparison = comparison
        super().__init__(patterns, values)

    def prepare(self, values: Sequence[Any] | Floats) -> None:
        # the matrix is all that is needed of the values from now on
        self.kept = self.matrix = values if isinstance(values, np.ndarray) else self.comparison.matrix(values)


class _Sampled(_Fixed):
    """Expected disagreement of many distinct whole answers, from seeded pairs of ratings."""

    def __init__(self, patterns: Patterns, values: Any, comparison: Comparison) -> None:
        self.comparison = comparison
        super().__init__(patterns, values)

    def prepare(self, values: Sequence[Any]) -> None:
        self.values = values
        patterns = self.patterns
        n_pairs = self.comparison.sampled_pairs
        first, second = sampled_entries(patterns, n_pairs)
        self.pairs = patterns.row[first], patterns.row[second]
        distance = self.d2(patterns.col[first], patterns.col[second])
        self.error = float(distance.std() / math.sqrt(n_pairs))
        self.base = patterns.weights.astype(np.float64)
        # of each pattern, how far its sampled pairs lie above or below the mean
        self.mean = float(distance.mean())
        apart = distance - self.mean
        self.apart = (
            tally(self.pairs[0], apart, patterns.n_patterns) + tally(self.pairs[1], apart, patterns.n_patterns)
        ) / n_pairs
        # answers to different units often have nothing in common at all: then the other pairs alone are summed
        rest = distance - 1
        self.common = 1.0
        kept = np.flatnonzero(rest)
        if len(kept) > SAMPLED_PAIRS_RESAMPLED:
            kept = np.arange(SAMPLED_PAIRS_RESAMPLED)
            self.common, rest = float(distance.mean()), distance - float(distance[kept].mean())
            n_pairs = len(kept)
        self.pairs = patterns.row[first[kept]], patterns.row[second[kept]]
        self.rest = rest[kept] / n_pairs

    def d2(self, a: Ints, b: Ints) -> Floats:
        kinds, kind = np.unique(a * len(self.values) + b, return_inverse=True)
        distances = self.comparison.pairs(self.values, *np.divmod(kinds, len(self.values)))
        of_pair: Floats = distances[kind]
        return of_pair

    def expected(self, weights: Floats) -> Floats:
        """What nearly all pairs have in common over all of them, and the rest over those that were sampled."""
        total = _count(self.patterns, self.base[None, :])[0]
        first, second = self.pairs
        rest = np.empty(len(weights))
        for place, one in enumerate(weights):
            times = one / self.base
            rest[place] = self.rest @ (times[first] * times[second])
        squares = dot(weights * weights, self.patterns.size / self.base)
        all_pairs = _count(self.patterns, weights) ** 2 - squares
        p: Floats = self.common * all_pairs + rest * total * (total - 1)
        return p

    def expected_slope(self) -> Floats:
        """What all pairs have in common, and of the rest what the sampled pairs of a pattern have more or less."""
        total = float(self.patterns.n_ratings)
        slope: Floats = 2 * self.mean * (total - 1) * self.patterns.size + total * (total - 1) * self.apart / self.base
        return slope

    def without_one(self) -> None:
        """Not known: the slope of a single pattern rests on few of the sampled pairs."""


def sampled_entries(patterns: Patterns, n_pairs: int) -> tuple[Ints, Ints]:
    """(P,) places in row/col/n of seeded pairs of ratings, any two of all as likely."""
    random = np.random.Generator(np.random.PCG64(SEED))
    last = np.cumsum(patterns.n * patterns.weights[patterns.row])
    first = random.integers(0, last[-1], n_pairs)
    # any other rating than the first, each as likely
    second = (first + random.integers(1, last[-1], n_pairs)) % last[-1]
    return np.searchsorted(last, first, side="right"), np.searchsorted(last, second, side="right")


def _ratio(patterns: Patterns, values: Floats) -> Metric:
    return (_Ratio if len(values) <= MOST_VALUES else _RatioFourier)(patterns, values)


_METRICS: dict[str, Callable[[Patterns, Any], Metric]] = {
    "nominal": _Nominal,
    "ordinal": _Ordinal,
    "interval": _Interval,
    "ratio": _ratio,
}


def _standard(values: Floats, counts: Ints) -> Floats:
    """Values moved to their mean and scaled to 1, so that squares neither cancel nor overflow."""
    used = counts > 0
    # a category that nobody used may lie far out: its place does not matter
    x = np.where(used, values, 0.0)
    if float(np.abs(x).max(initial=0.0)) > 1e150:
        x /= float(np.abs(x).max())
    x = np.where(used, x - np.average(x[used], weights=counts[used]), 0.0)
    reach = float(np.abs(x).max())
    return x / reach if reach > 0 else x


@dataclass(frozen=True, eq=False)
class Prepared:
    """Ratings recoded for a level or distance, with their patterns.

    reason : wrong_level where the values do not fit it, not_comparable where those of different units have nothing in
        common.
    """

    ratings: Ratings
    patterns: Patterns
    reason: str | None = None


def prepare(ratings: Ratings, level: Level, distance: str, *, placed: bool = True, drawn: bool = True) -> Prepared:
    """Ratings whose codes follow the order (ordinal), or whose values are numbers (interval, ratio) or what a distance
    between whole answers compares.

    placed : whether the units' own patterns are wanted. drawn : whether samples of the patterns will be.
    """
    fitted: Ratings | None = ratings
    comparison = COMPARISONS.get(distance)
    if comparison is not None:
        fitted = _compared(ratings, comparison)
    if level is Level.ORDINAL:
        fitted = ratings.in_order()
    elif level.ordered:
        fitted = ratings.as_numbers()
    if fitted is not None and level is Level.RATIO:
        numbers = fitted.codebook.numbers
        if (numbers[fitted.value_counts > 0] < 0).any():
            fitted = None
        else:
            _refuse_rounded(fitted)
    if fitted is None:
        return Prepared(ratings, fold(ratings, placed=placed, drawn=drawn), "wrong_level")
    apart = comparison is not None and comparison.not_comparable
    folded = fold(fitted, placed=placed, drawn=drawn)
    return Prepared(fitted, folded, "not_comparable" if apart else None)


def _refuse_rounded(ratings: Ratings) -> None:
    """Raises InvalidRatings where the ratios of the numbers used would be lost in float64."""
    book = ratings.codebook
    if not book.rounded:
        return
    used = [book.exact[code] for code in np.flatnonzero(ratings.value_counts)]
    if used and max(used) - min(used) < max(used) / CLOSE:
        raise InvalidRatings(
            "whole numbers above 2^53 lie too close together for the ratio level: take the nominal, ordinal or interval"
            " level"
        )


def _compared(ratings: Ratings, comparison: Comparison) -> Ratings | None:
    """The ratings with nothing in their codebook but what can be compared; None where a value seen can't be."""
    fits = np.array([comparison.comparable(value) for value in ratings.codebook.categories], dtype=np.bool_)
    if fits.all():
        return ratings
    return ratings.declare(()) if fits[ratings.value_counts > 0].all() else None


def alpha_statistic(prepared: Prepared, distance: str) -> Alpha:
    """Alpha of prepared ratings by a named distance."""
    book, patterns = prepared.ratings.codebook, prepared.patterns.pairable
    if distance in COMPARISONS:
        own = COMPARISONS[distance].statistic(patterns, book.categories)
        if own is not None:
            return own
    if distance == "interval":
        return AlphaStatistic(patterns, book.line, distance)
    return AlphaStatistic(patterns, book.numbers if distance == "ratio" else book.categories, distance)


def alpha(prepared: Prepared, distance: str, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Alpha of prepared ratings with its interval where a confidence is given."""
    return measured([alpha_case(prepared, distance)], confidence, seed)[0]


def alpha_case(prepared: Prepared, distance: str) -> Case:
    """Alpha of prepared ratings before its interval."""
    if not prepared.patterns.pairable.n_units:
        return Case(None, Coefficient(None, "no_pairable_units"))
    if prepared.reason:
        return Case(None, Coefficient(None, prepared.reason))
    statistic = alpha_statistic(prepared, distance)
    return Case(None if statistic.found.value is None else statistic, statistic.found)


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
    distance : masi or jaccard where the values are sets, kendall where they are rankings ({item: rank} or pairs of the
        two), edit where they are texts (see `distances`); by default the level's own.

    Returns
    -------
    `.value` is None where alpha is undefined and `.reason` says why: no_pairable_units, no_variation, wrong_level.
    `.notes` holds codes of what looks like a mistake in the data (`ratings.NOTES`): `maybe_turned` for a table of far
    more columns than rows, `mixed_types` for text beside numbers.
    Ordinal is Krippendorff's metric by the marginals, not Gwet's ordinal weights. Raises ValueError for an unknown
    level or distance, InvalidRatings for infinite values, and at the ratio level for whole numbers above 2^53 whose
    ratios float64 would lose.

    >>> krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"], ["b", None]]).value
    0.4444444444444444
    """
    of_level, name = level_and_distance(level, distance)
    if wide.is_numeric(data) and name == of_level.value:
        found = _of_array(data, of_level, confidence, seed)
        if found is not None:
            return (
                replace(found, notes=("maybe_turned",))
                if isinstance(data, np.ndarray) and maybe_turned(*data.shape)
                else found
            )
    ratings = as_ratings(data)
    prepared = prepare(ratings, of_level, name, placed=False, drawn=confidence is not None)
    found = alpha(prepared, name, confidence, seed)
    return replace(found, notes=ratings.notes) if ratings.notes else found


def _of_array(table: Any, level: Level, confidence: float | None, seed: int) -> Coefficient | None:
    """Alpha of a numeric array without its long form, or None where its values need that."""
    counts = wide.count(table)
    if counts is None:
        held = level is Level.INTERVAL and confidence is None and wide.is_held(table)
        return wide.interval_alpha(table) if held else None
    found = wide.alpha_of_counts(counts, level)
    if confidence is None or found.value is None:
        return found
    counts = counts.without_unused()
    statistic = AlphaStatistic(counts.patterns().pairable, counts.values, str(level.value))
    return measured([Case(statistic, found)], confidence, seed)[0]


def level_and_distance(level: str, distance: str | None) -> tuple[Level, str]:
    """Checked names; the distance is the level's own unless given."""
    try:
        of_level = Level(level)
    except ValueError:
        raise ValueError(f"unknown level {level!r}: one of {', '.join(Level)}") from None
    name = distance or str(of_level.value)
    if name in COMPARISONS:
        if of_level is not Level.NOMINAL:
            raise ValueError(f"distance {name} compares whole answers, which have no {of_level.value} level")
    elif name not in LEVEL_DISTANCES:
        raise ValueError(f"unknown distance {name!r}: one of {', '.join((*LEVEL_DISTANCES, *COMPARISONS))}")
    elif name != of_level.value:
        raise ValueError(f"distance {name} does not belong to level {of_level.value}")
    return of_level, name
