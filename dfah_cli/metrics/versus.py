"""A candidate run against a base run on the same cases. Pure, seeded.

Only cases eligible in both runs are compared. With unequal numbers of replays both are rarefied to the smaller one:
agreement depends on the number of replays, so a raw difference would mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import partial
from math import lcm

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.comparison import (
    DriftTest,
    drift_index,
    holm,
    mcnemar_exact_p,
    signflip_of,
)
from dfah_cli.metrics.intervals import LEVEL, SEED, Interval, Sides, bounded_interval
from dfah_cli.metrics.pair_patterns import Patterns, drifts, patterns_of, tally
from dfah_cli.metrics.paired import (
    Joint,
    Joints,
    Measured,
    PairedCase,
    Pairing,
    decisions,
    pair,
)
from dfah_cli.metrics.power import cases_needed
from dfah_cli.metrics.table import GroupKey

LARGER_IS_WORSE = ("gap", "flags", "sequence_flags")


class Verdict(StrEnum):
    """Proven good, proven bad, or neither: the last is no pass."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@frozen(kw_only=True)
class Difference:
    """candidate − base of one metric, task-weighted over the compared cases; cases that rose, stayed, fell.

    Flags are shares of cases, not per 100.
    """

    metric: str
    interval: Interval
    rose: int
    same: int
    fell: int


@frozen(kw_only=True)
class TaskAlarm:
    """Exact two-sided sign-flip test of one metric in one task; p_holm is corrected over the tasks."""

    metric: str
    task: str
    p: float
    p_holm: float


@frozen(kw_only=True)
class Flip:
    """A case whose modal decision moved. old, new: every mode, sorted."""

    task: str
    case_id: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    drift: Fraction


@frozen(kw_only=True)
class Comparison:
    """drift: per level (`decision`, `path.seq`, `path.strong`). flags_p: McNemar; None with unequal replays or
    where a strong path was not captured; the lists of flagged cases are then empty.
    """

    pairing: Pairing
    differences: tuple[Difference, ...]
    alarms: tuple[TaskAlarm, ...]
    drift: Mapping[str, DriftTest]
    flips: tuple[Flip, ...]
    newly_flagged: tuple[GroupKey, ...]
    no_longer_flagged: tuple[GroupKey, ...]
    flags_p: float | None


@frozen(kw_only=True)
class NonInferiority:
    """bound: the one-sided limit of candidate − base that is held against the margin.

    replays: at which both were compared. cases_needed: with which a verdict falls if the rest looks like these.

    PASS: the candidate is proven not worse by the margin or more. FAIL: proven worse by more. Otherwise neither.
    """

    metric: str
    margin: float
    difference: float
    bound: float
    level: float
    cases: int
    verdict: Verdict
    replays: int
    rarefied: bool
    method: str
    cases_needed: int | None = None


def compare_runs(
    base: Measured | Joints, candidate: Measured | Joints, *, level: float = LEVEL, seed: int = SEED
) -> Comparison:
    """Everything that moved between two runs, with intervals and exact tests. An A/A pair shows the false alarms.

    Raises: EligibilityError when no case is eligible in both runs.
    """
    pairing = pair(base, candidate)
    patterns = patterns_of(pairing)
    changes = patterns.changes()
    flags = changes.get("flags") if not pairing.rarefied else None
    newly = _keys(pairing, patterns, [change > 0 for change in flags or ()])
    gone = _keys(pairing, patterns, [change < 0 for change in flags or ()])
    return Comparison(
        pairing=pairing,
        differences=tuple(_difference(name, values, patterns, level, seed) for name, values in changes.items()),
        alarms=tuple(alarm for name in ("dar", "tar.seq") for alarm in _alarms(name, changes[name], patterns)),
        drift=drifts(patterns),
        flips=tuple(_flip(case) for case in _cases(pairing, patterns, patterns.moved())),
        newly_flagged=newly,
        no_longer_flagged=gone,
        flags_p=None if flags is None else mcnemar_exact_p(len(gone), len(newly)),
    )


def _cases(pairing: Pairing, patterns: Patterns, chosen: Sequence[bool]) -> list[PairedCase]:
    """The cases whose pattern is chosen, in their order; none when nothing was chosen from."""
    if not any(chosen):
        return []
    return [pairing.cases[place] for place in np.flatnonzero(np.array(chosen)[patterns.case]).tolist()]


def _keys(pairing: Pairing, patterns: Patterns, chosen: Sequence[bool]) -> tuple[GroupKey, ...]:
    return tuple(case.key for case in _cases(pairing, patterns, chosen))


