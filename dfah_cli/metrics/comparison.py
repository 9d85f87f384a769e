"""Two runs on the same cases: what moved, and whether chance explains it. Pure; no random numbers.

A difference of DAR is blind to drift: every case may have gone from one label to another with both runs
stable. The drift index sees that. Source: docs/metrics.md, "Comparison".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, gcd, prod, sqrt
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.beta import binomial_cdf_half
from dfah_cli.metrics.family import pairwise

Counts = Mapping[Any, int]

# Above this many additions per tap the distribution is made by Fourier transform: absolute error 1e-12 instead of
# relative, which matters to no decision.
DIRECT_LIMIT = 20_000_000


def drift_index(base: Counts, candidate: Counts) -> Fraction:
    """½(pairwise_A + pairwise_B) − agreement between the runs, for one case; unbiased for ½Σ(p_v − q_v)².

    In [−½, 1]; 0 in expectation when nothing changed. base, candidate: replays per value, at least two each.
    """
    left, right = sum(base.values()), sum(candidate.values())
    between = Fraction(sum(count * candidate.get(value, 0) for value, count in base.items()), left * right)
    return (pairwise(base.values()) + pairwise(candidate.values())) / 2 - between


@frozen(kw_only=True)
class DriftTest:
    """mean: of the drift index over cases. p: chance of at least that mean when run labels are exchangeable."""

    mean: Fraction
    p: float
    cases: int


def drift_exact_p(cases: Sequence[tuple[Counts, Counts]]) -> DriftTest:
    """Exact one-sided permutation test of the summed drift index; replays change run only inside their case.

    The distribution is a convolution of non-negative weights, so each probability is good to about 1e-12
    relative. Raises: ConfigurationError when there is no case.
    """
    if not cases:
        raise ConfigurationError("drift needs at least one case present in both runs; found none")
    # Only the sizes matter, and most cases of a stable agent have the same: one table per kind of case.
    tables = [_splits(_pooled(base, candidate)) for base, candidate in cases]
    observed = [drift_index(base, candidate) for base, candidate in cases]
    scale = _common_denominator([value for table in tables for value in table] + observed)
    supports = [{int(value * scale): weight for value, weight in table.items()} for table in tables]
    total = int(sum(observed) * scale)
    return DriftTest(mean=sum(observed, Fraction(0)) / len(cases), p=_upper_tail(supports, total), cases=len(cases))


def _pooled(base: Counts, candidate: Counts) -> tuple[tuple[int, ...], int, int]:
    values = {*base, *candidate}
    sizes = tuple(sorted(base.get(value, 0) + candidate.get(value, 0) for value in values))
    return sizes, sum(base.values()), sum(candidate.values())


@lru_cache(maxsize=4096)
def _splits(pooled: tuple[tuple[int, ...], int, int]) -> dict[Fraction, float]:
    """Distribution of the index over all ways to deal the pooled replays to the two runs."""
    sizes, left, right = pooled
    found: dict[Fraction, float] = {}
    for taken in product(*(range(size + 1) for size in sizes)):
        if sum(taken) != left:
            continue
        base = dict(enumerate(taken))
        rest = {value: size - taken[value] for value, size in enumerate(sizes)}
        weight = prod(comb(size, count) for size, count in zip(sizes, taken, strict=True)) / comb(left + right, left)
        index = drift_index(base, rest)
        found[index] = found.get(index, 0.0) + weight
    return found


def signflip_exact_p(differences: Sequence[int]) -> float:
    """Exact two-sided p of a sum of paired differences when every sign is equally likely.

    differences: integers (R·d_i for equal numbers of replays), one per case. 1.0 when all are zero.
    """
    supports = [{abs(value): 0.5, -abs(value): 0.5} for value in differences if value]
    observed = abs(sum(differences))
    if observed == 0:
        return 1.0
    return min(1.0, 2.0 * _upper_tail(supports, observed))


def mcnemar_exact_p(only_base: int, only_candidate: int) -> float:
    """Exact two-sided p on discordant pairs: cases flagged in one run only."""
    fewer, pairs = min(only_base, only_candidate), only_base + only_candidate
    return min(1.0, 2.0 * binomial_cdf_half(fewer, pairs)) if pairs else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values, in the given order; for alarms "did any task change?", not for gates that must all pass."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def tango_z(only_candidate: int, only_base: int, cases: int, margin: float) -> float:
    """Score statistic that the paired difference of rates, candidate − base, is below `margin`; negative
    favours it.

    Source: Tango (1998), the score test for paired proportions.
    """
    b, c, n, delta = only_candidate, only_base, cases, margin
    linear = -b - c + (2 * n - b + c) * delta
    rest = -c * delta * (1.0 - delta)
    q = (sqrt(max(linear * linear - 8.0 * n * rest, 0.0)) - linear) / (4.0 * n)
    variance = n * (2.0 * q + delta * (1.0 - delta))
    return (b - c - n * delta) / sqrt(variance)


def _common_denominator(values: Sequence[Fraction]) -> int:
    scale = 1
    for value in {value.denominator for value in values}:
        scale = scale * value // gcd(scale, value)
    return scale


def _upper_tail(supports: Sequence[Mapping[int, float]], threshold: int) -> float:
    """P(sum ≥ threshold) for independent integer variables given as value → probability."""
    step = 0
    base = 0
    for support in supports:
        lowest = min(support)
        base += lowest
        step = gcd(step, *(value - lowest for value in support))
    if step == 0:
        return 1.0 if base >= threshold else 0.0
    shapes = Counter(tuple(_dense(support, step).tolist()) for support in supports if len(support) > 1)
    first = max(0, -(-(threshold - base) // step))
    return min(1.0, max(0.0, float(_density(shapes)[first:].sum())))


def _density(shapes: Mapping[tuple[float, ...], int]) -> NDArray[np.float64]:
    """Distribution of the sum of independent variables, given as distribution → how often it occurs."""
    length = 1 + sum((len(shape) - 1) * many for shape, many in shapes.items())
    if length * sum(shapes.values()) <= DIRECT_LIMIT:
        density = np.ones(1)
        for shape, many in shapes.items():
            for _ in range(many):
                density = np.convolve(density, shape)
        return density
    size = 1 << length.bit_length()
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for shape, many in shapes.items():
        spectrum *= np.fft.rfft(shape, size) ** many
    return np.asarray(np.fft.irfft(spectrum, size)[:length])


def _dense(support: Mapping[int, float], step: int) -> NDArray[np.float64]:
    lowest, highest = min(support), max(support)
    dense = np.zeros((highest - lowest) // step + 1)
    for value, weight in support.items():
        dense[(value - lowest) // step] += weight
    return dense
