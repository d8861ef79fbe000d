"""Is one agreement higher than another? A paired difference over the same units, with its interval and p.

Both sides are computed from the same resamples of the units, so that what makes a unit hard counts on both sides alike:
two intervals that overlap decide nothing. For a guideline before and after its revision, with a rater and without, or
two coefficients of one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from connector.agreement.alpha import alpha_case, level_and_distance, prepare
from connector.agreement.gwet import (
    Scale,
    chance_family_case,
    conger_case,
    conger_statistic,
    count_categories,
    declared_line,
    quadratic_scale,
)
from connector.agreement.intervals import (
    JACKKNIFE_UNDER,
    MOST_CELLS,
    NO_SPREAD,
    REPLICATES,
    SEED,
    Case,
    Coefficient,
    Statistic,
    resample,
)
from connector.agreement.kappa import (
    chance_case,
    cohen_statistic,
    on_a_line,
    percent_case,
    placed_cells,
    weighted_statistic,
)
from connector.agreement.patterns import DENSE, fold
from connector.agreement.quantiles import student_cdf, student_quantile
from connector.agreement.ratings import Floats, Ints, Ratings, as_ratings
from connector.agreement.whole_tasks import WholeTasks, task_codes, units_by_task

ALPHA = "krippendorff_alpha"
COMPARABLE = (
    *(ALPHA, "percent_agreement", "cohen_kappa", "scott_pi", "weighted_kappa", "weighted_kappa_linear"),
    *("fleiss_kappa", "conger_kappa", "brennan_prediger", "gwet_ac1", "gwet_ac2"),
)
"""Coefficients of which differences are known."""


@dataclass(frozen=True, slots=True)
class Difference:
    """b's coefficient less a's, both over the units that have two ratings on either side.

    value : of the difference, None with a `reason` where a side is undefined: no_common_units where no unit has two
        ratings on both sides, no_pairable_units where none has on one of them. a, b : the two coefficients.
    low, high : interval of the difference. p : two-sided, of the difference being 0; both None under two units or where
        no resample differs from another.
    n_units : units with a rating on one side at least; n_common : those with two on both, over which both coefficients
        are taken and which are what is resampled. n_left_out : the others.
    method : "bootstrap" (percentile), or with Student's t "jackknife" (under 100 units) or "infinitesimal_jackknife"
        (so many distinct units that the two agree).
    """

    value: float | None
    a: float | None
    b: float | None
    n_units: int
    n_common: int
    low: float | None = None
    high: float | None = None
    p: float | None = None
    reason: str | None = None
    confidence: float = 0.95
    method: str | None = None
    seed: int | None = None

    @property
    def n_left_out(self) -> int:
        """Units with a rating, of which not both sides hold two."""
        return self.n_units - self.n_common

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in (*self.__slots__, "n_left_out")}


@dataclass(frozen=True, slots=True)
class Compared:
    """A difference and what its two sides are.

    a_name, b_name : for the reader. a_coefficient, b_coefficient : by name.
    """

    a_name: str
    b_name: str
    a_coefficient: str
    b_coefficient: str
    difference: Difference

    def to_json(self) -> dict[str, Any]:
        """Plain data: the difference, and its sides by name."""
        names = ("a_name", "b_name", "a_coefficient", "b_coefficient")
        return self.difference.to_json() | {name: getattr(self, name) for name in names}


def paired_difference(
    a: Ratings | Any,
    b: Ratings | Any,
    level: str = "nominal",
    *,
    distance: str | None = None,
    coefficient: str = ALPHA,
    other: str | None = None,
    confidence: float = 0.95,
    seed: int = SEED,
    task_of: Mapping[Any, Any] | None = None,
) -> Difference:
    """How much higher the agreement of `b` is than that of `a`, both about the same units.

    Parameters
    ----------
    a, b : `Ratings`, or units x raters arrays. Units are matched by id (of an array: by row). Only those with two
        ratings on both sides count: else the difference would be that of easy and hard units.
    level, distance : as of `krippendorff_alpha`.
    coefficient : krippendorff_alpha, percent_agreement, cohen_kappa, scott_pi, weighted_kappa (quadratic),
        weighted_kappa_linear, fleiss_kappa, conger_kappa, brennan_prediger, gwet_ac1 or gwet_ac2.
    other : the coefficient of b where it is another one; `paired_difference(x, x, other="fleiss_kappa")` compares two
        coefficients of one table.
    task_of : unit -> task, where several units belong to one; tasks are then redrawn with all that belongs to them.

    Bootstrap of the units' pairs of patterns (2,000 replicates; p is twice the smaller share of differences beyond 0,
    never 0), or with Student's t the jackknife under 100 units and its infinitesimal form where over 1,500 pairs of
    patterns are met. Raises ValueError for an unknown name, InvalidRatings
    for data that cannot be read.

    >>> before = [["x", "y"], ["x", "y"], ["y", "y"], ["x", "x"], ["x", "y"], ["y", "x"]]
    >>> after = [["x", "x"], ["x", "y"], ["y", "y"], ["x", "x"], ["y", "y"], ["x", "x"]]
    >>> found = paired_difference(before, after)
    >>> round(found.a, 2), round(found.b, 2), round(found.value, 2), round(found.p, 1)
    (-0.22, 0.69, 0.91, 0.1)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    names = (coefficient, other or coefficient)
    for name in names:
        if name not in COMPARABLE:
            raise ValueError(f"no paired difference is known of {name!r}: one of {', '.join(COMPARABLE)}")
    given = [as_ratings(one) for one in (a, b)]
    n_units = len({unit for one in given for unit in _rated(one, 1)})
    paired = [_rated(one, 2) for one in given]
    in_both = set(paired[1])
    common = [unit for unit in paired[0] if unit in in_both]
    if not common:
        none = "no_common_units" if all(paired) else "no_pairable_units"
        return Difference(None, None, None, n_units, 0, reason=none, confidence=confidence)
    sides = [_side(one.restrict(common), level, distance, name) for one, name in zip(given, names, strict=True)]
    of_a, of_b = (side.case.found for side in sides)
    if of_a.value is None or of_b.value is None:
        reason = of_a.reason if of_a.value is None else of_b.reason
        return Difference(None, of_a.value, of_b.value, n_units, len(common), reason=reason, confidence=confidence)
    found = Difference(of_b.value - of_a.value, of_a.value, of_b.value, n_units, len(common), confidence=confidence)
    if found.n_common < 2:
        return found
    if task_of is not None:
        return _by_task(found, sides, task_codes(task_of, common), seed)
    pairs, weights = _pairs(sides)
    if found.n_common < JACKKNIFE_UNDER:
        return _by_jackknife(found, _difference_of(sides, pairs), weights)
    error = _linear_error(sides, pairs, weights) if len(weights) > MOST_CELLS else None
    if error is not None:
        return _by_student(found, error, found.n_common, "infinitesimal_jackknife")
    return _by_bootstrap(found, _difference_of(sides, pairs), weights, seed)


