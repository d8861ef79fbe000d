"""How many units are needed, from the patterns observed so far or, before there are any, from a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from connector.agreement.alpha import alpha_case, level_and_distance, prepare
from connector.agreement.intervals import MOST_CELLS, SEED, Statistic, bootstrap, replicates_for
from connector.agreement.ratings import Ratings, as_ratings

HALF_WIDTH = 0.05
SIGNIFICANCE = 0.05
MOST_UNITS = 10_000_000
RAREST = 1e-6
"""Share under which a category is none that anyone plans for."""
ROUNDS = 6
CLOSE = 0.05
"""Share of the units by which a further round must move them to be worth it: replicates say no more."""


@dataclass(frozen=True, slots=True)
class Power:
    """Units like those observed that would give alpha an interval of +- `half_width`.

    units : about how many, None where nobody disagreed or where it would take over ten million.
    """

    half_width: float
    confidence: float
    units: int | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"half_width": self.half_width, "confidence": self.confidence, "units": self.units}


def units_for_half_width(
    data: Ratings | Any,
    half_width: float,
    level: str = "nominal",
    *,
    distance: str | None = None,
    confidence: float = 0.95,
    seed: int = SEED,
) -> int | None:
    """About how many units like those observed would give alpha an interval of +- `half_width`.

    The observed patterns are resampled at other sizes until the percentile interval is that narrow. None where alpha is
    undefined, where nobody disagreed or where it would take over ten million. To two digits, upwards.

    >>> units_for_half_width([["a", "a"], ["b", "b"], ["a", "b"], ["b", "b"], ["a", "a"]] * 20, 0.05)
    940
    """
    check_half_width(half_width)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    of_level, name = level_and_distance(level, distance)
    ratings = as_ratings(data)
    statistic = alpha_case(prepare(ratings, of_level, name), name).statistic
    return None if statistic is None else units_of(statistic, half_width, confidence, seed)


def units_of(statistic: Statistic, half_width: float, confidence: float, seed: int = SEED) -> int | None:
    """As `units_for_half_width`, of any statistic."""
    units = int(statistic.weights.sum())
    influence = statistic.influence()
    if influence is not None:
        # resamples of many units spread as the influence of a unit does: where to begin, and where patterns are too
        # many to resample also the end
        spread = math.sqrt(float(influence * influence @ statistic.weights) / units)
        wanted = (NormalDist().inv_cdf(0.5 + confidence / 2) * spread / half_width) ** 2
        if not 0 < wanted <= MOST_UNITS:
            return None
        units = max(2, math.ceil(wanted))
        if statistic.cells > MOST_CELLS:
            return round_up(units)
    for _ in range(ROUNDS):
        found = _half_width(statistic, units, confidence, seed)
        if not found:
            return None
        # half-widths shrink with the root of the number of units, close to the size asked for almost exactly
        wanted = units * (found / half_width) ** 2
        if wanted > MOST_UNITS:
            return None
        before, units = units, max(2, math.ceil(wanted))
        if abs(units - before) <= CLOSE * before:
            break
    return round_up(units)


def _half_width(statistic: Statistic, units: int, confidence: float, seed: int) -> float | None:
    values = bootstrap(statistic, replicates_for(statistic), seed, units)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(high - low) / 2


def bloch_kraemer_units(smallest_alpha: float, rarest_share: float, significance: float = SIGNIFICANCE) -> int:
    """Units to plan for before there are data, so that agreement under `smallest_alpha` is recognised as such.

    N = c z^2 [(1 + a)(3 - a) / (4 (1 - a) p (1 - p)) - a], after Bloch and Kraemer (1989), Biometrics 45, 269-287, with
    c = 2 and p the rarest category's share, as Krippendorff (2004, Content Analysis, 2nd ed., table 11.2) tabulates it.
    `significance` is one-sided. Where data exist, `units_for_half_width` knows better. Raises ValueError for what is
    out of range, and where it would take over ten million units.

    >>> bloch_kraemer_units(0.8, 0.25), bloch_kraemer_units(0.667, 0.25)
    (139, 81)
    """
    a, p = smallest_alpha, rarest_share
    if not -1 < a < 1:
        raise ValueError(f"smallest_alpha must lie between -1 and 1, not {a}")
    if not RAREST <= p <= 0.5:
        raise ValueError(f"rarest_share must lie between {RAREST:.6f} and .5, not {p:g}")
    if not 0 < significance < 0.5:
        raise ValueError(f"significance must lie between 0 and .5, not {significance}")
    z = -NormalDist().inv_cdf(significance)
    needed = 2 * z * z * ((1 + a) * (3 - a) / (4 * (1 - a) * p * (1 - p)) - a)
    if needed > MOST_UNITS:
        raise ValueError(f"it would take over {MOST_UNITS:,} units")
    return max(2, math.ceil(needed))


def check_half_width(half_width: float) -> None:
    """Raises ValueError for one that no interval can have."""
    if not 0 < half_width < math.inf:
        raise ValueError(f"half_width must be a positive number, not {half_width}")


def round_up(number: int) -> int:
    """To two digits, upwards: more would feign precision."""
    unit = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // unit) * unit
