"""A threshold against a confidence bound: proven, refuted, or neither, and how many cases would decide it. Pure.

A check passes only when the one-sided bound on its bad side meets the threshold, and fails only when the bound on its
good side breaks it. Limits are rounded outward to four digits first, so that every machine decides alike.
Source: docs/metrics.md, "Gates".
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from attrs import evolve, frozen

from dfah_cli.gate.checks import GateCheck, Verdict
from dfah_cli.metrics.case_values import CaseValues
from dfah_cli.metrics.intervals import Interval, Sides, bounded_interval, clopper_pearson, outward
from dfah_cli.metrics.power import cases_needed


@frozen
class Limits:
    """One-sided lower and upper limit at the same level, rounded outward."""

    low: float
    high: float
    method: str


def limits(values: CaseValues, metric: str, scale: int, level: float) -> Limits:
    """Both limits of the mean of one number over the cases, times `scale`."""
    low, high = (_interval(values, metric, level, side) for side in (Sides.LOWER, Sides.UPPER))
    lower = outward(evolve(low, low=scale * low.low, high=scale * low.high))[0]
    upper = outward(evolve(high, low=scale * high.low, high=scale * high.high))[1]
    return Limits(lower, upper, str(low.method))


def _interval(values: CaseValues, metric: str, level: float, sides: Sides) -> Interval:
    numbers = values.numbers[metric]
    if metric != "flag":
        return bounded_interval(numbers, values.tasks, *values.ranges[metric], level=level, sides=sides)
    if np.isin(numbers, (0.0, 1.0)).all():
        return clopper_pearson(int(numbers.sum()), len(numbers), level=level, sides=sides)
    return bounded_interval(numbers, None, *values.ranges[metric], level=level, sides=sides)


def decide(found: Limits, bound: float, *, at_least: bool) -> tuple[Verdict, float]:
    """The verdict and the limit that decided, or that would have to move."""
    good, bad = (found.high, found.low) if at_least else (found.low, found.high)
    limit = Fraction(repr(bound))

    def meets(value: float) -> bool:
        return Fraction(repr(value)) >= limit if at_least else Fraction(repr(value)) <= limit

    if meets(bad):
        return Verdict.PASS, bad
    return (Verdict.INCONCLUSIVE, bad) if meets(good) else (Verdict.FAIL, good)


def proven(name: str, threshold: Any, values: CaseValues, bound: float, level: float) -> GateCheck:
    """The check of a threshold with `per_case` numbers, by its bound."""
    metric, scale = threshold.per_case, threshold.scale
    found = limits(values, metric, scale, level)
    verdict, limit = decide(found, bound, at_least=threshold.at_least)

    def decided(cases: int) -> bool:
        ahead = limits(stretched(values, cases), metric, scale, level)
        return decide(ahead, bound, at_least=threshold.at_least)[0] is not Verdict.INCONCLUSIVE

    return GateCheck(
        name=name,
        passed=verdict is Verdict.PASS,
        verdict=verdict,
        observed=float(scale * values.mean(metric)),
        expected=bound,
        at_least=threshold.at_least,
        bound=limit,
        level=level,
        method=found.method,
        n_cases=len(values),
        cases_needed=cases_needed(len(values), decided) if verdict is Verdict.INCONCLUSIVE else None,
    )


def stretched(values: CaseValues, cases: int) -> CaseValues:
    """The same mix of cases in every task, with about so many cases in all."""
    tasks = np.asarray(values.tasks)
    parts = []
    for task in dict.fromkeys(values.tasks):
        own = np.flatnonzero(tasks == task)
        wanted = max(1, round(cases * len(own) / len(values)))
        parts.append(own[np.arange(wanted) * len(own) // wanted])
    rows = np.concatenate(parts)
    return evolve(
        values,
        tasks=tuple(values.tasks[row] for row in rows),
        cases=tuple(values.cases[row] for row in rows),
        numbers={name: numbers[rows] for name, numbers in values.numbers.items()},
    )
