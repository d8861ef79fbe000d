"""Coefficients and how sure they are: resampling whole tasks, never pairs and never raters.

A statistic is a function of how many units show each pattern, so a resample of the tasks is a new row of pattern
weights and all replicates are a few matrix products: the cost does not depend on the number of units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from connector.agreement.patterns import DENSE
from connector.agreement.ratings import Floats, Ints

SEED = 20_111
REPLICATES = 2_000
JACKKNIFE_UNDER = 100
"""Tasks below which the jackknife on Fisher's z serves: the percentile bootstrap covers too little there."""
WORK = 400_000_000
"""Most replicates x cells of one; above it fewer replicates are drawn, and the interval says how many."""
FEWEST_REPLICATES = 200


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval with what is needed to draw it again.

    method : "bootstrap" (percentile, over tasks) or "jackknife" (on Fisher's z).
    added_conflict : all disagreement sat in at most one task, so one conflict between the two commonest categories
        was added before resampling: without it the interval would be [1, 1], which no one should believe.
    """

    low: float
    high: float
    confidence: float
    method: str
    replicates: int | None
    seed: int | None
    added_conflict: bool = False

    def to_json(self) -> dict[str, Any]:
        """How the interval was made; its ends stand beside the coefficient."""
        return {
            "confidence": self.confidence,
            "method": self.method,
            "replicates": self.replicates,
            "seed": self.seed,
            "added_conflict": self.added_conflict,
        }


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient's value, or None with the reason why it has none.

    reason : no_variation, no_pairable_units, not_two_raters, wrong_level, not_comparable; `ragged` stands beside a
        number.
    observed, expected : disagreement for alpha, agreement for the kappas.
    expected_error : standard error of `value` where expected disagreement was estimated from sampled pairs.
    """

    value: float | None
    reason: str | None = None
    observed: float | None = None
    expected: float | None = None
    interval: Interval | None = None
    expected_error: float | None = None

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

    def with_conflict(self) -> Statistic:
        """The statistic of the data with one conflict between the two commonest categories added."""


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
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    if statistic.weights.sum() < 2:
        return None
    added = int(statistic.weights[statistic.disagreeing].sum()) <= 1
    if added:
        statistic = statistic.with_conflict()
    if statistic.weights.sum() < JACKKNIFE_UNDER:
        bounds = _jackknife_bounds(statistic, confidence)
        drawn, method, used_seed = None, "jackknife", None
    else:
        drawn = _affordable(replicates, statistic.cells)
        bounds = _percentile_bounds(bootstrap(statistic, drawn, seed), confidence)
        method, used_seed = "bootstrap", seed
    if bounds is None:
        return None
    # the added conflict may pull both bounds under a value of 1
    low, high = min(bounds[0], value), max(bounds[1], value)
    return Interval(low, high, confidence, method, drawn, used_seed, added)


def bootstrap(statistic: Statistic, replicates: int, seed: int, n_units: int | None = None) -> Floats:
    """(B,) the coefficient over resamples of the tasks, of `n_units` tasks each if given; NaN where undefined."""
    random = np.random.Generator(np.random.PCG64(seed))
    weights = statistic.weights
    step = max(1, DENSE // statistic.cells)
    values = [
        statistic.evaluate(_resample(random, weights, min(step, replicates - done), n_units))
        for done in range(0, replicates, step)
    ]
    return np.concatenate(values)


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


def _resample(random: np.random.Generator, weights: Ints, replicates: int, n_units: int | None) -> Floats:
    n = int(weights.sum())
    drawn = n if n_units is None else n_units
    if len(weights) * 4 <= drawn:
        return random.multinomial(drawn, weights / n, size=replicates).astype(np.float64)
    pattern_of_unit = np.repeat(np.arange(len(weights)), weights)
    rows = np.empty((replicates, len(weights)))
    for row in rows:
        row[:] = np.bincount(pattern_of_unit[random.integers(0, n, size=drawn)], minlength=len(weights))
    return rows


def _affordable(replicates: int, cells: int) -> int:
    return min(replicates, max(FEWEST_REPLICATES, WORK // cells))


def _percentile_bounds(values: Floats, confidence: float) -> tuple[float, float] | None:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)


def _jackknife_bounds(statistic: Statistic, confidence: float) -> tuple[float, float] | None:
    """tanh(atanh(value) +- q SE / (1 - value^2)): Fisher's z keeps the bounds within [-1, 1] and their skew."""
    value, error = value_of(statistic), jackknife_error(statistic)
    if value is None or error is None or error == 0 or abs(value) >= 1:
        return None
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * error / (1 - value * value)
    centre = math.atanh(value)
    return math.tanh(centre - reach), math.tanh(centre + reach)
