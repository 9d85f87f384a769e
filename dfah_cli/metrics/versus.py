"""A candidate run against a base run on the same cases. Pure, seeded.

Only cases eligible in both runs are compared. With unequal numbers of replays both are rarefied to the smaller one:
agreement depends on the number of replays, so a raw difference would mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import groupby
from math import lcm

from attrs import evolve, frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.comparison import (
    DriftTest,
    drift_exact_p,
    drift_index,
    holm,
    mcnemar_exact_p,
    signflip_exact_p,
)
from dfah_cli.metrics.intervals import LEVEL, SEED, Interval, Sides, bounded_interval
from dfah_cli.metrics.paired import (
    Joint,
    Joints,
    Measured,
    PairedCase,
    Pairing,
    decisions,
    metrics_at,
    pair,
    sequences,
    strong_paths,
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
    changes = _changes(pairing)
    flags = changes.get("flags", []) if not pairing.rarefied else []
    keys = [case.key for case in pairing.cases]
    newly = tuple(key for key, change in zip(keys, flags, strict=False) if change > 0)
    gone = tuple(key for key, change in zip(keys, flags, strict=False) if change < 0)
    return Comparison(
        pairing=pairing,
        differences=tuple(_difference(name, values, pairing, level, seed) for name, values in changes.items()),
        alarms=tuple(alarm for name in ("dar", "tar.seq") for alarm in _alarms(name, changes[name], pairing)),
        drift=_drift(pairing),
        flips=tuple(flip for case in pairing.cases if (flip := _flip(case)) is not None),
        newly_flagged=newly,
        no_longer_flagged=gone,
        flags_p=mcnemar_exact_p(len(gone), len(newly)) if flags else None,
    )


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
    changes = _changes(pairing)
    unknown = sorted(set(margins) - set(changes))
    if unknown:
        raise ConfigurationError(f"no difference of {', '.join(unknown)} here; available: {', '.join(changes)}")
    return tuple(
        _held(name, changes[name], pairing, margin, partial(bounded_interval, level=level, seed=seed))
        for name, margin in margins.items()
    )


def _held(
    name: str, values: Sequence[Fraction], pairing: Pairing, margin: float, interval: partial[Interval]
) -> NonInferiority:
    # Turned so that a positive number is a loss of agreement, whatever the metric.
    sign = 1.0 if name in LARGER_IS_WORSE else -1.0
    losses = [sign * float(value) for value in values]
    tasks, widest = [case.key.task for case in pairing.cases], _widest(name, pairing.replays)

    def limits(values: Sequence[float], of: Sequence[str]) -> tuple[Interval, Interval]:
        both = (interval(values, of, -widest, widest, sides=sides) for sides in (Sides.UPPER, Sides.LOWER))
        upper, lower = both
        return upper, lower

    def decided(cases: int) -> bool:
        rows = [place * len(losses) // cases for place in range(cases)]
        return _judged(*limits([losses[r] for r in rows], [tasks[r] for r in rows]), margin) is not Verdict.INCONCLUSIVE

    upper, lower = limits(losses, tasks)
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


def _changes(pairing: Pairing) -> dict[str, list[Fraction]]:
    """candidate − base per metric and case; only metrics that every case has."""
    before = [metrics_at(case.base, pairing.replays) for case in pairing.cases]
    after = [metrics_at(case.candidate, pairing.replays) for case in pairing.cases]
    names = [name for name in before[0] if all(name in numbers for numbers in (*before, *after))]
    return {name: [new[name] - old[name] for old, new in zip(before, after, strict=True)] for name in names}


def _difference(name: str, values: Sequence[Fraction], pairing: Pairing, level: float, seed: int) -> Difference:
    widest = _widest(name, pairing.replays)
    tasks = [case.key.task for case in pairing.cases]
    return Difference(
        metric=name,
        interval=bounded_interval([float(v) for v in values], tasks, -widest, widest, level=level, seed=seed),
        rose=sum(value > 0 for value in values),
        same=sum(value == 0 for value in values),
        fell=sum(value < 0 for value in values),
    )


def _widest(name: str, replays: int) -> float:
    """Largest possible change of one case."""
    if name.endswith("flags"):
        return 1.0
    share = 1.0 - 1.0 / replays
    return 2.0 * share if name == "gap" else share


def _alarms(name: str, values: Sequence[Fraction], pairing: Pairing) -> list[TaskAlarm]:
    tasks: list[str] = []
    p_values: list[float] = []
    pairs = zip((case.key.task for case in pairing.cases), values, strict=True)
    for task, members in groupby(pairs, key=lambda item: item[0]):
        changes = [change for _, change in members]
        scale = lcm(*(change.denominator for change in changes))
        tasks.append(task)
        p_values.append(signflip_exact_p([int(change * scale) for change in changes]))
    adjusted = holm(p_values)
    return [
        TaskAlarm(metric=name, task=task, p=p, p_holm=corrected)
        for task, p, corrected in zip(tasks, p_values, adjusted, strict=True)
    ]


def _drift(pairing: Pairing) -> dict[str, DriftTest]:
    found = {}
    for name, values in (("decision", decisions), ("path.seq", sequences), ("path.strong", strong_paths)):
        counted = [(values(case.base), values(case.candidate)) for case in pairing.cases]
        usable = [(left, right) for left, right in counted if left is not None and right is not None]
        if len(usable) == len(counted):
            found[name] = drift_exact_p(usable)
    return found


def _flip(case: PairedCase) -> Flip | None:
    old, new = _modes(case.base), _modes(case.candidate)
    if old == new:
        return None
    drift = drift_index(decisions(case.base), decisions(case.candidate))
    return Flip(task=case.key.task, case_id=case.key.case_id, old=old, new=new, drift=drift)


def _modes(joint: Joint) -> tuple[str, ...]:
    counts = decisions(joint)
    top = max(counts.values())
    return tuple(sorted(label for label, count in counts.items() if count == top))
