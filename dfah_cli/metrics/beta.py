"""Incomplete beta function, its inverse, and binomial tails without further packages. Pure.

Double precision throughout: relative error about 1e-13 for n in the thousands, 1e-9 at n = 1,000,000.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, fsum, lgamma, log, log1p

_TINY = 1e-300
_SMALL = 1e-16
EXACT_TRIALS = 1000


def betainc(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), in [0, 1].

    Source: continued fraction DLMF 8.17.22, evaluated by the modified Lentz method.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(a * log(x) + b * log1p(-x) - _log_beta(a, b))
    # The fraction converges fast only left of the mean; the other side follows from I_x(a,b) = 1 −
    # I_{1−x}(b,a).
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1.0 - x) / b


def betaincinv(a: float, b: float, probability: float) -> float:
    """The x with I_x(a, b) = probability, by bisection to the last bit."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if betainc(a, b, middle) < probability:
            low = middle
        else:
            high = middle


def binomial_cdf(successes: int, trials: int, rate: float) -> float:
    """P(X ≤ successes) for X ~ Binomial(trials, rate)."""
    if successes < 0:
        return 0.0
    if successes >= trials:
        return 1.0
    return betainc(trials - successes, successes + 1, 1.0 - rate)


def binomial_cdf_half(successes: int, trials: int) -> float:
    """P(X ≤ successes) for X ~ Binomial(trials, 1/2); from exact integers up to 1,000 trials."""
    if trials > EXACT_TRIALS:
        return binomial_cdf(successes, trials, 0.5)
    return float(Fraction(sum(comb(trials, k) for k in range(successes + 1)), 2**trials))


def _log_beta(a: float, b: float) -> float:
    return fsum((lgamma(a), lgamma(b), -lgamma(a + b)))


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        d = 1.0 / _away(1.0 + even * d)
        c = _away(1.0 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        d = 1.0 / _away(1.0 + odd * d)
        c = _away(1.0 + odd / c)
        value *= d * c
        if abs(d * c - 1.0) <= 2 * _SMALL:
            break
    return value


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
