"""What an adapter did -> the terminal record of its slot. Pure, and the only maker of an `Episode`.

The order of judgement: the clock, then the contract (type, manifest, wire, trajectory), then the tools, then
refusal, then the decision. Text of the user's never enters a record.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from attrs import evolve, frozen

from dfah_cli.errors import AgentContractError, ToolExecutionError, ValidationError
from dfah_cli.execution.ends import Lost, ManifestChanged, Outcome, Raised, Returned, TimedOut
from dfah_cli.execution.hand_built import persistable
from dfah_cli.parsing import parse_decision
from dfah_cli.records.enums import DispatchState, EpisodeStatus, ToolExecutionState
from dfah_cli.records.episode import (
    NO_USAGE,
    NOT_PARSED,
    AgentResult,
    Decision,
    Episode,
    EpisodeError,
    ParseProvenance,
    Spent,
    Usage,
)
from dfah_cli.records.fields import check_printable
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.money import cost_nusd
from dfah_cli.records.run_plan import Slot
from dfah_cli.records.tool_source import NOT_RECORDED
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.records.trajectory import UNAVAILABLE, ToolCall, Trajectory
from dfah_cli.records.wire import WireRequest
from dfah_cli.redaction import credential_shape


@frozen(kw_only=True)
class Attempt:
    """One dispatched slot and how it ended. session: the recorded tool calls, None without a registry.
    unrecorded: calls that a replayed recording had no result for. troubles: why tool calls failed, for the log only.

    spent: what an episode without a result told of its usage and cost; None when it told nothing.
    """

    slot: Slot
    key: str
    outcome: Outcome
    session: Trajectory | None
    started_at: datetime
    ended_at: datetime
    latency_us: int
    unrecorded: int = 0
    troubles: tuple[str, ...] = ()
    spent: Spent | None = None


@frozen(kw_only=True)
class _Verdict:
    """The judged part of an episode."""

    status: EpisodeStatus
    error: EpisodeError | None = None
    trajectory: Trajectory = UNAVAILABLE
    decision: Decision | None = None
    parse: ParseProvenance = NOT_PARSED
    wire: WireRequest | None = None
    usage: Usage = NO_USAGE
    cost_nusd: int = 0
    response: str | None = None


class Judge:
    """Judges the attempts of one run."""

    def __init__(self, manifest: Manifest, tools: Mapping[str, ToolSpec], *, capture_arguments: bool) -> None:
        self._manifest = manifest
        self._tools = tools
        self._capture = capture_arguments
        self._ontology = frozenset(manifest.decision_ontology)

    def episode(self, attempt: Attempt) -> Episode:
        """The terminal record of an attempt."""
        if isinstance(attempt.outcome, Lost):
            return self.interrupted(attempt.slot, attempt.key, intended_at=attempt.started_at, now=attempt.ended_at)
        verdict = self._judge(attempt)
        if attempt.spent is not None and not isinstance(attempt.outcome, Returned):
            told = attempt.spent
            verdict = evolve(verdict, usage=told.usage, cost_nusd=told.cost_nusd, response=told.provider_response_id)
        return self._record(attempt, verdict)

    def interrupted(self, slot: Slot, key: str, *, intended_at: datetime, now: datetime) -> Episode:
        """The terminal record of a slot whose intent has no outcome: it is never sent again."""
        error = EpisodeError(
            kind="unknown_after_dispatch",
            message="The request may have reached the provider before the run was interrupted; it is not sent again.",
            dispatch_state=DispatchState.UNKNOWN_AFTER_DISPATCH,
        )
        attempt = Attempt(
            slot=slot, key=key, outcome=TimedOut(), session=None, started_at=intended_at, ended_at=now, latency_us=0
        )
        return self._record(attempt, _Verdict(status=EpisodeStatus.INTERRUPTED, error=error))

    def _record(self, attempt: Attempt, verdict: _Verdict) -> Episode:
        unknown = verdict.status is EpisodeStatus.INTERRUPTED
        return Episode(
            episode_id=attempt.key[:32],
            manifest_hash=self._manifest.hash,
            suite_id=self._manifest.suite_id,
            suite_version=self._manifest.suite_version,
            case_id=attempt.slot.case_id,
            task=attempt.slot.task,
            replay_index=attempt.slot.replay_index,
            status=verdict.status,
            dispatch_state=DispatchState.UNKNOWN_AFTER_DISPATCH if unknown else DispatchState.COMPLETE,
            decision=verdict.decision,
            parse=verdict.parse,
            trajectory=verdict.trajectory,
            wire_request=verdict.wire,
            usage=verdict.usage,
            cost_nusd=verdict.cost_nusd,
            latency_us=attempt.latency_us,
            started_at=attempt.started_at,
            ended_at=attempt.ended_at,
            provider_response_id=verdict.response,
            error=_told(verdict.error, verdict.status, attempt.unrecorded),
        )

    def _judge(self, attempt: Attempt) -> _Verdict:
        outcome, observed = attempt.outcome, attempt.session or UNAVAILABLE
        if isinstance(outcome, TimedOut):
            return _Verdict(status=EpisodeStatus.PROVIDER_ERROR, error=_timeout(outcome), trajectory=observed)
        if isinstance(outcome, ManifestChanged):
            error = _error("manifest_changed", "The agent's manifest is not the one read before the run.")
            return _Verdict(status=EpisodeStatus.CONTRACT_ERROR, error=error, trajectory=observed)
        if isinstance(outcome, Raised):
            return _raised(outcome.problem, observed)
        assert isinstance(outcome, Returned)
        return self._returned(outcome.result, attempt.session)

    def _returned(self, result: AgentResult, session: Trajectory | None) -> _Verdict:
        wire, observed = result.wire_request, result.trajectory if session is None else session
        problem = self._contract_problem(result, session)
        if problem:
            return self._paid(result, EpisodeStatus.CONTRACT_ERROR, problem, observed=session or UNAVAILABLE)
        if session is None:
            observed = persistable(observed, capture=self._capture)
        if any(call.execution_state is not ToolExecutionState.EXECUTED for call in observed.tool_calls):
            return self._paid(result, EpisodeStatus.TOOL_ERROR, _TOOL_FAILED, observed=observed)
        if result.refused:
            error = _error("refusal", "The provider declined to answer.")
            return self._paid(result, EpisodeStatus.REFUSAL, error, observed=observed)
        parsed = parse_decision(result.output_text, self._ontology)
        if parsed.decision is None:
            error = _error("parse_failure", _PARSE_MESSAGES[parsed.provenance.reason or ""])
            return self._paid(result, EpisodeStatus.PARSE_FAILURE, error, observed=observed, parse=parsed.provenance)
        return _Verdict(
            status=EpisodeStatus.VALID,
            trajectory=observed,
            decision=parsed.decision,
            parse=parsed.provenance,
            wire=wire,
            usage=result.usage,
            cost_nusd=cost_nusd(result.cost_usd),
            response=result.provider_response_id,
        )

    def _paid(
        self,
        result: AgentResult,
        status: EpisodeStatus,
        error: EpisodeError,
        *,
        observed: Trajectory,
        parse: ParseProvenance = NOT_PARSED,
    ) -> _Verdict:
        """A failed episode whose cost and usage still count."""
        return _Verdict(
            status=status,
            error=error,
            trajectory=observed,
            parse=parse,
            wire=result.wire_request,
            usage=result.usage,
            cost_nusd=cost_nusd(result.cost_usd),
            response=result.provider_response_id,
        )

    def _contract_problem(self, result: AgentResult, session: Trajectory | None) -> EpisodeError | None:
        field = self._manifest.wire_problem(result.wire_request)
        if field:
            return _error("wire_manifest_mismatch", f"The wire request differs from the manifest in {field}.")
        if session is not None and not _same_path(result.trajectory, session):
            return _error("trajectory_mismatch", "The returned trajectory is not what the tool session recorded.")
        if not result.trajectory.state.observed:
            return _error("trajectory_unavailable", "The adapter returned no observed trajectory.")
        return None if session is not None else self._manual_problem(result.trajectory)

    def _manual_problem(self, trajectory: Trajectory) -> EpisodeError | None:
        for call in trajectory.tool_calls:
            spec = self._tools.get(call.name)
            if spec is None:
                return _error("undeclared_tool", "The trajectory has a tool that the suite does not declare.")
            if call.arguments_redacted or call.execution_state is ToolExecutionState.REJECTED:
                continue
            try:
                spec.validate_arguments(call.arguments)
            except ValidationError:
                return _error("invalid_tool_arguments", "A tool call in the trajectory breaks the tool's schema.")
        return None


def _same_path(returned: Trajectory, recorded: Trajectory) -> bool:
    """Identity is decided by what the session recorded, latencies aside."""
    if returned is recorded or returned == recorded:
        return True
    return returned.state is recorded.state and [_facts(c) for c in returned.tool_calls] == [
        _facts(c) for c in recorded.tool_calls
    ]


def _facts(call: ToolCall) -> tuple[object, ...]:
    return (*call.step, call.call_id)


def _told(error: EpisodeError | None, status: EpisodeStatus, unrecorded: int) -> EpisodeError | None:
    """The error, or the cause of it: what an agent does after a result was missing says nothing."""
    return _NOT_RECORDED if unrecorded and status is EpisodeStatus.TOOL_ERROR else error


def _raised(problem: BaseException, observed: Trajectory) -> _Verdict:
    failed_tool = any(call.execution_state is not ToolExecutionState.EXECUTED for call in observed.tool_calls)
    # Records validate themselves inside the adapter, so an invalid cost or wire request arrives as this.
    if isinstance(problem, AgentContractError | ValidationError):
        status, message = EpisodeStatus.CONTRACT_ERROR, "The adapter broke its contract with the harness."
    elif failed_tool or isinstance(problem, ToolExecutionError):
        status, message = EpisodeStatus.TOOL_ERROR, "A tool call was rejected or failed."
    else:
        status, message = EpisodeStatus.PROVIDER_ERROR, "The adapter raised an exception."
    return _Verdict(status=status, error=_error(exception_kind(problem), message), trajectory=observed)


def exception_kind(problem: BaseException) -> str:
    """Class name of an exception; a name that cannot stand in a record becomes `Exception`."""
    name = type(problem).__name__
    unfit = check_printable(name) is not None or len(name) > 120 or credential_shape(name) is not None
    return "Exception" if unfit else name


def _timeout(outcome: TimedOut) -> EpisodeError:
    if outcome.stalled_s:
        return _error(
            "episode_timeout",
            f"The time limit passed; the adapter blocked the event loop for {outcome.stalled_s:.1f} s of it.",
        )
    return _error("episode_timeout", "The adapter did not return within the time limit.")


def _error(kind: str, message: str) -> EpisodeError:
    return EpisodeError(kind=kind, message=message)


_TOOL_FAILED = _error("tool_capture_incomplete", "A tool call was requested, rejected or failed.")
_NOT_RECORDED = _error(NOT_RECORDED, "A tool call has no result in the recording that is replayed.")
_PARSE_MESSAGES = {
    "no_marker": "no_marker: the output has no line DECISION: LABEL.",
    "several_markers": "several_markers: the output has more than one DECISION line.",
    "unknown_label": "unknown_label: the DECISION line has no label of the suite.",
}
