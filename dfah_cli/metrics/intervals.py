"""Intervals that never collapse: a suite on which everything agreed still says how much it can show. Pure,
seeded.

Unit of observation is the case (its replays are one observation); pooling episodes would cover far too
little. Source: docs/metrics.md, "Intervals".
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import ceil, floor, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.beta import betaincinv

DRAWS = 20_000
SEED = 42
LEVEL = 0.95
SMALL_TASK = 4

Floats = NDArray[np.float64]


class Method(StrEnum):
    """How an interval was made."""

    BOUNDED = "bounded_bayesian_bootstrap"
    CLOSED_FORM = "closed_form"
    CLOPPER_PEARSON = "clopper_pearson"
    WILSON = "wilson"


class Sides(StrEnum):
    """Which limits mean something: `lower` and `upper` are one-sided, with all of 1 − level on that side."""

    BOTH = "two_sided"
    LOWER = "lower"
    UPPER = "upper"


class Scope(StrEnum):
    """What a claim is about: cases like these, or only these cases (then the interval is conservative)."""

    POPULATION = "population"
    SUITE = "suite"


@frozen(kw_only=True)
class Interval:
    """A value and what the data can stand behind.

    low ≤ value ≤ high, in the unit of the value. cases: observations. low_support: some task has fewer
    than four cases. seed: None when no random number was used.
    """

    value: float
    low: float
    high: float
    level: float
    method: Method
    cases: int
    tasks: int = 1
    sides: Sides = Sides.BOTH
    scope: Scope = Scope.POPULATION
    seed: int | None = None
    low_support: bool = field(default=False)


def bounded_interval(
    values: Sequence[float] | Floats,
    tasks: Sequence[Any] | NDArray[Any] | None,
    lo: float,
    hi: float,
    *,
    level: float = LEVEL,
    seed: int = SEED,
    sides: Sides = Sides.BOTH,
) -> Interval:
    """Interval of the task-weighted mean of bounded values, one per case.

    values, tasks: shape (n,), n ≥ 1; tasks None = one task. lo, hi: the range a value can have. Every draw
    mixes a Bayesian bootstrap over cases with a worst-case pseudo-case; for values 0 and 1 in one task
    this is Clopper-Pearson. Source: docs/metrics.md, "bounded_interval". Raises: ConfigurationError for
    bad arguments.
    """
    _check(values, lo, hi, level)
    split = _split(np.asarray(values, dtype=np.float64), tasks)
    value = float(np.mean([task.mean() for task in split]))
    sizes = [len(task) for task in split]
    small = len(split) > 1 and min(sizes) < SMALL_TASK
    miss = (1.0 - level) / (2.0 if sides is Sides.BOTH else 1.0)
    constant = all(np.ptp(task) < 1e-12 for task in split)
    if constant and not small:
        share = 1.0 - miss ** (1.0 / (len(split) * min(sizes)))
        low, high = (1.0 - share) * value + share * lo, (1.0 - share) * value + share * hi
    else:
        low, high = _limits(split, lo, hi, miss, seed, small)
    return Interval(
        value=value,
        low=lo if sides is Sides.UPPER else max(lo, min(low, value)),
        high=hi if sides is Sides.LOWER else min(hi, max(high, value)),
        level=level,
        method=Method.CLOSED_FORM if constant and not small else Method.BOUNDED,
        cases=sum(sizes),
        tasks=len(split),
        sides=sides,
        seed=None if constant and not small else seed,
        low_support=min(sizes) < SMALL_TASK,
    )


def _limits(split: list[Floats], lo: float, hi: float, miss: float, seed: int, small: bool) -> tuple[float, float]:
    # RandomState, not default_rng: its stream is frozen, so one input has one answer on every machine and
    # version.
    random = np.random.RandomState(seed)
    mean, lower, upper = np.zeros(DRAWS), np.zeros(DRAWS), np.zeros(DRAWS)
    for task in split:
        drawn = _bootstrap_means(task, random)
        share = _pseudo_case(len(task), random) if small else 0.0
        mean += drawn / len(split)
        lower += ((1.0 - share) * drawn + share * lo) / len(split)
        upper += ((1.0 - share) * drawn + share * hi) / len(split)
    if not small:
        share = _pseudo_case(len(split) * min(map(len, split)), random)
        lower, upper = (1.0 - share) * mean + share * lo, (1.0 - share) * mean + share * hi
    return float(np.quantile(lower, miss)), float(np.quantile(upper, 1.0 - miss))


def _bootstrap_means(task: Floats, random: np.random.RandomState) -> Floats:
    # Equal values share one Gamma(count) draw, so the cost does not grow with the number of cases.
    # Rounded for grouping only: 2/3 must be one value however it was computed.
    _, first, counts = np.unique(np.round(task, 12), return_index=True, return_counts=True)
    total, weight = np.zeros(DRAWS), np.zeros(DRAWS)
    for value, count in zip(task[first], counts, strict=True):
        gamma = random.standard_gamma(count, size=DRAWS)
        total += gamma * value
        weight += gamma
    return total / weight


def _pseudo_case(cases: int, random: np.random.RandomState) -> Floats:
    """Beta(1, cases): the weight of the case that was not seen."""
    return np.asarray(1.0 - random.random_sample(DRAWS) ** (1.0 / cases))


def _split(values: Floats, tasks: Sequence[Any] | NDArray[Any] | None) -> list[Floats]:
    if tasks is None:
        return [values]
    labels = np.asarray(tasks)
    order = np.argsort(labels, kind="stable")
    _, starts = np.unique(labels[order], return_index=True)
    return np.split(values[order], starts[1:])


def clopper_pearson(events: int, cases: int, *, level: float = LEVEL, sides: Sides = Sides.BOTH) -> Interval:
    """Interval of a rate with guaranteed coverage.

    events of cases, cases ≥ 1. Raises: ConfigurationError.
    """
    if not (0 <= events <= cases and cases >= 1 and 0.0 < level < 1.0):
        raise ConfigurationError(f"{events} events in {cases} cases at level {level}: not a rate")
    miss = (1.0 - level) / (2.0 if sides is Sides.BOTH else 1.0)
    low = 0.0 if events == 0 or sides is Sides.UPPER else betaincinv(events, cases - events + 1, miss)
    high = 1.0 if events == cases or sides is Sides.LOWER else betaincinv(events + 1, cases - events, 1.0 - miss)
    return Interval(
        value=events / cases,
        low=low,
        high=high,
        level=level,
        method=Method.CLOPPER_PEARSON,
        cases=cases,
        sides=sides,
    )


def wilson(events: int, cases: int, *, level: float = LEVEL) -> Interval:
    """Score interval of a rate, for comparison with other tools; it covers too little at the edges (see docs)."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    share, weight = events / cases, z * z / cases
    centre = (share + weight / 2.0) / (1.0 + weight)
    half = z / (1.0 + weight) * sqrt(share * (1.0 - share) / cases + weight / (4.0 * cases))
    return Interval(value=share, low=centre - half, high=centre + half, level=level, method=Method.WILSON, cases=cases)


def modal_floor(replays: int, labels: int | None = None) -> float:
    """Smallest modal share that `replays` replays can have: ⌈R/K⌉/R with K labels, 1/R when K is unknown."""
    return 1.0 / replays if not labels else -(-replays // labels) / replays


def outward(interval: Interval, digits: int = 4) -> tuple[float, float]:
    """Limits rounded away from the value, so that a printed limit claims nothing the computed one does not."""
    scale = 10.0**digits
    # A hair inwards first: 0.9 · 10⁴ is 9000.000000000002 or 8999.999999999998 by accident.
    return floor(interval.low * scale + 1e-7) / scale, ceil(interval.high * scale - 1e-7) / scale


def _check(values: Sequence[float] | Floats, lo: float, hi: float, level: float) -> None:
    if not len(values):
        raise ConfigurationError("an interval needs at least one case; found none")
    if not (lo < hi and 0.0 < level < 1.0):
        raise ConfigurationError(f"range [{lo}, {hi}] at level {level}: expected lo < hi and 0 < level < 1")
    if min(values) < lo - 1e-9 or max(values) > hi + 1e-9:
        raise ConfigurationError(f"a value lies outside its range [{lo}, {hi}]")
