"""A trajectory that an adapter built by hand, without what may not be persisted. Pure."""

from __future__ import annotations

from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.redaction import credential_shape, strings_in


def persistable(trajectory: Trajectory, *, capture: bool) -> Trajectory:
    """A hand-built trajectory as it may be persisted."""
    if not trajectory.tool_calls:
        return trajectory
    calls = tuple(call if _may_stay(call, capture) else _redacted_call(call) for call in trajectory.tool_calls)
    return Trajectory.of(calls)


def _may_stay(call: ToolCall, capture: bool) -> bool:
    return call.arguments_redacted or (capture and not any(map(credential_shape, strings_in(call.arguments))))


def _redacted_call(call: ToolCall) -> ToolCall:
    return ToolCall(
        name=call.name,
        arguments_hash=call.argument_hash,
        arguments_redacted=True,
        call_id=call.call_id,
        output_hash=call.output_hash,
        result_state=call.result_state,
        execution_state=call.execution_state,
        latency_ms=call.latency_ms,
    )