@dataclass(frozen=True, eq=False)
class _Side:
    """A coefficient before its interval, and the (N,) pattern of its statistic that every common unit shows."""

    case: Case
    index: Ints


def _side(ratings: Ratings, level: str, distance: str | None, coefficient: str) -> _Side:
    of_level, name = level_and_distance(level, distance)
    prepared = prepare(ratings, of_level, name)
    patterns = prepared.patterns
    scale = Scale(count_categories(ratings.codebook, ratings.value_counts))
    match coefficient:
        case "krippendorff_alpha":
            return _Side(alpha_case(prepared, name), patterns.index)
        case "percent_agreement":
            return _Side(percent_case(patterns), patterns.index)
        case "fleiss_kappa":
            return _Side(chance_family_case(patterns, "fleiss", scale), patterns.index)
        case "brennan_prediger":
            return _Side(chance_family_case(patterns, "brennan_prediger", scale), patterns.index)
        case "gwet_ac1":
            return _Side(chance_family_case(patterns, "gwet", scale), patterns.index)
        case "gwet_ac2":
            return _ac2_side(ratings)
        case "conger_kappa":
            statistic = conger_statistic(prepared.ratings)
            index = _nowhere(ratings) if isinstance(statistic, str) else statistic.patterns.index
            return _Side(conger_case(prepared.ratings), index)
        case "cohen_kappa" | "scott_pi":
            fitted = prepared.ratings
            return _Side(chance_case(cohen_statistic(fitted, pooled=coefficient == "scott_pi")), _cells(fitted))
        case _:
            weights = "linear" if coefficient == "weighted_kappa_linear" else "quadratic"
            placed = on_a_line(ratings)
            return _Side(chance_case(weighted_statistic(ratings, weights)), _cells(placed[0] if placed else ratings))


def _ac2_side(ratings: Ratings) -> _Side:
    placed = declared_line(ratings)
    if placed is None:
        undefined = Coefficient(None, "wrong_level" if ratings.n_ratings else "no_pairable_units")
        return _Side(Case(None, undefined), _nowhere(ratings))
    patterns = fold(placed[0])
    return _Side(chance_family_case(patterns, "gwet", quadratic_scale(*placed), weighted=True), patterns.index)


def _cells(ratings: Ratings) -> Ints:
    """(N,) cell of two raters' table that every unit lies in."""
    cells = placed_cells(ratings)
    return _nowhere(ratings) if isinstance(cells, str) else cells[3]


