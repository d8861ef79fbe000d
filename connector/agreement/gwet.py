"""Agreement of many raters corrected for chance, in Gwet's generalisation to ragged data.

Observed agreement is the mean over units with two ratings of the share of their pairs that agree; the shares pi_k of
the categories are means over all units with a rating, single ones included (Gwet 2014, Handbook of Inter-Rater
Reliability, 4th ed., ch. 2 to 4). With m categories, declared ones included, chance agreement is

    Fleiss (1971)               sum pi_k^2
    Brennan and Prediger (1981) 1 / m, which is PABAK (Byrt, Bishop and Carlin 1993)
    Gwet's AC1 (2008)           sum pi_k (1 - pi_k) / (m - 1)
    Conger (1980)               the mean over pairs of raters of Cohen's, from each rater's own shares

Under quadratic weights, w_kl = 1 - (x_k - x_l)^2 / (largest - smallest)^2, which make AC1 Gwet's AC2, all are closed
forms of sums and of sums of squares. Where units have unequal numbers of ratings (Conger: where a rater left one out)
the value carries the reason `ragged`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from connector.agreement.intervals import SEED, Case, Coefficient, measured
from connector.agreement.kappa import NOTHING, chance_case, corrected, on_a_line, pair_agreement, stretched
from connector.agreement.patterns import Patterns, Skew, fold, tally
from connector.agreement.ratings import Codebook, Floats, Ints, Ratings, as_ratings

Chance = Literal["fleiss", "brennan_prediger", "gwet"]


@dataclass(frozen=True, eq=False)
class ChanceStatistic:
    """Fleiss' kappa, Brennan-Prediger, AC1 or AC2 as a function of pattern weights.

    chance : how chance agreement is had from the shares.
    m : number of categories, declared else seen.
    places : (V,) places of the values, 0 to 1 from the smallest category to the largest, for quadratic weights; None
        for agreement by equality alone.
    similarity : sum over all m x m pairs of categories of w_kl.
    """

    patterns: Patterns
    chance: Chance
    m: int
    places: Floats | None = None
    similarity: float = 0.0

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

    @property
    def skew(self) -> Skew:
        """How far one value outweighs the others."""
        return self.patterns.skew

    @cached_property
    def agreement(self) -> Floats:
        """(G,) mean agreement of the pairs of ratings, 0 where there is none."""
        if self.places is None:
            return pair_agreement(self.patterns)
        size = self.patterns.size.astype(np.float64)
        # 2 (m Q - T^2) sums the squared distances of all ordered pairs
        apart = 2 * size * size * (self._second - self._first * self._first)
        pairs = size * (size - 1)
        distance: Floats = np.divide(apart, pairs, out=np.ones_like(size), where=pairs > 0)
        return 1 - distance

    @cached_property
    def _share(self) -> Floats:
        """(K,) share of a pattern's ratings that each entry holds."""
        share: Floats = self.patterns.n / self.patterns.size[self.patterns.row]
        return share

    @cached_property
    def _first(self) -> Floats:
        """(G,) mean place of a pattern's ratings."""
        assert self.places is not None
        return tally(self.patterns.row, self._share * self.places[self.patterns.col], self.patterns.n_patterns)

    @cached_property
    def _second(self) -> Floats:
        """(G,) mean square of the places of a pattern's ratings."""
        assert self.places is not None
        squares = self.places * self.places
        return tally(self.patterns.row, self._share * squares[self.patterns.col], self.patterns.n_patterns)

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement."""
        return self.observed(weights), self._expected(weights)

    def observed(self, weights: Floats) -> Floats:
        """(B,) observed agreement, NaN where no unit has two ratings."""
        paired = (self.patterns.size >= 2).astype(np.float64)
        pairable = weights @ paired
        observed: Floats = np.divide(
            weights @ (self.agreement * paired), pairable, out=np.full(len(weights), math.nan), where=pairable > 0
        )
        return observed

    def _expected(self, weights: Floats) -> Floats:
        if self.chance == "brennan_prediger":
            return np.full(len(weights), self.similarity / self.m**2)
        n = weights.sum(axis=1)
        if self.chance == "fleiss" and self.places is not None:
            first, second = weights @ self._first / n, weights @ self._second / n
            by_distance: Floats = 1 - 2 * (second - first * first)
            return by_distance
        shares = self.patterns.sums(weights, self._share) / n[:, None]
        same: Floats = np.einsum("bv,bv->b", shares, shares)
        return same if self.chance == "fleiss" else self._gwet_scale * (1 - same)

    @property
    def _gwet_scale(self) -> float:
        return self.similarity / (self.m * (self.m - 1))

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        return corrected(*self.parts(weights))

    def influence(self) -> Floats | None:
        """(G,) of one unit more of each pattern."""
        weights = self.weights.astype(np.float64)
        observed, expected = (float(part[0]) for part in self.parts(weights[None, :]))
        if 1 - expected <= NOTHING:
            return None
        value = (observed - expected) / (1 - expected)
        own = paired_often(self.patterns) * (self.agreement - observed) / (1 - expected)
        if self.chance == "brennan_prediger":
            return own
        influence: Floats = own - 2 * (1 - value) * (self._by_chance() - expected) / (1 - expected)
        return influence

    def linearised(self) -> Floats | None:
        """(G,) as Gwet publishes it: a unit with a single rating counts as one without any agreement."""
        return _with_singles(self)

    def _by_chance(self) -> Floats:
        """(G,) agreement of a pattern's ratings with draws from the shares."""
        n = float(self.weights.sum())
        if self.chance == "fleiss" and self.places is not None:
            first, second = (float(self.weights @ moment) / n for moment in (self._first, self._second))
            return 1 - (self._second - 2 * self._first * first + second)
        shares = tally(self.patterns.col, self.weights[self.patterns.row] * self._share, self.patterns.n_values) / n
        same = tally(self.patterns.row, self._share * shares[self.patterns.col], self.patterns.n_patterns)
        return same if self.chance == "fleiss" else self._gwet_scale * (1 - same)

    def with_conflict(self) -> ChanceStatistic:
        """The same with one conflict between the two commonest values added."""
        return replace(self, patterns=self.patterns.with_conflict())

    def with_agreement(self) -> ChanceStatistic:
        """The same with one agreement on the second commonest value added."""
        return replace(self, patterns=self.patterns.with_agreement())


