"""Quantiles of Student's t and of F, imported from SciPy when the first one is asked for."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

MANY = 5_000
"""Degrees of freedom above which the expansion around the normal is exact to rounding: SciPy's import is spared."""


def student_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with `df` degrees of freedom.

    >>> round(student_cdf(2.228139, 10), 6)
    0.975
    """
    from scipy.special import stdtr

    return float(stdtr(df, t))


@lru_cache(maxsize=1_024)
def student_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, 0 < p < 1.

    >>> round(student_quantile(0.975, 10), 4)
    2.2281
    """
    if df > MANY:
        return _expanded(NormalDist().inv_cdf(p), df)
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def _expanded(z: float, df: float) -> float:
    """Student's quantile from the normal one (Abramowitz and Stegun 1964, 26.7.5)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / df**power for power, term in enumerate(terms, start=1))


def f_quantile(p: float, above: float, below: float) -> float:
    """The f with P(F <= f) = p, 0 < p < 1, for F with `above` and `below` degrees of freedom (not only whole ones).

    >>> round(f_quantile(0.95, 5, 15), 2)
    2.9
    """
    from scipy.special import fdtri

    return float(fdtri(above, below, p))
