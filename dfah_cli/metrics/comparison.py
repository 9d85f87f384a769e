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
from math import comb, gcd, lcm, prod, sqrt
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.beta import binomial_cdf_half
from dfah_cli.metrics.family import pairwise

Counts = Mapping[Any, int]
CountPairs = tuple[tuple[int, int], ...]

# Above this many additions per tap the distribution is made by Fourier transform: absolute error 1e-12 instead of
# relative, which matters to no decision.
DIRECT_LIMIT = 20_000_000


def drift_index(base: Counts, candidate: Counts) -> Fraction:
    """½(pairwise_A + pairwise_B) − agreement between the runs, for one case; unbiased for ½Σ(p_v − q_v)².

    In [−½, 1]; 0 in expectation when nothing changed. base, candidate: replays per value, at least two each.
    """
    return _drift(_pattern(base, candidate))


def _pattern(base: Counts, candidate: Counts) -> CountPairs:
    """Replays per value in both runs, without the values: most cases of a run share a few patterns."""
    return tuple(sorted((base.get(value, 0), candidate.get(value, 0)) for value in base.keys() | candidate.keys()))


@lru_cache(maxsize=65_536)
def _drift(pattern: CountPairs) -> Fraction:
    base, candidate = zip(*pattern, strict=True)
    between = Fraction(sum(left * right for left, right in pattern), sum(base) * sum(candidate))
    return (pairwise(base) + pairwise(candidate)) / 2 - between


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
    return drift_of(Counter(_pattern(base, candidate) for base, candidate in cases))


def drift_of(patterns: Mapping[CountPairs, int]) -> DriftTest:
    """The same test of cases given as replays per value in both runs → how many cases are alike in them."""
    tables = [(_splits(*_pooled(pattern)), many) for pattern, many in patterns.items()]
    observed = sum((_drift(pattern) * many for pattern, many in patterns.items()), Fraction(0))
    scale = lcm(observed.denominator, *(value.denominator for table, _ in tables for value in table))
    supports = [({int(value * scale): weight for value, weight in table.items()}, many) for table, many in tables]
    p = _upper_tail(supports, int(observed * scale))
    cases = sum(patterns.values())
    return DriftTest(mean=observed / cases, p=p, cases=cases)


def _pooled(pattern: CountPairs) -> tuple[tuple[int, ...], int]:
    """Sizes of the values in both runs together, and how many replays the base run has."""
    return tuple(sorted(left + right for left, right in pattern)), sum(left for left, _ in pattern)


@lru_cache(maxsize=4096)
def _splits(sizes: tuple[int, ...], left: int) -> dict[Fraction, float]:
    """Distribution of the index over all ways to deal the pooled replays to the two runs."""
    found: dict[Fraction, float] = {}
    for taken in product(*(range(size + 1) for size in sizes)):
        if sum(taken) != left:
            continue
        split = tuple(sorted((count, size - count) for count, size in zip(taken, sizes, strict=True)))
        weight = prod(comb(size, count) for size, count in zip(sizes, taken, strict=True)) / comb(sum(sizes), left)
        index = _drift(split)
        found[index] = found.get(index, 0.0) + weight
    return found


def signflip_exact_p(differences: Sequence[int]) -> float:
    """Exact two-sided p of a sum of paired differences when every sign is equally likely.

    differences: integers (R·d_i for equal numbers of replays), one per case. 1.0 when all are zero.
    """
    return signflip_of(Counter(differences))


def signflip_of(differences: Mapping[int, int]) -> float:
    """The same test of differences → how many cases have them."""
    sizes: Counter[int] = Counter()
    for value, many in differences.items():
        sizes[abs(value)] += many if value else 0
    supports = [({size: 0.5, -size: 0.5}, many) for size, many in sizes.items() if many]
    observed = abs(sum(value * many for value, many in differences.items()))
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


def _upper_tail(supports: Sequence[tuple[Mapping[int, float], int]], threshold: int) -> float:
    """P(sum ≥ threshold) for independent integer variables: (value → probability, how many of them)."""
    step = gcd(0, *(value - min(support) for support, _ in supports for value in support))
    base = sum(min(support) * many for support, many in supports)
    if step == 0:
        return 1.0 if base >= threshold else 0.0
    shapes: Counter[tuple[float, ...]] = Counter()
    for support, many in supports:
        if len(support) > 1:
            shapes[tuple(_dense(support, step).tolist())] += many
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