@dataclass(frozen=True, eq=False)
class CongerStatistic:
    """Conger's kappa as a function of pattern weights.

    patterns : of cells: "value" rater x n_values + value is that rater's rating of that value, n is 1.
    places : (n_values,) as in `ChanceStatistic`.
    """

    patterns: Patterns
    n_raters: int
    n_values: int
    places: Floats | None = None

    @property
    def weights(self) -> Ints:
        """(G,) observed units of each pattern."""
        return self.patterns.weights

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time."""
        return max(self.patterns.n_patterns, self.patterns.n_values)

    @cached_property
    def by_value(self) -> Patterns:
        """The same patterns, whoever gave the ratings."""
        cells, n = np.unique(self.patterns.row * self.n_values + self.patterns.col % self.n_values, return_counts=True)
        row, col = np.divmod(cells, self.n_values)
        return replace(self.patterns, row=row, col=col, n=n, n_values=self.n_values)

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ."""
        return self.by_value.distinct > 1

    @property
    def skew(self) -> Skew:
        """How far one value outweighs the others."""
        return self.by_value.skew

    @cached_property
    def _agreement(self) -> ChanceStatistic:
        """Observed agreement does not ask who gave which rating."""
        return ChanceStatistic(self.by_value, "fleiss", self.n_values, self.places)

    def _shares(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B, R, V) shares of each rater's values, and (B, R) units that each rated."""
        counts = self.patterns.sums(weights, np.ones(len(self.patterns.col)))
        of_rater = counts.reshape(len(weights), self.n_raters, self.n_values)
        rated = of_rater.sum(axis=2)
        shares = np.divide(of_rater, rated[:, :, None], out=np.zeros_like(of_rater), where=rated[:, :, None] > 0)
        return shares, rated

    def parts(self, weights: Floats) -> tuple[Floats, Floats]:
        """(B,) observed and expected agreement."""
        observed = self._agreement.observed(weights)
        shares, rated = self._shares(weights)
        # a rater whom a resample left without a rating is not there in it
        raters = np.count_nonzero(rated, axis=1).astype(np.float64)
        pairs = raters * (raters - 1)
        if self.places is None:
            both = shares.sum(axis=1)
            alike = np.einsum("bv,bv->b", both, both) - np.einsum("brv,brv->b", shares, shares)
        else:
            first, second = shares @ self.places, shares @ (self.places * self.places)
            products = first.sum(axis=1) ** 2 - (first * first).sum(axis=1)
            alike = pairs - 2 * (raters - 1) * second.sum(axis=1) + 2 * products
        expected: Floats = np.divide(alike, pairs, out=np.ones_like(pairs), where=pairs > 0)
        return observed, expected

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient, NaN where undefined."""
        return corrected(*self.parts(weights))

    def influence(self) -> Floats | None:
        """(G,) of one unit more of each pattern."""
        weights = self.weights.astype(np.float64)
        observed, expected = (float(part[0]) for part in self.parts(weights[None, :]))
        if 1 - expected <= NOTHING:
            return None
        value = (observed - expected) / (1 - expected)
        shares, rated = (part[0] for part in self._shares(weights[None, :]))
        r = self.n_raters
        if self.places is None:
            slope = 2 * (shares.sum(axis=0) - shares) / (r * (r - 1))
        else:
            first = shares @ self.places
            others = first.sum() - first
            x = self.places
            slope = (4 * others[:, None] * x - 2 * (r - 1) * x * x) / (r * (r - 1))
        n = float(weights.sum())
        moved = (slope - (shares * slope).sum(axis=1)[:, None]) * (n / rated)[:, None]
        by_chance = tally(self.patterns.row, moved.ravel()[self.patterns.col], self.patterns.n_patterns)
        own = paired_often(self.patterns) * (self._agreement.agreement - observed) / (1 - expected)
        influence: Floats = own - (1 - value) * by_chance / (1 - expected)
        return influence

    def linearised(self) -> Floats | None:
        """(G,) as Gwet publishes it."""
        return _with_singles(self)

    def with_conflict(self) -> CongerStatistic:
        """The same with one conflict between the two commonest values added, between the two busiest raters."""
        common = np.argsort(-self.by_value.marginals, kind="stable")[:2]
        return self._with_unit(int(common[0]), int(common[-1]))

    def with_agreement(self) -> CongerStatistic:
        """The same with one agreement of the two busiest raters on the second commonest value added."""
        second = int(np.argsort(-self.by_value.marginals, kind="stable")[:2][-1])
        return self._with_unit(second, second)

    def _with_unit(self, one: int, other: int) -> CongerStatistic:
        per_rater = self.patterns.marginals.reshape(self.n_raters, self.n_values).sum(axis=1)
        first, second = np.sort(np.argsort(-per_rater, kind="stable")[:2]).tolist()
        new, old = self.patterns.n_patterns, self.patterns
        patterns = replace(
            old,
            row=np.append(old.row, [new, new]),
            col=np.append(old.col, [first * self.n_values + one, second * self.n_values + other]),
            n=np.append(old.n, [1, 1]),
            size=np.append(old.size, 2),
            weights=np.append(old.weights, 1),
        )
        return replace(self, patterns=patterns)


def paired_often(patterns: Patterns) -> Floats:
    """(G,) units with a rating for each with two, for patterns of two ratings or more, 0 for single ratings."""
    paired = patterns.size >= 2
    often: Floats = np.where(paired, patterns.n_units / patterns.weights[paired].sum(), 0.0)
    return often


def _with_singles(statistic: ChanceStatistic | CongerStatistic) -> Floats | None:
    influence = statistic.influence()
    if influence is None:
        return None
    value = float(statistic.evaluate(statistic.weights[None, :].astype(np.float64))[0])
    linearised: Floats = influence + value * (paired_often(statistic.patterns) - 1)
    return linearised


@dataclass(frozen=True, eq=False)
class Scale:
    """What the categories of a question are: how many, and, for quadratic weights, where they lie.

    m : declared categories and those seen beside them.
    places : (V,) 0 to 1 by code, None where there is no order. similarity : sum of all m x m quadratic weights.
    """

    m: int
    places: Floats | None = None
    similarity: float = 0.0


def count_categories(book: Codebook, counts: Ints) -> int:
    """m: the declared categories, and any that were seen beside them."""
    return book.n_declared + int(np.count_nonzero(counts[book.n_declared :]))


def quadratic_scale(ratings: Ratings, places: Floats) -> Scale:
    """The scale of ratings whose categories lie at these places, unused declared ones included."""
    book = ratings.codebook
    there = (np.arange(len(book)) < book.n_declared) | (ratings.value_counts > 0)
    spread = np.zeros(len(book))
    spread[there] = stretched(places[there])
    x, m = spread[there], int(np.count_nonzero(there))
    total = m * m - 2 * (m * float(x @ x) - float(x.sum()) ** 2)
    return Scale(m, spread, total)


def chance_statistic(patterns: Patterns, chance: Chance, scale: Scale, *, weighted: bool) -> ChanceStatistic | str:
    """The statistic of one of the family, or the reason why there is none."""
    if not patterns.pairable.n_units:
        return "no_pairable_units"
    if scale.m < 2:
        return "no_variation"
    if not weighted:
        return ChanceStatistic(patterns, chance, scale.m, None, float(scale.m))
    if scale.places is None:
        return "wrong_level"
    return ChanceStatistic(patterns, chance, scale.m, scale.places, scale.similarity)


def ragged(patterns: Patterns) -> str | None:
    """The reason beside a number where units have unequal numbers of ratings."""
    return "ragged" if len(np.unique(patterns.size)) > 1 else None


def chance_family_case(patterns: Patterns, chance: Chance, scale: Scale, *, weighted: bool = False) -> Case:
    """One of the family."""
    return chance_case(chance_statistic(patterns, chance, scale, weighted=weighted), ragged(patterns))


def conger_statistic(ratings: Ratings, places: Floats | None = None) -> CongerStatistic | str:
    """The statistic behind `conger_kappa`, or the reason why there is none."""
    if not ratings.n_ratings or int(ratings.per_unit.max()) < 2:
        return "no_pairable_units"
    raters = np.flatnonzero(np.bincount(ratings.raters))
    # the order of the raters must not depend on the order of the rows
    raters = np.array(sorted(raters.tolist(), key=lambda rater: str(ratings.rater_ids[rater])), dtype=np.int64)
    own = np.zeros(len(ratings.rater_ids), dtype=np.int64)
    own[raters] = np.arange(len(raters))
    used = np.flatnonzero(ratings.value_counts)
    code = np.zeros(len(ratings.codebook), dtype=np.int64)
    code[used] = np.arange(len(used))
    cells = own[ratings.raters] * len(used) + code[ratings.values]
    table = replace(ratings, values=cells, codebook=Codebook(range(len(raters) * len(used))))
    return CongerStatistic(fold(table), len(raters), len(used), None if places is None else places[used])


def conger_case(ratings: Ratings, places: Floats | None = None) -> Case:
    """Conger's kappa; `ragged` where a rater left out a unit that another rated."""
    statistic = conger_statistic(ratings, places)
    if isinstance(statistic, str):
        return chance_case(statistic)
    uneven = bool((statistic.patterns.size != statistic.n_raters).any())
    return chance_case(statistic, "ragged" if uneven else None)


