"""Intraclass correlations of complete numeric ratings.

Shrout and Fleiss (1979), Psychological Bulletin 86, 420-428; intervals of McGraw and Wong (1996), Psychological Methods
1, 30-46, from the F distribution. (1): the raters of each unit are any; (2): the same raters rate all units and stand
for others, absolute agreement; (3): these raters alone count, consistency. k: of the mean over all raters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from connector.agreement.intervals import Coefficient, Interval
from connector.agreement.quantiles import f_quantile
from connector.agreement.ratings import Floats, Ratings, as_ratings

NAMES = ("icc_1", "icc_2", "icc_3", "icc_1k", "icc_2k", "icc_3k")
NOTHING = 1e-13
"""Share of all squares under which a sum of squares counts as zero."""


@dataclass(frozen=True, slots=True)
class _Squares:
    """Mean squares of an n units x k raters table: between units, within units, between raters, and the residual."""

    n: int
    k: int
    units: float
    within: float
    raters: float
    residual: float


def intraclass(data: Ratings | Any, confidence: float | None = None) -> dict[str, Coefficient]:
    """All six by name: icc_1, icc_2, icc_3 of single ratings, icc_1k, icc_2k, icc_3k of the mean rating.

    data : a `Ratings`, or a units x raters table as `Ratings.from_wide` takes it. They need every rater's number on
    every rated unit. Reasons: no_pairable_units, wrong_level (not numbers), ragged (a
    rater left out a unit), no_variation: the units' means vary too little for a ratio, either not at all, or, for
    icc_2k, so little beside the residual that the estimated variance of a mean rating is not positive.
    `.interval.method` is "f"; None where the interval has no bounds.

    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> {name: round(icc.value, 2) for name, icc in intraclass(Ratings.from_wide(table)).items()}
    {'icc_1': 0.17, 'icc_2': 0.29, 'icc_3': 0.71, 'icc_1k': 0.44, 'icc_2k': 0.62, 'icc_3k': 0.91}
    """
    if confidence is not None and not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    table = _complete(as_ratings(data))
    squares = table if isinstance(table, str) else _squares(table)
    if isinstance(squares, str):
        return {name: Coefficient(None, squares) for name in NAMES}
    return {name: _coefficient(name, squares, confidence) for name in NAMES}


def _complete(ratings: Ratings) -> Floats | str:
    """The (n, k) table of the rated units, or the reason why there is none."""
    if not ratings.n_ratings or int(ratings.per_unit.max()) < 2:
        return "no_pairable_units"
    numeric = ratings.as_numbers()
    if numeric is None:
        return "wrong_level"
    units, unit = np.unique(numeric.units, return_inverse=True)
    raters, rater = np.unique(numeric.raters, return_inverse=True)
    if len(units) * len(raters) != numeric.n_ratings:
        return "ragged"
    table = np.full((len(units), len(raters)), np.nan)
    table[unit, rater] = numeric.codebook.line[numeric.values]
    return "ragged" if np.isnan(table).any() else table


def _squares(table: Floats) -> _Squares | str:
    n, k = table.shape
    largest = float(np.abs(table).max())
    # scaled and moved to the mean, so that squares neither overflow nor cancel
    table = table / largest if largest > 0 else table
    table = table - table.mean()
    reach = float(np.abs(table).max())
    if n < 2 or reach <= 1e-15:
        return "no_variation"
    table = table / reach
    of_unit, of_rater = table.mean(axis=1), table.mean(axis=0)
    parts = (
        k * float(of_unit @ of_unit),
        float(((table - of_unit[:, None]) ** 2).sum()),
        n * float(of_rater @ of_rater),
        float(((table - of_unit[:, None] - of_rater) ** 2).sum()),
    )
    total = parts[0] + parts[1]
    units, within, raters, residual = (0.0 if part <= NOTHING * total else part for part in parts)
    return _Squares(n, k, units / (n - 1), within / (n * (k - 1)), raters / (k - 1), residual / ((n - 1) * (k - 1)))


def _coefficient(name: str, s: _Squares, confidence: float | None) -> Coefficient:
    numerator = s.units - (s.within if name in ("icc_1", "icc_1k") else s.residual)
    below = {
        "icc_1": s.units + (s.k - 1) * s.within,
        "icc_1k": s.units,
        "icc_2": s.units + (s.k - 1) * s.residual + s.k * (s.raters - s.residual) / s.n,
        "icc_2k": s.units + (s.raters - s.residual) / s.n,
        "icc_3": s.units + (s.k - 1) * s.residual,
        "icc_3k": s.units,
    }[name]
    # what is left of squares that cancel is no denominator, and a negative one (icc_2k) would give a number past 1
    if below <= NOTHING * (s.units + s.within + s.raters + s.residual):
        return Coefficient(None, "no_variation")
    value = numerator / below
    if confidence is None:
        return Coefficient(value)
    bounds = _bounds(name, s, (1 - confidence) / 2)
    if bounds is None or not bounds[0] <= value <= bounds[1]:
        return Coefficient(value)
    return Coefficient(value, interval=Interval(*bounds, confidence, "f", None, None))


def _bounds(name: str, s: _Squares, tail: float) -> tuple[float, float] | None:
    if name in ("icc_2", "icc_2k"):
        return _absolute_bounds(s, tail, average=name == "icc_2k")
    error, df = (s.within, s.n * (s.k - 1)) if name.startswith("icc_1") else (s.residual, (s.n - 1) * (s.k - 1))
    if error == 0 or s.units == 0:
        return None
    ratio = s.units / error
    low = ratio / f_quantile(1 - tail, s.n - 1, df)
    high = ratio * f_quantile(1 - tail, df, s.n - 1)
    if name.endswith("k"):
        return 1 - 1 / low, 1 - 1 / high
    return (low - 1) / (low + s.k - 1), (high - 1) / (high + s.k - 1)


def _absolute_bounds(s: _Squares, tail: float, *, average: bool) -> tuple[float, float] | None:
    """Satterthwaite's degrees of freedom for the mixture of rater and residual squares (McGraw and Wong, table 7)."""
    single = s.units + (s.k - 1) * s.residual + s.k * (s.raters - s.residual) / s.n
    icc = (s.units - s.residual) / single if single > 0 else 1.0
    if icc >= 1 or s.units == 0:
        return None
    a = s.k * icc / (s.n * (1 - icc))
    b = 1 + s.k * icc * (s.n - 1) / (s.n * (1 - icc))
    mixture = a * s.raters + b * s.residual
    spread = (a * s.raters) ** 2 / (s.k - 1) + (b * s.residual) ** 2 / ((s.n - 1) * (s.k - 1))
    if spread <= 0 or mixture <= 0:
        return None
    df = mixture * mixture / spread
    above, below = f_quantile(1 - tail, s.n - 1, df), f_quantile(1 - tail, df, s.n - 1)
    rest = s.k * s.raters + (s.k * s.n - s.k - s.n) * s.residual
    low = s.n * (s.units - above * s.residual) / (above * rest + s.n * s.units)
    high = s.n * (below * s.units - s.residual) / (rest + s.n * below * s.units)
    if not average:
        return low, high
    # Spearman and Brown's step from one rater to k
    steps = [1 + (s.k - 1) * bound for bound in (low, high)]
    if min(steps) <= 0:
        return None
    return s.k * low / steps[0], s.k * high / steps[1]