def _nowhere(ratings: Ratings) -> Ints:
    """(N,) for a coefficient without a value."""
    return np.full(len(ratings.unit_ids), -1, dtype=np.int64)


def _rated(ratings: Ratings, times: int) -> list[Any]:
    """The ids of the units with so many ratings."""
    return [ratings.unit_ids[code] for code in np.flatnonzero(ratings.per_unit >= times).tolist()]


def _pairs(sides: list[_Side]) -> tuple[list[Ints], Ints]:
    """The distinct pairs (pattern in a, pattern in b) of the common units, and how many show each."""
    first, second = (side.index for side in sides)
    width = int(second.max()) + 1
    kinds, weights = np.unique(first * width + second, return_counts=True)
    return list(np.divmod(kinds, width)), weights


def _difference_of(sides: list[_Side], pairs: list[Ints]) -> Callable[[Floats], Floats]:
    """The difference as a function of (B, J) weights of the pairs of patterns."""

    def side(statistic: Statistic, pattern: Ints, weights: Floats) -> Floats:
        g = len(statistic.weights)
        if len(pattern) * g <= DENSE:
            indicator = np.zeros((len(pattern), g))
            indicator[np.arange(len(pattern)), pattern] = 1
            return statistic.evaluate(weights @ indicator)
        of_pattern = [np.bincount(pattern, row, g) for row in weights]
        return statistic.evaluate(np.array(of_pattern))

    def evaluate(weights: Floats) -> Floats:
        first, second = (one.case.statistic for one in sides)
        assert first is not None
        assert second is not None
        # a resample may hold one category alone
        with np.errstate(invalid="ignore", divide="ignore"):
            return side(second, pairs[1], weights) - side(first, pairs[0], weights)

    return evaluate


def _by_task(found: Difference, sides: list[_Side], task: Ints, seed: int) -> Difference:
    """The difference with its interval over whole tasks; `task` of each common unit."""
    first, second = (_over_tasks(side, task) for side in sides)
    weights = first.weights

    def evaluate(drawn: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return second.evaluate(drawn) - first.evaluate(drawn)

    if len(weights) < 2:
        return found
    if len(weights) < JACKKNIFE_UNDER:
        return _by_jackknife(found, evaluate, weights)
    return _by_bootstrap(found, evaluate, weights, seed)


def _over_tasks(side: _Side, task: Ints) -> WholeTasks:
    statistic = side.case.statistic
    assert statistic is not None
    return WholeTasks(statistic, units_by_task(task, side.index, len(statistic.weights)))


def _by_bootstrap(found: Difference, evaluate: Callable[[Floats], Floats], weights: Ints, seed: int) -> Difference:
    random = np.random.Generator(np.random.PCG64(seed))
    step = max(1, DENSE // (4 * len(weights)))
    drawn = np.concatenate(
        [evaluate(resample(random, weights, min(step, REPLICATES - done))) for done in range(0, REPLICATES, step)]
    )
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn) or float(np.ptp(drawn)) == 0:
        return found
    tail = (1 - found.confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    beyond = min(int(np.count_nonzero(drawn <= 0)), int(np.count_nonzero(drawn >= 0)))
    p = min(1.0, 2 * (beyond + 1) / (len(drawn) + 1))
    return replace(found, low=float(low), high=float(high), p=p, method="bootstrap", seed=seed)


def _by_jackknife(found: Difference, evaluate: Callable[[Floats], Floats], weights: Ints) -> Difference:
    without = np.tile(weights.astype(np.float64), (len(weights), 1)) - np.eye(len(weights))
    values = evaluate(without)
    n = int(weights.sum())
    if np.isnan(values).any() or found.value is None:
        return found
    mean = float(values @ weights) / n
    return _by_student(found, math.sqrt((n - 1) / n * float(((values - mean) ** 2) @ weights)), n, "jackknife")


def _linear_error(sides: list[_Side], pairs: list[Ints], weights: Ints) -> float | None:
    """Standard error of the difference to first order, from what each unit adds to either side; None if not known."""
    moved = np.zeros(len(weights))
    for sign, side, pattern in zip((-1.0, 1.0), sides, pairs, strict=True):
        influence = side.case.statistic.influence() if side.case.statistic else None
        if influence is None or side.case.statistic is None:
            return None
        moved += sign * influence[pattern] / float(side.case.statistic.weights.sum())
    n = float(weights.sum())
    return math.sqrt(float(moved * moved @ weights) * n / (n - 1))


def _by_student(found: Difference, error: float, n: int, method: str) -> Difference:
    if error <= NO_SPREAD or found.value is None:
        return found
    reach = student_quantile(0.5 + found.confidence / 2, n - 1) * error
    p = 2 * student_cdf(-abs(found.value) / error, n - 1)
    return replace(found, low=found.value - reach, high=found.value + reach, p=p, method=method)
