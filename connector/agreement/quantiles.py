"""Quantiles of Student's t and of F, from the regularised incomplete beta function.

The continued fraction is evaluated by Lentz's method (Press et al., Numerical Recipes, 3rd ed., 6.4), to about 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = 1e-300


def student_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with `df` degrees of freedom.

    >>> round(student_cdf(2.228139, 10), 6)
    0.975
    """
    tail = 0.5 * incomplete_beta(df / (df + t * t), df / 2, 0.5)
    return 1 - tail if t > 0 else tail


def student_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, 0 < p < 1.

    >>> round(student_quantile(0.975, 10), 4)
    2.2281
    """
    if p < 0.5:
        return -student_quantile(1 - p, df)
    return _solve(lambda t: student_cdf(t, df), p)


def f_quantile(p: float, above: float, below: float) -> float:
    """The f with P(F <= f) = p, 0 < p < 1, for F with `above` and `below` degrees of freedom (not only whole ones).

    >>> round(f_quantile(0.95, 5, 15), 2)
    2.9
    """
    return _solve(lambda f: incomplete_beta(above * f / (above * f + below), above / 2, below / 2), p)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b), the regularised incomplete beta function, for 0 <= x <= 1."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # the fraction converges fast on one side of the mean; the other side is its complement
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + step * d)
            c = _away(1 + step / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def _solve(cdf: Callable[[float], float], p: float) -> float:
    """The x >= 0 at which a distribution function reaches p, by bisection on a doubled bracket."""
    low, high = 0.0, 1.0
    while cdf(high) < p and high < 1e12:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if cdf(middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2
