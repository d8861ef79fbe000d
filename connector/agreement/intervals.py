"""Coefficients and how sure they are: resampling whole tasks, never pairs and never raters.

A statistic is a function of how many units show each pattern, so a resample of the tasks is a new row of pattern
weights and all replicates are a few matrix products: the cost does not depend on the number of units.

Which method: the percentile bootstrap, and the jackknife on Fisher's z where tasks are few or one category holds nearly
everything, where percentiles cover too little. `tests/bench/bench_coverage.py` measures how often they hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from connector.agreement.patterns import DENSE, Skew
from connector.agreement.quantiles import student_quantile
from connector.agreement.ratings import Floats, Ints

SEED = 20_111
REPLICATES = 2_000
JACKKNIFE_UNDER = 100
"""Tasks, or ratings outside the commonest category, below which the jackknife on Fisher's z serves: the percentile
bootstrap covers too little there."""
MOST_CELLS = 1_500
"""Cells of one replicate above which the infinitesimal jackknife serves where the statistic's slopes are known: so many
patterns come from so many tasks that it and the bootstrap agree, and it costs one pass."""
WORK = 400_000_000
"""Most replicates x cells of one; above it fewer replicates are drawn, and the interval says how many."""
NO_SPREAD = 1e-12
"""A standard error below it is rounding: no resample differs from another."""
FEW_OUTSIDE = 20
"""Ratings outside the commonest category under which an interval is not to be trusted (`low_variation`)."""
FEWEST_REPLICATES = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval with what is needed to draw it again.

    method : "bootstrap" (percentile, over tasks), "jackknife" or "infinitesimal_jackknife" (Jaeckel 1972), both on
        Fisher's z, "gwet" (Gwet's linearised standard error and Student's t), "f" (of an intraclass correlation).
    added_conflict : all disagreement sat in at most one task, so one conflict between the two commonest categories
        was added before resampling: without it the interval would be [1, 1], which no one should believe.
    added_agreement : one category holds nearly everything and no task agreed on another, so one task that agrees on the
        second commonest was added (as Agresti and Coull 1998 do for shares): without it the interval would be a point
        close to 0, which covered a true .7 in 68% of samples at shares 99/1.
    error : the standard error, where the method has one.
    """

    low: float
    high: float
    confidence: float
    method: str
    replicates: int | None
    seed: int | None
    added_conflict: bool = False
    added_agreement: bool = False
    error: float | None = None

    def to_json(self) -> dict[str, Any]:
        """How the interval was made; its ends stand beside the coefficient."""
        return {
            "confidence": self.confidence,
            "method": self.method,
            "replicates": self.replicates,
            "seed": self.seed,
            "added_conflict": self.added_conflict,
            "added_agreement": self.added_agreement,
        }


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient's value, or None with the reason why it has none.

    reason : no_variation, no_pairable_units, not_two_raters, wrong_level, not_comparable; `ragged` stands beside a
        number.
    observed, expected : disagreement for alpha, agreement for the kappas.
    expected_error : standard error of `value` where expected disagreement was estimated from sampled pairs.
    analytic : Gwet's interval, beside the resampled one.
    notes : what in the data looks like a mistake, codes of `ratings.NOTES`.
    """

    value: float | None
    reason: str | None = None
    observed: float | None = None
    expected: float | None = None
    interval: Interval | None = None
    expected_error: float | None = None
    analytic: Interval | None = None
    notes: tuple[str, ...] = ()

    @property
    def low(self) -> float | None:
        """Lower bound of the interval, where there is one."""
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        """Upper bound of the interval, where there is one."""
        return self.interval.high if self.interval else None

    def to_json(self) -> dict[str, Any]:
        """Plain data with the report's names."""
        body: dict[str, Any] = {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "reason": self.reason,
            "observed": self.observed,
            "expected": self.expected,
        }
        if self.expected_error is not None:
            body["expected_error"] = self.expected_error
        if self.analytic is not None:
            body["analytic"] = {
                "low": self.analytic.low,
                "high": self.analytic.high,
                "standard_error": self.analytic.error,
            }
        return body


class Statistic(Protocol):
    """A coefficient as a function of pattern weights."""

    @property
    def weights(self) -> Ints:
        """(G,) observed units of each pattern."""

    @property
    def disagreeing(self) -> NDArray[np.bool_]:
        """(G,) whether the ratings of such a unit differ at all."""

    @property
    def cells(self) -> int:
        """Numbers that one replicate holds at a time: what it costs."""

    def evaluate(self, weights: Floats) -> Floats:
        """(B,) the coefficient for B rows of (B, G) weights, NaN where it is undefined."""

    @property
    def skew(self) -> Skew | None:
        """How far one category outweighs the others; None for a statistic that is not corrected for chance."""

    def influence(self) -> Floats | None:
        """(G,) what one unit more of each pattern adds to the coefficient, times the number of units, at the observed
        weights (its mean over units is 0); None where it is not known."""

    def linearised(self) -> Floats | None:
        """(G,) the same as Gwet publishes it, for his interval."""

    def with_conflict(self) -> Statistic:
        """The statistic of the data with one conflict between the two commonest categories added."""

    def with_agreement(self) -> Statistic:
        """The statistic of the data with one agreement on the second commonest category added."""


