"""A frozen request -> a recorded run and its exit code. What both front ends call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import Agent
from dfah_cli.adapter.reference import load_agent
from dfah_cli.errors import ConfigurationError, ExitCode, ManifestMismatchError
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.execution.events import Observer, silent
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.gate.outcome import Outcome, judge
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.planning.plan import PlannedRun
from dfah_cli.records.fields import kind_of
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.suite import Suite
from dfah_cli.records.wire import same_value
from dfah_cli.report.record import Report
from dfah_cli.workflow.replay import Replay
from dfah_cli.workflow.request import RunRequest

STOP_CODES = {"interrupted": ExitCode.INTERRUPTED, "terminated": ExitCode.TERMINATED}


@frozen(kw_only=True)
class FrozenPlan:
    """What a request would run: nothing was dispatched and nothing was written.

    cost_ceiling_usd: None when no estimate was given. policy_sha256: None without a gate.
    """

    planned: PlannedRun
    manifest: Manifest
    run_dir: Path
    policy_sha256: str | None
    cost_ceiling_usd: float | None

    @property
    def plan(self) -> RunPlan:
        """The plan itself."""
        return self.planned.plan


@frozen(kw_only=True)
class RunResult:
    """What a request came to; the printed verdict and the exit code come from `outcome`."""

    report: Report
    verified: VerifiedRun
    measurement: RunMeasurement
    gate_result: GateResult | None
    outcome: Outcome
    run_dir: Path
    calls_made: int
    reused: int
    stop_reason: str | None

    @property
    def exit_code(self) -> ExitCode:
        """The code of the process: an interruption by a signal speaks first."""
        return STOP_CODES.get(self.stop_reason or "", self.outcome.code)


def load(request: RunRequest) -> tuple[Agent, Suite]:
    """The configured agent and the suite it is run on.

    Raises: ConfigurationError for a reference that cannot be imported, parameters the agent does not take, or an agent
    that is bound to another suite; ManifestMismatchError for an expectation its manifest does not meet.
    """
    agent = load_agent(request.adapter)
    if request.agent:
        agent = _with_parameters(agent, request.agent, request.adapter)
    bound = getattr(agent, "suite", None)
    if request.suite is None:
        if not isinstance(bound, Suite):
            raise ConfigurationError(f"{request.adapter} is bound to no suite; name one (--suite NAME or suite=NAME)")
        suite = bound
    else:
        suite = Suite.load(request.suite)
        if isinstance(bound, Suite) and bound.suite_id != suite.suite_id and hasattr(agent, "for_suite"):
            agent = agent.for_suite(suite)
    _check_expected(agent.manifest, request.expected, request.adapter)
    return agent, suite


def _with_parameters(agent: Agent, parameters: dict[str, Any], reference: str) -> Agent:
    configure = getattr(agent, "with_parameters", None)
    if configure is None:
        raise ConfigurationError(
            f"agent: {reference} takes no parameters; give it a method with_parameters(mapping), or leave `agent` out"
        )
    configured: Agent = configure(parameters)
    return configured


def _check_expected(manifest: Manifest, expected: dict[str, Any], reference: str) -> None:
    for name, value in expected.items():
        found = getattr(manifest, name, None)
        if not same_value(found, value):
            told = f"{found!r}" if isinstance(found, str | int | float) else kind_of(found)
            raise ManifestMismatchError(
                f"manifest.{name}: the manifest of {reference} has {told} and the configuration expects {value!r}"
            )


def make_replay(request: RunRequest, suite: Suite, observer: Observer = silent) -> Replay:
    """The replay a request describes."""
    if request.engine.name != "local":
        raise ConfigurationError(f"engine: {request.engine.name} is not part of this version; use engine=local")
    return Replay(
        suite=suite,
        replays=request.replays,
        seed=request.seed,
        sample_rate=request.sample_rate,
        episode_timeout_s=request.episode_timeout_s,
        only=request.case,
        limit=request.limit,
        out=request.out,
        store=request.store,
        concurrency=request.concurrency,
        mode=request.mode,
        gate=request.policy,
        budget_usd=request.budget_usd,
        estimated_max_episode_cost_usd=request.max_episode_cost_usd,
        capture_tool_arguments=request.capture_tool_arguments,
        recover_stale_lease=request.recover_stale_lease,
        lease_token=request.lease_token,
        observer=observer,
    )


def plan_only(request: RunRequest) -> FrozenPlan:
    """The frozen plan of a request."""
    agent, suite = load(request)
    replay = make_replay(request, suite)
    planned = replay.plan(agent)
    estimate = request.max_episode_cost_usd
    ceiling = None if estimate is None else estimate * planned.plan.episodes_planned
    if request.budget_usd is not None:
        ceiling = request.budget_usd if ceiling is None else min(ceiling, request.budget_usd)
    return FrozenPlan(
        planned=planned,
        manifest=agent.manifest,
        run_dir=replay.output_path(agent.manifest),
        policy_sha256=None if request.policy is None else request.policy.sha256,
        cost_ceiling_usd=ceiling,
    )


def execute(request: RunRequest, observer: Observer = silent) -> RunResult:
    """The run of a request: planned, replayed or reused, verified, stated and gated; its report files are written.

    Raises: DFAHError; nothing was dispatched when it is a ConfigurationError or a LeaseError.
    """
    agent, suite = load(request)
    replay = make_replay(request, suite, observer)
    recorded = replay.record(agent)
    run_dir = replay.output_path(agent.manifest)
    result = RunResult(
        report=recorded.report,
        verified=recorded.verified,
        measurement=recorded.measurement,
        gate_result=recorded.gate_result,
        outcome=judge(recorded.report, recorded.gate_result, mode=replay.mode),
        run_dir=run_dir,
        calls_made=recorded.tally.calls,
        reused=recorded.tally.reused,
        stop_reason=recorded.tally.stop_reason,
    )
    write_report_files(request, result)
    return result


def write_report_files(request: RunRequest, result: RunResult) -> tuple[Path, ...]:
    """The report files a request asks for; by default they lie in the run directory."""
    if not request.report:
        return ()
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.export import write_export
    from dfah_cli.workflow.rendering import FILE_NAMES, prepare, render

    analysis = analyze(result.run_dir, mode=result.report.mode, keep_examples=True)
    rendered = prepare(analysis.report, result.gate_result, analysis.verified, analysis.measurement)
    places = [(one.format, Path(one.file or result.run_dir / FILE_NAMES[one.format])) for one in request.report]
    return tuple(write_export(place, render(rendered, kind)) for kind, place in places)
