"""A run held against its baseline: both sides of every headline number, and what moved. Pure, seeded.

Everything is of the cases eligible in both runs, at the replays that both have, so that the two sides can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor

from attrs import field, frozen

from dfah_cli.errors import EligibilityError
from dfah_cli.metrics.family import pairwise
from dfah_cli.metrics.intervals import bounded_interval, clopper_pearson, modal_floor
from dfah_cli.metrics.paired import Joint, Joints, PairedCase, Pairing, decisions, metrics_at, strong_paths
from dfah_cli.metrics.versus import Comparison, compare_runs
from dfah_cli.report.baseline import Baseline, contract_problems
from dfah_cli.report.record import ReportColumns

DIGITS = 10_000
Shares = Sequence[Fraction | None]


@frozen(kw_only=True)
class Estimate:
    """A number with its 95 % interval, rounded outward to four digits."""

    value: float
    low: float
    high: float


@frozen(kw_only=True)
class Move:
    """One number on both sides. change: of the run from the baseline, paired by case. Flags are per 100 cases."""

    key: str
    base: Estimate
    now: Estimate
    change: Estimate


@frozen(kw_only=True)
class TaskMove:
    """DAR and TAR.seq of one task on both sides."""

    task: str
    cases: int
    dar: tuple[float, float]
    tar_seq: tuple[float, float]


@frozen(kw_only=True)
class Against:
    """base_name: what the caller calls the baseline. refused: why the two cannot be compared; then nothing moved.

    found: None when refused.
    """

    base: Baseline
    base_name: str
    report: ReportColumns
    refused: str | None = None
    moves: tuple[Move, ...] = field(default=())
    tasks: tuple[TaskMove, ...] = field(default=())
    found: Comparison | None = None


@frozen(kw_only=True)
class Metric:
    """How a number is made of the cases. limits: smallest and largest value of one case, of its change.

    pooled: over all cases; otherwise inside a task and then over the tasks.
    """

    key: str
    of_case: Callable[[Joint, int], Fraction | None]
    limits: Callable[[int, int], tuple[float, float, float]]
    pooled: bool = False


def held_against(base: Baseline, base_name: str, report: ReportColumns, replays: Joints) -> Against:
    """The comparison of a run with a baseline. replays: of the run's eligible cases, as `baseline.named` gives them."""
    problems = contract_problems(base, report)
    if problems:
        refused = f"it is not about the same cases: {', '.join(problems)} differ"
        return Against(base=base, base_name=base_name, report=report, refused=refused)
    try:
        found = compare_runs(base.joints, replays)
    except EligibilityError as problem:
        return Against(base=base, base_name=base_name, report=report, refused=str(problem))
    labels = len(report.manifest.decision_ontology)
    made = (_move(metric, found.pairing, labels) for metric in METRICS)
    return Against(
        base=base,
        base_name=base_name,
        report=report,
        moves=tuple(move for move in made if move is not None),
        tasks=_tasks(found.pairing),
        found=found,
    )


def _at(name: str) -> Callable[[Joint, int], Fraction | None]:
    return lambda joint, replays: metrics_at(joint, replays).get(name)


def _two_decide_alike(joint: Joint, replays: int) -> Fraction:
    return pairwise(decisions(joint).values())


def _two_walk_alike(joint: Joint, replays: int) -> Fraction | None:
    paths = strong_paths(joint)
    return None if paths is None else pairwise(paths.values())


def _shares_of(least: Callable[[int, int], float]) -> Callable[[int, int], tuple[float, float, float]]:
    return lambda replays, labels: (least(replays, labels), 1.0, 1.0 - 1.0 / replays)


def _gaps(replays: int, labels: int) -> tuple[float, float, float]:
    widest = 1.0 - 1.0 / replays
    return -widest, widest, 2.0 * widest


def _chances(replays: int, labels: int) -> tuple[float, float, float]:
    return 0.0, 1.0, 1.0


METRICS = (
    Metric(key="dar", of_case=_at("dar"), limits=_shares_of(modal_floor)),
    Metric(key="tar_seq", of_case=_at("tar.seq"), limits=_shares_of(lambda replays, labels: 1.0 / replays)),
    Metric(key="gap", of_case=_at("gap"), limits=_gaps),
    Metric(key="flags_per_100_cases", of_case=_at("flags"), limits=_chances, pooled=True),
    Metric(key="pairwise_decision", of_case=_two_decide_alike, limits=_chances),
    Metric(key="pairwise_path", of_case=_two_walk_alike, limits=_chances),
)


def _move(metric: Metric, pairing: Pairing, labels: int) -> Move | None:
    """None where a case does not have this number."""
    base = [metric.of_case(case.base, pairing.replays) for case in pairing.cases]
    now = [metric.of_case(case.candidate, pairing.replays) for case in pairing.cases]
    old, new = _known(base), _known(now)
    if old is None or new is None:
        return None
    tasks = None if metric.pooled else [case.key.task for case in pairing.cases]
    low, high, widest = metric.limits(pairing.replays, labels)
    return Move(
        key=metric.key,
        base=_estimate(old, tasks, (low, high)),
        now=_estimate(new, tasks, (low, high)),
        change=_estimate([b - a for a, b in zip(old, new, strict=True)], tasks, (-widest, widest)),
    )


def _known(values: Shares) -> list[Fraction] | None:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _estimate(values: Sequence[Fraction], tasks: Sequence[str] | None, limits: tuple[float, float]) -> Estimate:
    scale, value = 1 if tasks is not None else 100, _mean(values, tasks)
    if tasks is None and limits == (0.0, 1.0) and all(one in (0, 1) for one in values):
        # What the report does with flags of whole cases.
        interval = clopper_pearson(int(sum(values)), len(values))
    else:
        interval = bounded_interval([float(one) for one in values], tasks, *limits)
    return Estimate(
        value=float(scale * value),
        low=floor(scale * interval.low * DIGITS) / DIGITS,
        high=ceil(scale * interval.high * DIGITS) / DIGITS,
    )


def _mean(values: Sequence[Fraction], tasks: Sequence[str] | None) -> Fraction:
    """Exact; pooled without tasks, else inside a task and then over the tasks."""
    if tasks is None:
        return sum(values, Fraction(0)) / len(values)
    parts: dict[str, list[Fraction]] = {}
    for task, value in zip(tasks, values, strict=True):
        parts.setdefault(task, []).append(value)
    return sum((_mean(part, None) for part in parts.values()), Fraction(0)) / len(parts)


def _tasks(pairing: Pairing) -> tuple[TaskMove, ...]:
    parts: dict[str, list[PairedCase]] = {}
    for case in pairing.cases:
        parts.setdefault(case.key.task, []).append(case)
    return tuple(_task(task, cases, pairing.replays) for task, cases in parts.items())


def _task(task: str, cases: Sequence[PairedCase], replays: int) -> TaskMove:
    base = [metrics_at(case.base, replays) for case in cases]
    now = [metrics_at(case.candidate, replays) for case in cases]

    def mean(side: Sequence[Mapping[str, Fraction]], name: str) -> float:
        return float(_mean([numbers[name] for numbers in side], None))

    return TaskMove(
        task=task,
        cases=len(cases),
        dar=(mean(base, "dar"), mean(now, "dar")),
        tar_seq=(mean(base, "tar.seq"), mean(now, "tar.seq")),
    )