class Case(NamedTuple):
    """A coefficient before its interval: its resampling form (None where undefined), and the number or reason."""

    statistic: Statistic | None
    found: Coefficient


def measured(cases: Sequence[Case], confidence: float | None, seed: int = SEED) -> list[Coefficient]:
    """The coefficients with their intervals, the analytic ones beside; resamples are shared where they can be."""
    if confidence is None:
        return [case.found for case in cases]
    defined = [(place, case.statistic, case.found.value) for place, case in enumerate(cases)]
    known = [(place, one, value) for place, one, value in defined if one is not None and value is not None]
    intervals = intervals_of([(one, value) for _, one, value in known], confidence, seed)
    found = [case.found for case in cases]
    for (place, one, value), interval in zip(known, intervals, strict=True):
        analytic = gwet_interval(one.linearised(), one.weights, value, confidence, lowest(one))
        found[place] = replace(found[place], interval=interval, analytic=analytic)
    return found


def value_of(statistic: Statistic) -> float | None:
    """The coefficient of the observed data, None where undefined."""
    if not len(statistic.weights):
        return None
    value = float(statistic.evaluate(statistic.weights[None, :].astype(np.float64))[0])
    return None if math.isnan(value) else value


def interval_of(
    statistic: Statistic, value: float, confidence: float, seed: int = SEED, replicates: int = REPLICATES
) -> Interval | None:
    """The interval of a defined coefficient; None for a single task or where no resample differs from another."""
    return intervals_of([(statistic, value)], confidence, seed, replicates)[0]


