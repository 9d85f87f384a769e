"""The journey of one run: open, settle, replay, verify, state, gate, publish. The one place it is put together.

What is already recorded is read, verified and reused; a run that is finished is not written to again unless there is
something new to say about it.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import Agent
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.canonical import canonical_bytes
from dfah_cli.engines.drive import Halt, drive
from dfah_cli.engines.local import check_ready, run_local
from dfah_cli.evidence.verify import VerifiedRun, verify
from dfah_cli.execution.clock import Clock
from dfah_cli.execution.events import Event, Observer, PlanReady, RunFinished, RunStarted
from dfah_cli.execution.recovery import NOTHING_YET, survey
from dfah_cli.execution.runner import Runner
from dfah_cli.execution.session import Settings, Tally
from dfah_cli.gate.evaluate import Gate, GateResult
from dfah_cli.gate.record import GateRecord, gate_record
from dfah_cli.metrics.measure import RunMeasurement, measure
from dfah_cli.metrics.table import VALID
from dfah_cli.planning.plan import PlannedRun
from dfah_cli.records.codec import plain
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.journal import canonical_text, time_text
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.report.recheck import in_mode
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from dfah_cli.store.protocol import RunStore, RunWriter, SlotState
from dfah_cli.workflow.checking import BelievedRun, believe
from dfah_cli.workflow.grounds import grounds_for
from dfah_cli.workflow.observing import AS_IS, Observed
from dfah_cli.workflow.opening import check_same_design
from dfah_cli.workflow.parts import every_part
from dfah_cli.workflow.publishing import known_gate, publish, published_report
from dfah_cli.workflow.settling import Settling
from dfah_cli.workflow.taping import taped


@frozen(kw_only=True)
class Job:
    """Everything one run needs. where: how messages name the store. provenance: recorded, never hashed."""

    planned: PlannedRun
    manifest: Manifest
    agent: Agent
    registry: ToolRegistry | None
    tools: tuple[ToolSpec, ...]
    settings: Settings
    mode: ReplayMode
    policy: GatePolicy | None
    where: str
    provenance: dict[str, Any]
    recover_stale_lease: bool = False
    lease_token: str | None = None
    halt: Halt | None = None
    observed: Observed = AS_IS


@frozen(kw_only=True)
class Recorded:
    """What a run came to. unfinished: what other runners hold or left, so that nothing was published; else None."""

    report: Report
    verified: VerifiedRun
    measurement: RunMeasurement
    gate_result: GateResult | None
    gate_ordinal: int | None
    tally: Tally
    unfinished: str | None = None

    @property
    def attempts(self) -> int | None:
        """Gates that are recorded with the run, this one included; None without a gate."""
        if self.gate_ordinal is None:
            return None
        return len({body["ordinal"] for body in self.verified.gates} | {self.gate_ordinal})


def record_run(job: Job, store: RunStore, clock: Clock, observer: Observer) -> Recorded:
    """Runs what is left of the plan and states the result.

    Raises: DesignMismatchError, LeaseError before anything is called; StorageError when the disk fails.
    """
    check_same_design(store.peek_plan(), job.planned.plan, job.where)
    if store.peek_plan() is None:
        # Before the first write, so that nothing is left of a run that could not begin.
        check_ready(job.agent)
    observer(_plan_ready(job))
    finished = _finished(job, store)
    if finished is not None:
        tally = Tally(reused=finished.run.episodes)
        observer(RunStarted(planned=finished.run.episodes, reused=finished.run.episodes))
        return _conclude_finished(job, store, clock, observer, finished, tally)
    with _open(job, store, clock) as writer:
        _check_recorded(job, writer)
        with taped(job, writer, clock) as prepared:
            tally = every_part(writer, lambda: _replay(prepared, writer, clock, observer))
        reader = writer.reader()
        verified = verify(reader.plan_bytes, reader.manifest_bytes, reader.records())
        if verified.complete and writer.unfinished() is None:
            writer.seal(episodes=verified.episodes, episode_root=verified.episode_root, commitment=verified.commitment)
        recorded = _conclude(job, writer, clock, verified, tally)
    observer(_run_finished(recorded))
    return recorded


def _plan_ready(job: Job) -> PlanReady:
    plan, cases = job.planned.plan, job.planned.cases
    estimate = job.settings.estimate_nusd
    ceiling = estimate * plan.episodes_planned if estimate else None
    if job.settings.budget_nusd is not None:
        ceiling = min(job.settings.budget_nusd, ceiling) if ceiling is not None else job.settings.budget_nusd
    return PlanReady(
        plan_sha256=plan.sha256,
        suite_id=plan.suite_id,
        suite_version=plan.suite_version,
        cases=len(cases),
        replays=plan.replays,
        episodes_planned=plan.episodes_planned,
        out=job.where,
        cost_ceiling_nusd=ceiling,
        raw_case_ids=sum(case.artifact_case_id is None for case in cases.values()),
    )


def _run_finished(recorded: Recorded) -> RunFinished:
    tally = recorded.tally
    return RunFinished(
        committed=recorded.verified.episodes,
        reused=tally.reused,
        failed=int((recorded.verified.table.status != VALID).sum()),
        spent_nusd=recorded.report.total_cost_nusd,
        stop_reason=tally.stop_reason,
    )


def _check_recorded(job: Job, writer: RunWriter) -> None:
    """Nothing, when all that is recorded holds: an altered report must not be replaced by a new one.

    Raises: ArtifactError naming every claim that does not hold, before anything is called.
    """
    if any(writer.slots):
        believe(writer.reader(), job.where)


def _finished(job: Job, store: RunStore) -> BelievedRun | None:
    """The verified run, when it is sealed: then nothing is left to run and no lease is needed."""
    if store.peek_plan() is None:
        return None
    reader = store.open_reader(sync=True)
    if not reader.tail().sealed:
        return None
    return believe(reader, job.where)


def _open(job: Job, store: RunStore, clock: Clock) -> RunWriter:
    return store.open_writer(
        plan_bytes=job.planned.plan.encoded,
        manifest_bytes=canonical_bytes(plain(job.manifest)),
        clock=lambda: time_text(clock.now()),
        recover_stale_lease=job.recover_stale_lease,
        lease_token=job.lease_token,
        concurrency=job.settings.concurrency,
    )


def _replay(job: Job, writer: RunWriter, clock: Clock, observer: Observer) -> Tally:
    untouched = not any(writer.slots)
    seen = NOTHING_YET if untouched else survey(writer.reader().records())
    settling = _settling(job, writer, clock)
    if settling is not None and settling.settled():
        recorded = sum(state == SlotState.COMMITTED for state in writer.slots)
        observer(RunStarted(planned=len(writer.slots), reused=recorded))
        return Tally(reused=recorded, stop_reason=settling.reason)
    if any(state < SlotState.COMMITTED for state in writer.slots):
        writer.commit_now([_session(job, writer, clock)])

    def watched(event: Event) -> None:
        observer(event)
        if settling is not None and runner.tally.stop_reason is None and settling.take(event):
            runner.request_stop(settling.reason)

    runner = Runner(
        planned=job.planned,
        agent=job.agent,
        manifest=job.manifest,
        registry=job.registry,
        tools=job.tools,
        writer=writer,
        survey=seen,
        settings=job.settings,
        clock=clock,
        observer=observer if settling is None else watched,
    )
    workers, limit_s = job.settings.concurrency, job.planned.plan.episode_timeout_s
    drive(lambda: run_local(runner, workers, job.agent, limit_s=limit_s), runner.request_stop, job.halt)
    return runner.tally


def _settling(job: Job, writer: RunWriter, clock: Clock) -> Settling | None:
    """What ends the run early; None when its policy, or the lack of one, wants the whole plan."""
    if job.policy is None or job.policy.stop == "never":
        return None
    return Settling(job.policy, job.planned, writer, clock.now().date())


def _session(job: Job, writer: RunWriter, clock: Clock) -> dict[str, Any]:
    return {
        "t": "session",
        "w": writer.token,
        "at": time_text(clock.now()),
        "provenance": canonical_text(job.provenance),
    }


def _conclude(job: Job, writer: RunWriter, clock: Clock, verified: VerifiedRun, tally: Tally) -> Recorded:
    """States the report and the verdict, and publishes what is not published yet."""
    measurement = measure(verified.table, replays=verified.plan.replays)
    report = state_report(verified, measurement, mode=job.mode)
    unfinished = writer.unfinished()
    gate = _gated(job, clock, verified, measurement, report)
    gate_ordinal = None if unfinished is not None else publish(writer, verified, report, gate)[1]
    return Recorded(
        report=report,
        verified=verified,
        measurement=measurement,
        gate_result=None if gate is None else gate.result,
        gate_ordinal=gate_ordinal,
        tally=tally,
        unfinished=unfinished,
    )


def _gated(
    job: Job, clock: Clock, verified: VerifiedRun, measurement: RunMeasurement, report: Report
) -> GateRecord | None:
    """The record that the gate would leave now; None without a policy."""
    if job.policy is None:
        return None
    at = clock.now()
    grounds = grounds_for(job.policy, verified, measurement, on=at.date())
    result = Gate(job.policy).evaluate(report, grounds)
    return gate_record(report, job.policy, result, at=at, attempt=len(verified.gates) + 1, grounds=grounds)


def _conclude_finished(
    job: Job, store: RunStore, clock: Clock, observer: Observer, finished: BelievedRun, tally: Tally
) -> Recorded:
    """The result of a sealed run; the lease is taken only when something new is to be published."""
    verified, measurement = finished.run, finished.measurement
    report = in_mode(finished.fresh, job.mode)
    ordinal = published_report(verified, report)
    gate = _gated(job, clock, verified, measurement, report)
    known = None if ordinal is None or gate is None else known_gate(verified, gate, ordinal)
    if ordinal is None or (gate is not None and known is None):
        with _open(job, store, clock) as writer:
            recorded = _conclude(job, writer, clock, verified, tally)
    else:
        recorded = Recorded(
            report=report,
            verified=verified,
            measurement=measurement,
            gate_result=None if gate is None else gate.result,
            gate_ordinal=known,
            tally=tally,
        )
    observer(_run_finished(recorded))
    return recorded
