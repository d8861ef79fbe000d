"""Percent agreement and the kappas.

Cohen (1960), weighted: Cohen (1968); Fleiss (1971), on ragged data in Gwet's generalisation (Gwet 2014, Handbook of
Inter-Rater Reliability, 4th ed., ch. 2), where the value carries the reason `ragged`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from connector.agreement.intervals import SEED, Coefficient, interval_of
from connector.agreement.patterns import DENSE, Patterns, tally
from connector.agreement.ratings import Floats, Ints, Ratings

NOTHING = 1e-12


def pair_agreement(patterns: Patterns) -> Floats:
    """(G,) share of agreeing pairs of ratings in each pattern, 0 where there are fewer than two."""
    alike = tally(patterns.row, patterns.n * (patterns.n - 1.0), patterns.n_patterns)
    pairs = patterns.size * (patterns.size - 1.0)
    shares: Floats = np.divide(alike, pairs, out=np.zeros(patterns.n_patterns), where=pairs > 0)
    return shares


@dataclass(frozen=True, eq=False)
class PercentStatistic:
    """The mean over units of the share of agreeing pairs."""

    agreement: Floats
    weights: Ints

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return len(self.weights)

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        return self.agreement < 1

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        mean: Floats = weights @ self.agreement / weights.sum(axis=1)
        return mean

    def with_conflict(self) -> PercentStatistic:
        """The same with one conflict added."""
        return PercentStatistic(np.append(self.agreement, 0.0), np.append(self.weights, 1))


@dataclass(frozen=True, eq=False)
class FleissStatistic:
    """Fleiss' kappa: agreement over the units with two ratings, shares over all units with one."""

    patterns: Patterns

    @property
    def weights(self) -> Ints:
        """(G,) observed units of each pattern."""
        return self.patterns.weights

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return max(self.patterns.n_patterns, self.patterns.n_values)

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        return self.patterns.distinct > 1

    @cached_property
    def agreement(self) -> Floats:
        """(G,) share of agreeing pairs."""
        return pair_agreement(self.patterns)

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement."""
        pairable = weights @ (self.patterns.size >= 2).astype(np.float64)
        observed: Floats = np.divide(
            weights @ self.agreement, pairable, out=np.full(len(weights), math.nan), where=pairable > 0
        )
        share = self.patterns.n / self.patterns.size[self.patterns.row]
        shares = self.patterns.sums(weights, share) / weights.sum(axis=1)[:, None]
        return observed, np.einsum("bv,bv->b", shares, shares)

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        return _corrected(*self.parts(weights))

    def with_conflict(self) -> FleissStatistic:
        """The same with one conflict between the two commonest values added."""
        return FleissStatistic(self.patterns.with_conflict())


@dataclass(frozen=True, eq=False)
class CohenStatistic:
    """Cohen's kappa of two raters as a function of the cells of their table.

    a, b : (G,) codes of the first and second rater's value in each distinct cell; weights : (G,) units in it.
    scores : (V,) places of the values on a line for a weighted kappa, None for the unweighted one.
    power : 1 for linear, 2 for quadratic weights |x - y|^power.
    """

    a: Ints
    b: Ints
    weights: Ints
    n_values: int
    scores: Floats | None = None
    power: int = 2

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return max(len(self.weights), self.n_values)

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        differ: NDArray[np.bool_] = self.a != self.b
        return differ

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement; for weights, 1 - disagreement on the scale of the widest distance."""
        n = weights.sum(axis=1)
        if self.scores is None:
            first, second = self._marginals(weights)
            return weights @ (self.a == self.b) / n, np.einsum("bv,bv->b", first, second) / (n * n)
        x, y = self._places[self.a], self._places[self.b]
        observed = weights @ np.abs(x - y) ** self.power / n
        if self.power == 2:
            moments = weights @ np.column_stack([x, y, x * x, y * y]) / n[:, None]
            expected = moments[:, 2] + moments[:, 3] - 2 * moments[:, 0] * moments[:, 1]
        else:
            first, second = (np.cumsum(margin, axis=1)[:, :-1] / n[:, None] for margin in self._marginals(weights))
            expected = (first * (1 - second) + second * (1 - first)) @ np.diff(self._places)
        return 1 - observed, 1 - expected

    @cached_property
    def _places(self) -> Floats:
        assert self.scores is not None
        low, high = float(self.scores.min()), float(self.scores.max())
        return self.scores - low if high == low else (self.scores - low) / (high - low)

    def _marginals(self, weights: Floats) -> tuple[Floats, Floats]:
        if len(self.a) * self.n_values <= DENSE:
            cells = np.arange(len(self.a))
            tables = np.zeros((2, len(self.a), self.n_values))
            tables[0, cells, self.a] = 1
            tables[1, cells, self.b] = 1
            return weights @ tables[0], weights @ tables[1]
        first, second = (np.array([tally(codes, row, self.n_values) for row in weights]) for codes in (self.a, self.b))
        return first, second

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        return _corrected(*self.parts(weights))

    def with_conflict(self) -> CohenStatistic:
        """The same with one conflict between the two commonest values added."""
        counts = tally(self.a, self.weights, self.n_values) + tally(self.b, self.weights, self.n_values)
        common = np.argsort(-counts, kind="stable")[:2]
        return CohenStatistic(
            np.append(self.a, common[0]),
            np.append(self.b, common[-1]),
            np.append(self.weights, 1),
            self.n_values,
            self.scores,
            self.power,
        )


