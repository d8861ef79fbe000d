"""Percent agreement and the kappas of two raters.

Cohen (1960), weighted: Cohen (1968); Scott (1955), whose chance agreement pools both raters' shares. All three are
taken over the units that both raters rated. For more raters see `gwet.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from connector.agreement.intervals import SEED, Case, Coefficient, Statistic, measured
from connector.agreement.patterns import DENSE, Patterns, Skew, in_own_order, tally, whole_tally
from connector.agreement.ratings import Floats, Ints, Ratings, as_ratings

NOTHING = 1e-12
POWERS = {"linear": 1, "quadratic": 2}


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

    @property
    def skew(self) -> Skew | None:
        """Nothing is corrected for chance."""
        return None

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        mean: Floats = weights @ self.agreement / weights.sum(axis=1)
        return mean

    def influence(self) -> Floats:
        """(G,) of one unit more of each pattern."""
        mean = float(self.weights @ self.agreement) / float(self.weights.sum())
        return self.agreement - mean

    def linearised(self) -> Floats | None:
        """(G,) for Gwet's interval."""
        return self.influence()

    def with_conflict(self) -> PercentStatistic:
        """The same with one conflict added."""
        return PercentStatistic(np.append(self.agreement, 0.0), np.append(self.weights, 1))

    def with_agreement(self) -> PercentStatistic:
        """The same with one agreement added."""
        return PercentStatistic(np.append(self.agreement, 1.0), np.append(self.weights, 1))


@dataclass(frozen=True, eq=False)
class CohenStatistic:
    """The kappa of two raters as a function of the cells of their table.

    a, b : (G,) codes of the first and second rater's value in each distinct cell; weights : (G,) units in it.
    scores : (V,) places of the values on a line for a weighted kappa, None for an unweighted one; where weighted, codes
        ascend with them.
    power : 1 for linear, 2 for quadratic weights |x - y|^power.
    pooled : Scott's pi: chance agreement from the shares of both raters together.
    """

    a: Ints
    b: Ints
    weights: Ints
    n_values: int
    scores: Floats | None = None
    power: int = 2
    pooled: bool = False

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return max(len(self.weights), self.n_values)

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        differ: NDArray[np.bool_] = self.a != self.b
        return differ

    @cached_property
    def marginals(self) -> Ints:
        """(V,) ratings of each value by both."""
        return whole_tally(self.a, self.weights, self.n_values) + whole_tally(self.b, self.weights, self.n_values)

    @cached_property
    def skew(self) -> Skew:
        """How far one value outweighs the others."""
        counts = self.marginals
        alike = ~self.disagreeing & (self.a != int(np.argmax(counts)))
        total = int(counts.sum())
        return Skew(total, total - int(counts.max()), int(self.weights[alike].sum()))

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement; for weights, 1 - disagreement on the scale of the widest distance."""
        n = weights.sum(axis=1)
        if self.scores is None:
            first, second = self._marginals(weights)
            if self.pooled:
                first = second = (first + second) / 2
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
        return stretched(self.scores)

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
        return corrected(*self.parts(weights))

    def influence(self) -> Floats | None:
        """(G,) of one unit more of each cell: for the unweighted kappa Fleiss, Cohen and Everitt's (1969) variance."""
        observed, expected = (float(part[0]) for part in self.parts(self.weights[None, :].astype(np.float64)))
        if 1 - expected <= NOTHING:
            return None
        n = float(self.weights.sum())
        first, second = (tally(codes, self.weights, self.n_values) / n for codes in (self.a, self.b))
        if self.pooled:
            first = second = (first + second) / 2
        if self.scores is None:
            agreement = (self.a == self.b).astype(np.float64)
            by_chance = second[self.a] + first[self.b]
        else:
            x, y = self._places[self.a], self._places[self.b]
            agreement = 1 - np.abs(x - y) ** self.power
            by_chance = 2 - self._distance_to(second)[self.a] - self._distance_to(first)[self.b]
        kappa = (observed - expected) / (1 - expected)
        influence: Floats = (agreement - observed - (1 - kappa) * (by_chance - 2 * expected)) / (1 - expected)
        return influence

    def linearised(self) -> Floats | None:
        """(G,) for Gwet's interval."""
        return self.influence()

    def _distance_to(self, shares: Floats) -> Floats:
        """(V,) mean distance, by the weights' power, of each value to a draw from the shares."""
        x = self._places
        if self.power == 2:
            squared: Floats = x * x - 2 * x * float(shares @ x) + float(shares @ (x * x))
            return squared
        under = np.cumsum(shares)[:-1] * np.diff(x)
        above = (1 - np.cumsum(shares)[:-1]) * np.diff(x)
        below_each = np.concatenate([[0.0], np.cumsum(under)])
        above_each = np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
        linear: Floats = below_each + above_each
        return linear

    def with_conflict(self) -> CohenStatistic:
        """The same with one conflict between the two commonest values added."""
        common = np.argsort(-self.marginals, kind="stable")[:2]
        return self._with_unit(common[0], common[-1])

    def with_agreement(self) -> CohenStatistic:
        """The same with one agreement on the second commonest value added."""
        second = np.argsort(-self.marginals, kind="stable")[:2][-1]
        return self._with_unit(second, second)

    def _with_unit(self, a: int, b: int) -> CohenStatistic:
        return replace(self, a=np.append(self.a, a), b=np.append(self.b, b), weights=np.append(self.weights, 1))


