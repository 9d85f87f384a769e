"""All replays of one case side by side, as hashes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.records import fields
from dfah_cli.records.enums import ChannelState, EpisodeStatus, ToolExecutionState
from dfah_cli.records.episode import Episode
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.trajectory import ToolCall


@frozen(kw_only=True)
class ToolCallDigest:
    """One tool call without content; hashes are 64 hex digits, None when there was nothing to hash."""

    name: str
    call_id: str | None
    arguments_hash: str | None
    output_hash: str | None
    execution_state: ToolExecutionState
    result_state: ChannelState
    schema_version: str = fields.SCHEMA_VERSION


@frozen(kw_only=True)
class EpisodeDigest:
    """One replay of the case. decision: None when none was accepted; error_kind: None when valid."""

    replay_index: int
    status: EpisodeStatus
    decision: str | None
    tool_sequence: tuple[str, ...]
    tool_calls: tuple[ToolCallDigest, ...]
    trajectory_state: ChannelState
    error_kind: str | None = None
    parse_reason: str | None = None
    cost_nusd: int = 0
    latency_us: int = 0
    schema_version: str = fields.SCHEMA_VERSION


@frozen(kw_only=True)
class CaseExplanation:
    """The replays of one case, sorted by replay index; fewer than planned when some were never recorded."""

    suite_id: str
    suite_version: str
    case_id: str
    task: str
    episodes: tuple[EpisodeDigest, ...]
    schema_version: str = fields.SCHEMA_VERSION


def explain(plan: RunPlan, case_id: str, episodes: Iterable[Episode]) -> CaseExplanation:
    """The explanation of one planned case from the episodes of its run; episodes of other cases are passed over.

    Raises: ConfigurationError when the plan has no such case.
    """
    if case_id not in plan.case_tasks:
        raise ConfigurationError(
            f"this run has no case of that id among its {len(plan.case_tasks)}; `dfah inspect RUN` lists them"
        )
    mine = sorted((e for e in episodes if e.case_id == case_id), key=lambda e: e.replay_index)
    return CaseExplanation(
        suite_id=plan.suite_id,
        suite_version=plan.suite_version,
        case_id=case_id,
        task=plan.case_tasks[case_id],
        episodes=tuple(_digest(episode) for episode in mine),
    )


def _digest(episode: Episode) -> EpisodeDigest:
    calls = tuple(map(_call, episode.trajectory.tool_calls))
    return EpisodeDigest(
        replay_index=episode.replay_index,
        status=episode.status,
        decision=None if episode.decision is None else episode.decision.label,
        tool_sequence=tuple(call.name for call in calls),
        tool_calls=calls,
        trajectory_state=episode.trajectory.state,
        error_kind=None if episode.error is None else episode.error.kind,
        parse_reason=episode.parse.reason,
        cost_nusd=episode.cost_nusd,
        latency_us=episode.latency_us,
    )


def _call(call: ToolCall) -> ToolCallDigest:
    return ToolCallDigest(
        name=call.name,
        call_id=call.call_id,
        arguments_hash=call.argument_hash,
        output_hash=call.output_hash,
        execution_state=call.execution_state,
        result_state=call.result_state,
    )