def _on_scale(ratings: Ratings, *, weighted: bool) -> tuple[Ratings, Scale]:
    if not weighted:
        return ratings, Scale(count_categories(ratings.codebook, ratings.value_counts))
    placed = declared_line(ratings)
    if placed is None:
        return ratings, Scale(count_categories(ratings.codebook, ratings.value_counts))
    return placed[0], quadratic_scale(*placed)


def declared_line(ratings: Ratings) -> tuple[Ratings, Floats] | None:
    """As `on_a_line`, but declared categories that nobody used keep their places."""
    declared = ratings.in_order() if ratings.codebook.n_declared else None
    if declared is None or not declared.n_ratings:
        return on_a_line(ratings) if ratings.n_ratings else None
    numbers = declared.codebook.line[: declared.codebook.n_declared]
    if np.isnan(numbers).any():
        return declared, np.arange(len(declared.codebook), dtype=np.float64)
    places = np.zeros(len(declared.codebook))
    places[: len(numbers)] = numbers
    return declared, places


def _family(
    data: Ratings | Any, chance: Chance, weights: str | None, confidence: float | None, seed: int
) -> Coefficient:
    if weights not in (None, "quadratic"):
        raise ValueError(f"weights must be quadratic or None, not {weights!r}")
    fitted, scale = _on_scale(as_ratings(data), weighted=weights is not None)
    case = chance_family_case(fold(fitted), chance, scale, weighted=weights is not None)
    return measured([case], confidence, seed)[0]


