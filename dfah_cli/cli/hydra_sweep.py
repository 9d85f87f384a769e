"""A sweep: every plan is frozen and compared before the first dispatch; then the jobs run, and one table says all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from dfah_cli.cli.screen import Screen
from dfah_cli.config.compose import compose_run, hydra_session
from dfah_cli.config.freeze import freeze
from dfah_cli.config.sweep import SweepJob, sweep_jobs
from dfah_cli.errors import ConfigurationError, DFAHError, ExitCode, most_serious
from dfah_cli.loading.validate import lines
from dfah_cli.store.places import RunUrl
from dfah_cli.workflow.freezing import FrozenPlan, plan_only
from dfah_cli.workflow.request import RunRequest

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from rich.console import RenderableType

    from dfah_cli.workflow.run import RunResult

METRICS = ("dar", "tar_seq", "gap", "flags_per_100_cases")
PAIRWISE = ("pairwise_decision", "pairwise_path")
LABELS = ("DAR", "TAR.seq", "gap", "flags / 100", "two agree: decision", "two agree: path")
PLANNED = ("plan", "policy", "calls", "cost", "run")
ABOUT = ("status", "verdict", "calls", "reused", "cost", "exit", "run")
# The least important first. Where the replays differ, only the chances that two replays agree can be compared.
SPARE = {
    False: ("gap", "two agree: decision", "two agree: path", "flags / 100"),
    True: ("gap", "flags / 100", "TAR.seq", "DAR"),
}
SPARE_ABOUT = ("reused", "exit", "calls", "cost", "status")


@frozen(kw_only=True)
class FrozenJob:
    """One job of a sweep, ready to run."""

    number: int
    job: SweepJob
    request: RunRequest
    plan: FrozenPlan
    only_plan: bool

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"job {self.number} ({self.job.label})"


@frozen(kw_only=True)
class JobOutcome:
    """What one job came to, as plain values: it may come from another process. error: None when it ran."""

    number: int
    varied: dict[str, str]
    exit_code: int
    error: str | None = None
    facts: dict[str, Any] = field(factory=dict)


def freeze_jobs(overrides: list[Override], config_name: str) -> list[FrozenJob]:
    """Every job's plan; nothing is dispatched.

    Raises: ConfigurationError naming every job that cannot be planned, or two jobs that are one run.
    """
    frozen_jobs: list[FrozenJob] = []
    refusals: list[str] = []
    with hydra_session():
        for number, job in enumerate(sweep_jobs(overrides), start=1):
            try:
                config = compose_run(list(job.overrides), config_name)
                request = freeze(config)
                frozen_jobs.append(
                    FrozenJob(
                        number=number,
                        job=job,
                        request=request,
                        plan=plan_only(request),
                        only_plan=config.get("plan") == "only",
                    )
                )
            except DFAHError as refusal:
                refusals.extend(f"job {number} ({job.label}): {line}" for line in str(refusal).splitlines())
    refusals.extend(collisions(frozen_jobs))
    if refusals:
        raise ConfigurationError(lines(refusals))
    return frozen_jobs


def collisions(jobs: Sequence[FrozenJob]) -> Iterable[str]:
    """Two jobs that are one run, or that would write different runs into one directory."""
    first_with: dict[Path | RunUrl, FrozenJob] = {}
    first_same: dict[tuple[Path | RunUrl, str | None, str], FrozenJob] = {}
    for job in jobs:
        place = job.plan.run_dir.absolute()
        identity = (place, job.plan.policy_sha256, str(job.request.mode))
        other = first_with.setdefault(place, job)
        twin = first_same.setdefault(identity, job)
        if other.plan.plan.sha256 != job.plan.plan.sha256:
            yield f"{other.name} and {job.name} would share {job.plan.run_dir} with different designs; drop out=…"
        elif twin is not job:
            yield f"{twin.name} and {job.name} are one and the same run; drop one of them"


def run_jobs(screen: Screen, jobs: Sequence[FrozenJob], *, debug_log: str | None) -> list[JobOutcome]:
    """The outcomes of the jobs, in order; an interruption ends the sweep."""
    outcomes: list[JobOutcome] = []
    for job in jobs:
        outcome = _outcome_of(job, lambda job=job: _watched(screen, job, debug_log))  # type: ignore[misc]
        outcomes.append(outcome)
        if outcome.exit_code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
            break
    return outcomes


def _watched(screen: Screen, job: FrozenJob, debug_log: str | None) -> RunResult:
    from dfah_cli.cli.progress import watching
    from dfah_cli.workflow.run import execute

    with watching(screen, debug_log=debug_log) as observer:
        return execute(job.request, observer)


def _outcome_of(job: FrozenJob, run: Callable[[], RunResult]) -> JobOutcome:
    """What one job came to; its failure is an outcome too, so that the other jobs run."""
    varied = dict(job.job.varied)
    try:
        result = run()
    except DFAHError as failure:
        code = int(failure.exit_code)
        return JobOutcome(number=job.number, varied=varied, exit_code=code, error=str(failure))
    return JobOutcome(number=job.number, varied=varied, exit_code=int(result.exit_code), facts=facts_of(result))


def facts_of(result: RunResult) -> dict[str, Any]:
    """The columns of the summary, for a table and for JSON."""
    from dfah_cli.gate.outcome import gate_rows
    from dfah_cli.report.view import metric_rows, pairwise_rows

    found = (*metric_rows(result.report, gate_rows(result.gate_result)), *pairwise_rows(result.report))
    rows = {row.key: row for row in found}
    return {
        "run_plan_sha256": result.report.run_plan_sha256,
        "replays": result.report.replays_requested,
        **{name: _metric(rows.get(name)) for name in (*METRICS, *PAIRWISE)},
        "status": str(result.report.status),
        "verdict": str(result.outcome.verdict) if result.outcome.verdict else None,
        "calls_made": result.calls_made,
        "reused": result.reused,
        "cost_usd": result.report.total_cost_usd,
        "run_dir": str(result.run_dir),
    }


def _metric(row: Any) -> dict[str, Any]:
    return {} if row is None else {"value": row.value, "interval": row.interval}


def show_outcomes(screen: Screen, outcomes: Sequence[JobOutcome], planned: int) -> ExitCode:
    """One table for the whole sweep; returns the code that speaks for all of it."""
    code = most_serious([ExitCode(outcome.exit_code) for outcome in outcomes])
    if screen.json:
        jobs = [
            {"job": one.number, "overrides": one.varied, "exit_code": one.exit_code, "error": one.error, **one.facts}
            for one in outcomes
        ]
        screen.document({"format": "dfah-sweep-1", "jobs": jobs, "jobs_planned": planned, "exit_code": int(code)})
        return code
    varied = list(outcomes[0].varied) if outcomes else []
    if screen.tables:
        screen.show(_tables(outcomes, screen.width))
    else:
        facts = [[*one.varied.values(), *map(_one_line, _numbers(one)), *_about(one)] for one in outcomes]
        screen.table([*varied, *METRICS, *PAIRWISE, *ABOUT], facts)
    screen.remarks(*_remarks(outcomes, planned))
    return code


def _tables(outcomes: Sequence[JobOutcome], width: int) -> Iterator[RenderableType]:
    """What the jobs measured, and what they came to; on a narrow terminal the columns that carry the decision stay."""
    from rich.text import Text

    from dfah_cli.render.grid import grid

    varied = list(outcomes[0].varied) if outcomes else []
    numbers: list[list[str | tuple[str, ...]]] = [
        [str(one.number), *one.varied.values(), *map(_two_lines, _numbers(one))] for one in outcomes
    ]
    yield from grid(["job", *short_names(varied), *LABELS], numbers, width, SPARE[_replays_differ(outcomes)])
    yield Text("")
    yield from grid(["job", *ABOUT], [[str(one.number), *_about(one)] for one in outcomes], width, SPARE_ABOUT)
    yield Text("")


def short_names(keys: Sequence[str]) -> list[str]:
    """The last part of each key where that names it as well: `order_swap_rate` of `agent.order_swap_rate`."""
    last = [key.rsplit(".", 1)[-1] for key in keys]
    taken = Counter([*last, "job", *LABELS])
    return [short if taken[short] == 1 else key for short, key in zip(last, keys, strict=True)]


def _replays_differ(outcomes: Sequence[JobOutcome]) -> bool:
    return len({outcome.facts["replays"] for outcome in outcomes if outcome.facts}) > 1


def _numbers(outcome: JobOutcome) -> list[tuple[str, str]]:
    found = (outcome.facts.get(name, {}) for name in (*METRICS, *PAIRWISE))
    return [(one.get("value", "—"), one.get("interval", "")) for one in found]


def _one_line(number: tuple[str, str]) -> str:
    value, interval = number
    return f"{value} [{interval}]" if interval else value


def _two_lines(number: tuple[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, number))


def _about(outcome: JobOutcome) -> list[str]:
    facts = outcome.facts
    if not facts:
        return ["failed", "—", "—", "—", "—", str(outcome.exit_code), "—"]
    return [
        facts["status"],
        facts["verdict"] or "—",
        str(facts["calls_made"]),
        str(facts["reused"]),
        f"${facts['cost_usd']:.2f}",
        str(outcome.exit_code),
        facts["run_dir"],
    ]


def _remarks(outcomes: Sequence[JobOutcome], planned: int) -> Iterable[str]:
    for outcome in outcomes:
        if outcome.error is not None:
            yield f"job {outcome.number}: {outcome.error}"
    if _replays_differ(outcomes):
        yield (
            "the jobs differ in replays: DAR, TAR, gap and flags are not comparable across replay counts; "
            "how often two replays agree is"
        )
    if len(outcomes) < planned:
        yield f"{planned - len(outcomes)} of {planned} jobs were not started"


def show_plans(screen: Screen, jobs: Sequence[FrozenJob]) -> None:
    """The frozen plans of a sweep, one line each."""
    from dfah_cli.cli.show import plan_document

    if screen.json:
        plans = [{"job": job.number, "overrides": dict(job.job.varied), **plan_document(job.plan)} for job in jobs]
        screen.document({"format": "dfah-plans-1", "plans": plans})
        return
    varied = [key for key, _ in jobs[0].job.varied]
    if screen.tables:
        from dfah_cli.render.grid import grid
        from dfah_cli.report.words import plan_tag

        names = ["job", *short_names(varied), *PLANNED]
        rows = [[str(job.number), *_plan_row(job, plan_tag)] for job in jobs]
        screen.show(grid(names, rows, screen.width, ("policy", "cost", "calls")))
        return
    screen.table([*varied, *PLANNED], [_plan_row(job, str) for job in jobs])


def _plan_row(job: FrozenJob, tag: Callable[[str], str]) -> list[str]:
    plan = job.plan
    cost = "unknown" if plan.cost_ceiling_usd is None else f"at most ${plan.cost_ceiling_usd:,.2f}"
    values = [value for _, value in job.job.varied]
    calls = str(plan.plan.episodes_planned)
    policy = "none" if plan.policy_sha256 is None else tag(plan.policy_sha256)
    return [*values, tag(plan.plan.sha256), policy, calls, cost, str(plan.run_dir)]