def stretched(x: Floats) -> Floats:
    """Numbers moved and scaled to 0 to 1; all 0 where they are equal."""
    # halved where their difference would overflow
    x = x / 2 if float(np.abs(x).max(initial=0.0)) > 1e300 else x
    low, high = float(x.min(initial=math.inf)), float(x.max(initial=-math.inf))
    return (x - low) / (high - low) if high > low else np.zeros_like(x)


def corrected(observed: Floats, expected: Floats) -> Floats:
    """(observed - expected) / (1 - expected), NaN where chance alone would agree always."""
    room = 1 - expected
    value: Floats = np.divide(observed - expected, room, out=np.full_like(room, math.nan), where=room > NOTHING)
    return value


def percent_case(patterns: Patterns) -> Case:
    """Percent agreement of patterns."""
    pairable = patterns.pairable
    if not pairable.n_units:
        return Case(None, Coefficient(None, "no_pairable_units"))
    statistic = PercentStatistic(pair_agreement(pairable), pairable.weights)
    value = float(pairable.weights @ statistic.agreement) / pairable.n_units
    return Case(statistic, Coefficient(value, None, value))


def percent_agreement(patterns: Patterns, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """The mean over units with two ratings of the share of their pairs of ratings that agree."""
    return measured([percent_case(patterns)], confidence, seed)[0]


def cohen_cells(ratings: Ratings) -> tuple[Ints, Ints, Ints] | str:
    """The cells (a, b, units) of two raters' table over the units both rated, or the reason why there is none."""
    placed = placed_cells(ratings)
    return placed if isinstance(placed, str) else placed[:3]


def placed_cells(ratings: Ratings) -> tuple[Ints, Ints, Ints, Ints] | str:
    """`cohen_cells`, and the (N,) cell of every known unit, -1 where not both rated it."""
    if not ratings.n_ratings:
        return "no_pairable_units"
    rating = np.flatnonzero(np.bincount(ratings.raters)).tolist()
    if len(rating) != 2:
        return "not_two_raters"
    rating.sort(key=lambda rater: str(ratings.rater_ids[rater]))
    columns = np.full((2, len(ratings.unit_ids)), -1, dtype=np.int64)
    for place, rater in enumerate(rating):
        own = ratings.raters == rater
        columns[place, ratings.units[own]] = ratings.values[own]
    both = (columns >= 0).all(axis=0)
    if not both.any():
        return "no_pairable_units"
    width = len(ratings.codebook)
    cells, cell, units = np.unique(columns[0, both] * width + columns[1, both], return_inverse=True, return_counts=True)
    index = np.full(len(ratings.unit_ids), -1, dtype=np.int64)
    index[both] = cell
    a, b = np.divmod(cells, width)
    # neither who comes first nor how values are called may change what is drawn of the cells
    drawn = in_own_order(
        Patterns(
            np.repeat(np.arange(len(cells)), 2),
            np.column_stack([a, width + b]).ravel(),
            np.ones(2 * len(cells), dtype=np.int64),
            np.full(len(cells), 2),
            units,
            2 * width,
            index,
        )
    )
    return drawn.col[::2], drawn.col[1::2] - width, drawn.weights, drawn.index


def cohen_statistic(ratings: Ratings, *, pooled: bool = False) -> CohenStatistic | str:
    """The statistic behind `cohen_kappa` (pooled: `scott_pi`), or the reason why there is none."""
    cells = cohen_cells(ratings)
    return cells if isinstance(cells, str) else CohenStatistic(*cells, len(ratings.codebook), pooled=pooled)


def weighted_statistic(ratings: Ratings, weights: str) -> CohenStatistic | str:
    """The statistic behind `weighted_kappa`, or the reason why there is none."""
    if weights not in POWERS:
        raise ValueError(f"weights must be linear or quadratic, not {weights!r}")
    ordered = on_a_line(ratings)
    cells = cohen_cells(ratings if ordered is None else ordered[0])
    if isinstance(cells, str):
        return cells
    if ordered is None:
        return "wrong_level"
    places = ordered[1]
    return CohenStatistic(*cells, len(places), places, POWERS[weights])


def on_a_line(ratings: Ratings) -> tuple[Ratings, Floats] | None:
    """The ratings with codes in order and the (V,) places of their categories on a line; None where there is no order.

    The numbers that the categories stand for, else their places in the declared order.
    """
    ordered = ratings.as_numbers() or ratings.in_order()
    if ordered is None:
        return None
    numbers = ordered.codebook.line
    if np.isnan(numbers[ordered.value_counts > 0]).any():
        return ordered, np.arange(len(numbers), dtype=np.float64)
    return ordered, np.where(np.isnan(numbers), 0.0, numbers)


class ChanceCorrected(Statistic, Protocol):
    """A statistic with its two parts."""

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement."""


def chance_case(statistic: ChanceCorrected | str, note: str | None = None) -> Case:
    """The coefficient of a statistic, with a note beside it, or of the reason why there is none."""
    if isinstance(statistic, str):
        return Case(None, Coefficient(None, statistic))
    observed, expected = (float(part[0]) for part in statistic.parts(statistic.weights[None, :].astype(np.float64)))
    if 1 - expected <= NOTHING:
        return Case(None, Coefficient(None, "no_variation", observed, expected))
    return Case(statistic, Coefficient((observed - expected) / (1 - expected), note, observed, expected))


def cohen_kappa(data: Ratings | Any, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Cohen's kappa (1960) of exactly two raters, over the units both rated.

    data : a `Ratings`, or a units x raters table as `Ratings.from_wide` takes it.
    Reasons: not_two_raters, no_pairable_units, no_variation.

    >>> cohen_kappa(Ratings.from_wide([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]])).value
    0.5
    """
    return measured([chance_case(cohen_statistic(as_ratings(data)))], confidence, seed)[0]


def scott_pi(data: Ratings | Any, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Scott's pi (1955) of exactly two raters, over the units both rated; data and reasons as of `cohen_kappa`."""
    return measured([chance_case(cohen_statistic(as_ratings(data), pooled=True))], confidence, seed)[0]


def weighted_kappa(
    data: Ratings | Any, weights: str = "quadratic", confidence: float | None = None, seed: int = SEED
) -> Coefficient:
    """Weighted kappa (Cohen 1968) of exactly two raters: agreement falls with |x - y| (linear) or its square
    (quadratic).

    x and y are the numbers that the categories stand for, or their places in the declared order where they are not
    numbers; with neither, the reason is wrong_level. `data` as of `cohen_kappa`.
    """
    return measured([chance_case(weighted_statistic(as_ratings(data), weights))], confidence, seed)[0]