def fleiss_kappa(
    data: Ratings | Any, confidence: float | None = None, seed: int = SEED, *, weights: str | None = None
) -> Coefficient:
    """Fleiss' kappa (1971); with unequal numbers of ratings Gwet's generalisation, marked `ragged`.

    data : a `Ratings`, or a units x raters table as `Ratings.from_wide` takes it; so also below.
    weights : None, or "quadratic" for ordered categories.

    >>> found = fleiss_kappa(Ratings.from_wide([["a", "a", "a"], ["a", "a", "a"], ["b", "b", "b"], ["a", "a", "b"]]))
    >>> round(found.value, 4)
    0.625
    """
    return _family(data, "fleiss", weights, confidence, seed)


def brennan_prediger(
    data: Ratings | Any, confidence: float | None = None, seed: int = SEED, *, weights: str | None = None
) -> Coefficient:
    """Brennan and Prediger's kappa (1981), PABAK: (Po - 1/m) / (1 - 1/m), m the declared categories, else those seen.

    Where one category is common it is high even for raters who guess: to be read beside alpha, never to decide by.
    """
    return _family(data, "brennan_prediger", weights, confidence, seed)


def gwet_ac1(data: Ratings | Any, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Gwet's AC1 (2008). Where one category is common it is high even for raters who guess: never to decide by."""
    return _family(data, "gwet", None, confidence, seed)


def gwet_ac2(data: Ratings | Any, confidence: float | None = None, seed: int = SEED) -> Coefficient:
    """Gwet's AC2 (2014) with quadratic weights between the numbers of the categories, or their places in the declared
    order; wrong_level where they have neither."""
    return _family(data, "gwet", "quadratic", confidence, seed)


def conger_kappa(
    data: Ratings | Any, confidence: float | None = None, seed: int = SEED, *, weights: str | None = None
) -> Coefficient:
    """Conger's kappa (1980), which is Cohen's for two raters; `ragged` where a rater left out a unit."""
    if weights not in (None, "quadratic"):
        raise ValueError(f"weights must be quadratic or None, not {weights!r}")
    ratings = as_ratings(data)
    if weights is None:
        return measured([conger_case(ratings)], confidence, seed)[0]
    placed = declared_line(ratings)
    if placed is None:
        return Coefficient(None, "wrong_level" if ratings.n_ratings else "no_pairable_units")
    return measured([conger_case(placed[0], quadratic_scale(*placed).places)], confidence, seed)[0]
