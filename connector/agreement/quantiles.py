"""Quantiles of Student's t and of F, imported from SciPy when the first one is asked for."""

from __future__ import annotations

from functools import lru_cache


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
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def f_quantile(p: float, above: float, below: float) -> float:
    """The f with P(F <= f) = p, 0 < p < 1, for F with `above` and `below` degrees of freedom (not only whole ones).

    >>> round(f_quantile(0.95, 5, 15), 2)
    2.9
    """
    from scipy.special import fdtri

    return float(fdtri(above, below, p))