def _corrected(observed: Floats, expected: Floats) -> Floats:
    room = 1 - expected
    value: Floats = np.divide(observed - expected, room, out=np.full_like(room, math.nan), where=room > NOTHING)
    return value


def percent_agreement(patterns: Patterns, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """The mean over units with two ratings of the share of agreeing pairs of ratings. Not corrected for chance."""
    pairable = patterns.pairable
    if not pairable.n_units:
        return Coefficient(None, "no_pairable_units")
    statistic = PercentStatistic(pair_agreement(pairable), pairable.weights)
    value = float(pairable.weights @ statistic.agreement) / pairable.n_units
    interval = None if confidence is None else interval_of(statistic, value, confidence, seed)
    return Coefficient(value, None, value, None, interval)


def fleiss_kappa(patterns: Patterns, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Fleiss' kappa; with unequal numbers of ratings Gwet's generalisation, marked `ragged`."""
    if not patterns.pairable.n_units:
        return Coefficient(None, "no_pairable_units")
    ragged = "ragged" if len(np.unique(patterns.size)) > 1 else None
    return _kappa(FleissStatistic(patterns), confidence, seed, ragged)


def cohen_cells(ratings: Ratings) -> tuple[Ints, Ints, Ints] | str:
    """The cells (a, b, units) of two raters' table over the units both rated, or the reason why there is none."""
    if not ratings.n_ratings:
        return "no_pairable_units"
    rating = np.flatnonzero(np.bincount(ratings.raters)).tolist()
    if len(rating) != 2:
        return "not_two_raters"
    # which of them comes first must not depend on the order of the rows, or the resamples would
    rating.sort(key=lambda rater: str(ratings.rater_ids[rater]))
    columns = np.full((2, len(ratings.unit_ids)), -1, dtype=np.int64)
    for place, rater in enumerate(rating):
        own = ratings.raters == rater
        columns[place, ratings.units[own]] = ratings.values[own]
    both = (columns >= 0).all(axis=0)
    if not both.any():
        return "no_pairable_units"
    width = len(ratings.codebook)
    cells, units = np.unique(columns[0, both] * width + columns[1, both], return_counts=True)
    a, b = np.divmod(cells, width)
    return a, b, units


def cohen_kappa(ratings: Ratings, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Cohen's kappa (1960) of exactly two raters, over the units both rated."""
    cells = cohen_cells(ratings)
    if isinstance(cells, str):
        return Coefficient(None, cells)
    return _kappa(CohenStatistic(*cells, len(ratings.codebook)), confidence, seed)


def weighted_kappa(
    ratings: Ratings, weights: str = "quadratic", confidence: float | None = None, seed: int = SEED
) -> Coefficient:
    """Weighted kappa (Cohen 1968) of exactly two raters: agreement falls with |x - y| (linear) or its square
    (quadratic).

    x and y are the numbers that the categories stand for, or their places in the declared order where they are not
    numbers; with neither, the reason is wrong_level.
    """
    statistic = weighted_statistic(ratings, weights)
    if isinstance(statistic, str):
        return Coefficient(None, statistic)
    return _kappa(statistic, confidence, seed)


def weighted_statistic(ratings: Ratings, weights: str) -> CohenStatistic | str:
    """The statistic behind `weighted_kappa`, or the reason why there is none."""
    if weights not in ("linear", "quadratic"):
        raise ValueError(f"weights must be linear or quadratic, not {weights!r}")
    ordered = ratings.as_numbers() or ratings.in_order()
    cells = cohen_cells(ratings if ordered is None else ordered)
    if isinstance(cells, str):
        return cells
    if ordered is None:
        return "wrong_level"
    numbers = ordered.codebook.numbers
    used = ordered.value_counts > 0
    places = numbers if not np.isnan(numbers[used]).any() else np.arange(len(numbers), dtype=np.float64)
    power = 1 if weights == "linear" else 2
    return CohenStatistic(*cells, len(numbers), np.where(np.isnan(places), 0.0, places), power)


def _kappa(
    statistic: FleissStatistic | CohenStatistic, confidence: float | None, seed: int, note: str | None = None
) -> Coefficient:
    observed, expected = (float(part[0]) for part in statistic.parts(statistic.weights[None, :].astype(np.float64)))
    if 1 - expected <= NOTHING:
        return Coefficient(None, "no_variation", observed, expected)
    value = (observed - expected) / (1 - expected)
    interval = None if confidence is None else interval_of(statistic, value, confidence, seed)
    return Coefficient(value, note, observed, expected, interval)