def intervals_of(
    cases: Sequence[tuple[Statistic, float]], confidence: float, seed: int = SEED, replicates: int = REPLICATES
) -> list[Interval | None]:
    """The intervals of several coefficients, as `interval_of`; those of the same patterns share their resamples."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    plans = [_plan(statistic, replicates) for statistic, _ in cases]
    together: dict[tuple[int, int | None], list[int]] = {}
    for place, plan in enumerate(plans):
        if plan is not None and plan.method == "bootstrap":
            together.setdefault((id(plan.statistic.weights), plan.drawn), []).append(place)
    values: dict[int, Floats] = {}
    for (_, drawn), places in together.items():
        found = bootstrap_together([_planned(plans[place]).statistic for place in places], drawn or replicates, seed)
        values.update(zip(places, found, strict=True))
    return [
        None if plan is None else _interval(plan, cases[place][1], confidence, seed, values.get(place))
        for place, plan in enumerate(plans)
    ]


class _Plan(NamedTuple):
    """A statistic made ready to be resampled, by which method, and with how many replicates."""

    statistic: Statistic
    method: str
    drawn: int | None
    added_conflict: bool
    added_agreement: bool


def _plan(statistic: Statistic, replicates: int) -> _Plan | None:
    n_units = int(statistic.weights.sum())
    if n_units < 2:
        return None
    skew = statistic.skew
    conflict = int(statistic.weights[statistic.disagreeing].sum()) <= 1
    agreement = skew is not None and not skew.agreeing and skew.outside < min(FEW_OUTSIDE, skew.ratings / 4)
    if conflict:
        statistic = statistic.with_conflict()
    if agreement:
        statistic = statistic.with_agreement()
    if n_units < JACKKNIFE_UNDER or (skew is not None and skew.outside < JACKKNIFE_UNDER):
        return _Plan(statistic, "jackknife", None, conflict, agreement)
    drawn = replicates_for(statistic, replicates)
    if statistic.cells > MOST_CELLS and statistic.influence() is not None:
        return _Plan(statistic, "infinitesimal_jackknife", None, conflict, agreement)
    return _Plan(statistic, "bootstrap", drawn, conflict, agreement)


def _planned(plan: _Plan | None) -> _Plan:
    assert plan is not None
    return plan


def _interval(plan: _Plan, value: float, confidence: float, seed: int, values: Floats | None) -> Interval | None:
    if values is not None:
        bounds, error = _percentile_bounds(values, confidence), None
    else:
        of_error = jackknife_error if plan.method == "jackknife" else influence_error
        error = of_error(plan.statistic)
        bounds = _fisher_bounds(value_of(plan.statistic), error, confidence)
    if bounds is None:
        return None
    # what was added may pull both bounds to one side of the value
    low, high = min(max(bounds[0], lowest(plan.statistic)), value), max(bounds[1], value)
    drawn, used_seed = (None, None) if values is None else (plan.drawn, seed)
    return Interval(
        low, high, confidence, plan.method, drawn, used_seed, plan.added_conflict, plan.added_agreement, error
    )


def lowest(statistic: Statistic) -> float:
    """The least that the coefficient can be: a share is not negative."""
    return 0.0 if statistic.skew is None else -1.0


def gwet_interval(
    linearised: Floats | None, weights: Ints, value: float, confidence: float, least: float = -1.0
) -> Interval | None:
    """Gwet's analytic interval (2014, ch. 5): the variance of the linearised coefficient, with Student's t.

    None for a single unit or where every unit says the same, which leaves nothing to judge by.
    """
    n = int(weights.sum())
    if linearised is None or n < 2:
        return None
    error = math.sqrt(float(linearised * linearised @ weights) / (n * (n - 1.0)))
    if error <= NO_SPREAD:
        return None
    reach = student_quantile(0.5 + confidence / 2, n - 1) * error
    return Interval(max(value - reach, least), min(value + reach, 1.0), confidence, "gwet", None, None, error=error)


def bootstrap(statistic: Statistic, replicates: int, seed: int, n_units: int | None = None) -> Floats:
    """(B,) the coefficient over resamples of the tasks, of `n_units` tasks each if given; NaN where undefined."""
    return bootstrap_together([statistic], replicates, seed, n_units)[0]


def bootstrap_together(
    statistics: Sequence[Statistic], replicates: int, seed: int, n_units: int | None = None
) -> list[Floats]:
    """(B,) each of several coefficients of the same patterns over the same resamples of the tasks."""
    random = np.random.Generator(np.random.PCG64(seed))
    weights = statistics[0].weights
    step = max(1, DENSE // max(statistic.cells for statistic in statistics))
    values: list[list[Floats]] = [[] for _ in statistics]
    for done in range(0, replicates, step):
        drawn = resample(random, weights, min(step, replicates - done), n_units)
        for found, statistic in zip(values, statistics, strict=True):
            found.append(statistic.evaluate(drawn))
    return [np.concatenate(found) for found in values]


def jackknife(statistic: Statistic) -> tuple[Floats, Floats]:
    """Leave-one-task-out values of each pattern (G,), and how many tasks each stands for (G,)."""
    shown = np.flatnonzero(statistic.weights)
    weights = statistic.weights.astype(np.float64)
    values = np.empty(len(shown))
    step = max(1, DENSE // statistic.cells)
    for start in range(0, len(shown), step):
        part = shown[start : start + step]
        without = np.tile(weights, (len(part), 1))
        without[np.arange(len(part)), part] -= 1
        values[start : start + step] = statistic.evaluate(without)
    return values, weights[shown]


def jackknife_error(statistic: Statistic) -> float | None:
    """Standard error by leaving out one task at a time; None where some of those values are undefined."""
    values, times = jackknife(statistic)
    n = float(times.sum())
    if n < 2 or np.isnan(values).any():
        return None
    mean = float(values @ times) / n
    return math.sqrt((n - 1) / n * float(((values - mean) ** 2) @ times))


def influence_error(statistic: Statistic) -> float | None:
    """Standard error by the infinitesimal jackknife: what leaving out a trace of each task changes."""
    influence, n = statistic.influence(), float(statistic.weights.sum())
    if influence is None or n < 2:
        return None
    return math.sqrt(float(influence * influence @ statistic.weights) / (n * (n - 1)))


def resample(random: np.random.Generator, weights: Ints, replicates: int, n_units: int | None = None) -> Floats:
    """(B, G) units of each pattern in B redrawn samples, of as many units as observed unless `n_units` is given."""
    n = int(weights.sum())
    drawn = n if n_units is None else n_units
    if len(weights) * 4 <= drawn:
        return random.multinomial(drawn, weights / n, size=replicates).astype(np.float64)
    pattern_of_unit = np.repeat(np.arange(len(weights)), weights)
    rows = np.empty((replicates, len(weights)))
    for row in rows:
        row[:] = np.bincount(pattern_of_unit[random.integers(0, n, size=drawn)], minlength=len(weights))
    return rows


def replicates_for(statistic: Statistic, replicates: int = REPLICATES) -> int:
    """So many replicates, or as many as are affordable."""
    return min(replicates, max(FEWEST_REPLICATES, WORK // statistic.cells))


def _percentile_bounds(values: Floats, confidence: float) -> tuple[float, float] | None:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    if float(np.ptp(defined)) <= NO_SPREAD:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def _fisher_bounds(value: float | None, error: float | None, confidence: float) -> tuple[float, float] | None:
    """tanh(atanh(value) +- q SE / (1 - value^2)): Fisher's z keeps the bounds within [-1, 1] and their skew."""
    if value is None or error is None or error <= NO_SPREAD or abs(value) >= 1:
        return None
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * error / (1 - value * value)
    centre = math.atanh(value)
    return math.tanh(centre - reach), math.tanh(centre + reach)