def non_inferiority(
    base: Measured | Joints,
    candidate: Measured | Joints,
    margins: Mapping[str, float],
    *,
    level: float = LEVEL,
    seed: int = SEED,
    replays: int | None = None,
) -> tuple[NonInferiority, ...]:
    """Whether the candidate is not worse than the base by a margin, per metric.

    margins: metric (`dar`, `tar.seq`, `tar.strong`, `flags`, `sequence_flags`) → largest tolerated loss, as a share
    (5 flags per 100 are 0.05). replays: compare what so many would show; None = as many as the smaller run has.
    All must pass, so no correction for their number is due.
    Raises: EligibilityError; ConfigurationError for a metric that these runs do not have.
    """
    pairing = at_replays(pair(base, candidate), replays)
    patterns = patterns_of(pairing)
    changes = patterns.changes()
    unknown = sorted(set(margins) - set(changes))
    if unknown:
        raise ConfigurationError(f"no difference of {', '.join(unknown)} here; available: {', '.join(changes)}")
    return tuple(
        _held(name, changes[name], pairing, patterns, margin, partial(bounded_interval, level=level, seed=seed))
        for name, margin in margins.items()
    )


def _held(
    name: str,
    values: Sequence[Fraction],
    pairing: Pairing,
    patterns: Patterns,
    margin: float,
    interval: partial[Interval],
) -> NonInferiority:
    # Turned so that a positive number is a loss of agreement, whatever the metric.
    sign = 1.0 if name in LARGER_IS_WORSE else -1.0
    losses, widest = sign * _floats(values)[patterns.case], _widest(name, pairing.replays)

    def limits(rows: NDArray[np.int64]) -> tuple[Interval, Interval]:
        both = (
            interval(losses[rows], patterns.task[rows], -widest, widest, sides=sides)
            for sides in (Sides.UPPER, Sides.LOWER)
        )
        upper, lower = both
        return upper, lower

    def decided(cases: int) -> bool:
        rows = np.arange(cases) * len(losses) // cases
        return _judged(*limits(rows), margin) is not Verdict.INCONCLUSIVE

    upper, lower = limits(np.arange(len(losses)))
    verdict = _judged(upper, lower, margin)
    return NonInferiority(
        metric=name,
        margin=margin,
        difference=sign * upper.value,
        bound=sign * (lower.low if verdict is Verdict.FAIL else upper.high),
        level=upper.level,
        cases=upper.cases,
        verdict=verdict,
        replays=pairing.replays,
        rarefied=pairing.rarefied,
        method=str(upper.method),
        cases_needed=cases_needed(upper.cases, decided) if verdict is Verdict.INCONCLUSIVE else None,
    )


def _judged(upper: Interval, lower: Interval, margin: float) -> Verdict:
    if upper.high < margin:
        return Verdict.PASS
    return Verdict.FAIL if lower.low > margin else Verdict.INCONCLUSIVE


def at_replays(pairing: Pairing, replays: int | None) -> Pairing:
    """The pairing seen at a smaller number of replays; None leaves it as it is.

    Raises: ConfigurationError when some case has fewer.
    """
    if replays is None or replays == pairing.replays:
        return pairing
    if replays > pairing.replays:
        raise ConfigurationError(f"{replays} replays asked for; some case has {pairing.replays}")
    return evolve(pairing, replays=replays, rarefied=True)


def _floats(values: Sequence[Fraction]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def _difference(name: str, values: Sequence[Fraction], patterns: Patterns, level: float, seed: int) -> Difference:
    widest = _widest(name, patterns.replays)
    signs = np.array([(value > 0) - (value < 0) for value in values])[patterns.case]
    every = _floats(values)[patterns.case]
    return Difference(
        metric=name,
        interval=bounded_interval(every, patterns.task, -widest, widest, level=level, seed=seed),
        rose=int((signs > 0).sum()),
        same=int((signs == 0).sum()),
        fell=int((signs < 0).sum()),
    )


def _widest(name: str, replays: int) -> float:
    """Largest possible change of one case."""
    if name.endswith("flags"):
        return 1.0
    share = 1.0 - 1.0 / replays
    return 2.0 * share if name == "gap" else share


def _alarms(name: str, values: Sequence[Fraction], patterns: Patterns) -> list[TaskAlarm]:
    scale = lcm(*(value.denominator for value in values))
    scaled = [int(value * scale) for value in values]
    p_values = [signflip_of(tally(scaled, patterns.times(task))) for task in range(len(patterns.tasks))]
    return [
        TaskAlarm(metric=name, task=task, p=p, p_holm=corrected)
        for task, p, corrected in zip(patterns.tasks, p_values, holm(p_values), strict=True)
    ]


def _flip(case: PairedCase) -> Flip:
    drift = drift_index(decisions(case.base), decisions(case.candidate))
    return Flip(
        task=case.key.task, case_id=case.key.case_id, old=_modes(case.base), new=_modes(case.candidate), drift=drift
    )


def _modes(joint: Joint) -> tuple[str, ...]:
    counts = decisions(joint)
    top = max(counts.values())
    return tuple(sorted(label for label, count in counts.items() if count == top))
