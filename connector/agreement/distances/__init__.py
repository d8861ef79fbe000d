"""Distances between two values: d2 of Krippendorff's formulas.

nominal, ordinal, interval, ratio : Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.

The others compare whole answers, each an object of its own (`base.Comparison`) by its name in `COMPARISONS`: masi and
jaccard of sets, kendall and kendall_by_task of rankings, edit of texts, and what `register` adds.
"""

from __future__ import annotations

import numpy as np

from connector.agreement.distances.base import MOST_VALUES, SAMPLED_PAIRS, Alpha, Comparison
from connector.agreement.distances.rankings import KENDALL, KENDALL_BY_TASK
from connector.agreement.distances.sets import JACCARD, MASI
from connector.agreement.distances.texts import EDIT
from connector.agreement.ratings import Floats

__all__ = [
    "COMPARISONS",
    "LEVEL_DISTANCES",
    "MOST_VALUES",
    "SAMPLED_PAIRS",
    "Alpha",
    "Comparison",
    "ratio_d2",
    "register",
]

LEVEL_DISTANCES = ("nominal", "ordinal", "interval", "ratio")
"""Distances that belong to a level of measurement."""
COMPARISONS: dict[str, Comparison] = {one.name: one for one in (MASI, JACCARD, KENDALL, KENDALL_BY_TASK, EDIT)}
"""Distances between whole answers by name."""


def register(comparison: Comparison) -> Comparison:
    """Makes a distance known by its name; the same one may come again.

    Raises ValueError for a name that another distance has.
    """
    known = COMPARISONS.get(comparison.name)
    if comparison.name in LEVEL_DISTANCES or (known is not None and known is not comparison):
        raise ValueError(f"there is a distance {comparison.name!r} already")
    COMPARISONS[comparison.name] = comparison
    return comparison


def ratio_d2(x: Floats, y: Floats) -> Floats:
    """((x - y) / (x + y))^2, and 0 for two zeros. Values must not be negative."""
    with np.errstate(over="ignore"):
        total = x + y
    # x and y are halved first where their sum would overflow
    huge = ~np.isfinite(total)
    total = np.where(huge, x / 2 + y / 2, total)
    difference = np.where(huge, x / 2 - y / 2, x - y)
    quotient: Floats = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
    return quotient * quotient
