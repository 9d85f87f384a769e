"""A frozen request -> a recorded run and its exit code. What both front ends call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from dfah_cli.errors import ExitCode
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.execution.events import Observer, silent
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.gate.outcome import Outcome, judge
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.records.suite import Suite
from dfah_cli.report.against import Against
from dfah_cli.report.record import Report
from dfah_cli.store.places import Place, RunUrl, place_of
from dfah_cli.workflow.engines import executed_by
from dfah_cli.workflow.export import check_place, write_export
from dfah_cli.workflow.freezing import FrozenPlan, load, plan_only
from dfah_cli.workflow.judging import against, baseline_of_policy
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.request import RunRequest

__all__ = ["FrozenPlan", "RunResult", "execute", "load", "make_replay", "plan_only", "write_report_files"]

STOP_CODES = {"interrupted": ExitCode.INTERRUPTED, "terminated": ExitCode.TERMINATED}


@frozen(kw_only=True)
class RunResult:
    """What a request came to; the printed verdict and the exit code come from `outcome`.

    attempts: gates that are recorded with the run, this one included; None without one. files: reports that the
    request asked for, as they were written.
    """

    report: Report
    verified: VerifiedRun
    measurement: RunMeasurement
    gate_result: GateResult | None
    against: Against | None
    outcome: Outcome
    run_dir: Path | RunUrl
    calls_made: int
    reused: int
    stop_reason: str | None
    unfinished: str | None = None
    attempts: int | None = None
    files: tuple[Path | RunUrl, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """The code of the process: an interruption by a signal speaks first."""
        return STOP_CODES.get(self.stop_reason or "", self.outcome.code)


def make_replay(
    request: RunRequest, suite: Suite, observer: Observer = silent, *, parent: Mapping[str, str] | None = None
) -> Replay:
    """The replay a request describes. parent: plan digest and commitment of the run that it succeeds."""
    return Replay(
        suite=suite,
        replays=request.replays,
        seed=request.seed,
        sample_rate=request.sample_rate,
        episode_timeout_s=request.episode_timeout_s,
        only=request.case,
        limit=request.limit,
        schedule=request.schedule,
        tools_mode=request.tools,
        tools_file=request.tools_file,
        tools_key_env=request.tools_key_env,
        tools_results=request.tools_results,
        tools_latency=request.tools_latency,
        digest_key_env=request.digest_key_env,
        out=request.out,
        store=request.store,
        shards=request.shards,
        otel=request.otel,
        otel_file=request.otel_file,
        concurrency=request.concurrency,
        mode=request.mode,
        gate=request.policy,
        budget_usd=request.budget_usd,
        estimated_max_episode_cost_usd=request.max_episode_cost_usd,
        capture_tool_arguments=request.capture_tool_arguments,
        recover_stale_lease=request.recover_stale_lease,
        lease_token=request.lease_token,
        provenance={
            **references(request),
            **({} if parent is None else {"parent": dict(parent)}),
        },
        observer=observer,
    )


def references(request: RunRequest) -> dict[str, Any]:
    """What the request named, for a successor of the run; a place on this machine and parameter values are left out."""
    suite = request.suite
    named: dict[str, Any] = {"adapter": request.adapter}
    if suite is not None and not Path(suite).is_absolute():
        named["suite"] = suite
    return named | ({"agent_parameters": sorted(request.agent)} if request.agent else {})


def execute(request: RunRequest, observer: Observer = silent, *, parent: Mapping[str, str] | None = None) -> RunResult:
    """The run of a request: planned, replayed or reused, verified, stated and gated; its report files are written.

    Raises: DFAHError; nothing was dispatched when it is a ConfigurationError or a LeaseError.
    """
    agent, suite = load(request)
    agent = executed_by(request, agent, suite)
    replay = make_replay(request, suite, observer, parent=parent)
    run_dir = replay.output_path(agent.manifest)
    for _, place in _report_places(request, run_dir):
        check_place(place)
    recorded = replay.record(agent)
    result = RunResult(
        report=recorded.report,
        verified=recorded.verified,
        measurement=recorded.measurement,
        gate_result=recorded.gate_result,
        against=against(recorded.report, recorded.verified, recorded.measurement, baseline_of_policy(request.policy)),
        outcome=judge(recorded.report, recorded.gate_result, mode=replay.mode),
        run_dir=run_dir,
        calls_made=recorded.tally.calls,
        reused=recorded.tally.reused,
        stop_reason=recorded.tally.stop_reason,
        unfinished=recorded.unfinished,
        attempts=recorded.attempts,
    )
    return evolve(result, files=write_report_files(request, result))


def write_report_files(request: RunRequest, result: RunResult) -> tuple[Path | RunUrl, ...]:
    """The report files a request asks for; by default they lie in the run directory."""
    if not request.report:
        return ()
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.rendering import prepare, render

    analysis = analyze(result.run_dir, mode=result.report.mode, keep_examples=True)
    rendered = prepare(analysis.report, result.gate_result, analysis.verified, analysis.measurement, result.against)
    places = _report_places(request, result.run_dir)
    return tuple(write_export(place, render(rendered, kind)) for kind, place in places)


def _report_places(request: RunRequest, run_dir: Place) -> list[tuple[str, Place]]:
    """Format and place of each file that is asked for."""
    if not request.report:
        return []
    from dfah_cli.workflow.rendering import FILE_NAMES

    return [(one.format, place_of(one.file or run_dir / FILE_NAMES[one.format])) for one in request.report]
