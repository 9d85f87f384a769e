"""Ordered tool calls, as hashes unless capture was asked for."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import digest
from dfah_cli.errors import ValidationError
from dfah_cli.records import fields
from dfah_cli.records.enums import ChannelState, ToolExecutionState

# One step of a path as metrics see it: name, arguments hash, output hash, result state, execution state.
Step = tuple[str, str | None, str | None, str, str]


@frozen(kw_only=True)
class ToolCall:
    """One requested tool call and what became of it.

    arguments: empty when redacted; then only `arguments_hash` is kept.
    latency_ms: milliseconds; None when not measured.
    """

    name: str = field(validator=fields.public_name)
    arguments: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.json_map)
    arguments_hash: str | None = field(default=None, validator=fields.optional(fields.digest64))
    arguments_redacted: bool = field(default=False, validator=fields.flag)
    call_id: str | None = field(default=None, validator=fields.optional(fields.public_name))
    output_hash: str | None = field(default=None, validator=fields.optional(fields.digest64))
    result_state: ChannelState = field(
        default=ChannelState.UNAVAILABLE,
        converter=fields.to_channel_state,
        validator=fields.instance_of(ChannelState),
    )
    execution_state: ToolExecutionState = field(
        default=ToolExecutionState.EXECUTED,
        converter=fields.to_execution_state,
        validator=fields.instance_of(ToolExecutionState),
    )
    latency_ms: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        problem = _call_problem(self)
        if problem:
            raise ValidationError(f"ToolCall: {problem}")

    @property
    def argument_hash(self) -> str | None:
        """Digest of the arguments; None when they could not be hashed."""
        if self.arguments_hash is not None or self.arguments_redacted:
            return self.arguments_hash
        return digest(self.arguments)

    @property
    def step(self) -> Step:
        """What takes part in path identity; call id and latency do not."""
        return (
            self.name,
            self.argument_hash,
            self.output_hash,
            self.result_state.value,
            self.execution_state.value,
        )


def _call_problem(call: ToolCall) -> str | None:
    executed = call.execution_state is ToolExecutionState.EXECUTED
    unanswered = call.execution_state in (ToolExecutionState.REQUESTED, ToolExecutionState.REJECTED)
    if executed and not call.result_state.observed:
        return "an executed call needs an observed result_state"
    if executed and call.output_hash is None:
        return "an executed call with an observed result needs output_hash"
    if unanswered and call.output_hash is not None:
        return "a requested or rejected call has no output, so no output_hash"
    if call.arguments_redacted:
        if call.arguments:
            return "redacted arguments must be empty"
        if call.arguments_hash is None and call.execution_state is not ToolExecutionState.REJECTED:
            return "redacted arguments need arguments_hash"
    elif call.arguments_hash is not None and call.arguments_hash != digest(call.arguments):
        return "arguments_hash is not the digest of the arguments"
    return None


@frozen(kw_only=True)
class Trajectory:
    """The observable path of one episode; `observed_empty` means that no tool was called, and that this is known."""

    state: ChannelState = field(converter=fields.to_channel_state, validator=fields.instance_of(ChannelState))
    tool_calls: tuple[ToolCall, ...] = field(
        default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(ToolCall))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        if bool(self.tool_calls) != (self.state is ChannelState.OBSERVED_NONEMPTY):
            raise ValidationError(
                f"Trajectory: state {self.state.value} with {len(self.tool_calls)} tool calls; "
                "calls go with observed_nonempty and with nothing else"
            )

    @classmethod
    def of(cls, calls: tuple[ToolCall, ...]) -> Trajectory:
        """The observed trajectory of these calls, which may be none."""
        return cls(state=ChannelState.OBSERVED_NONEMPTY if calls else ChannelState.OBSERVED_EMPTY, tool_calls=calls)


UNAVAILABLE = Trajectory(state=ChannelState.UNAVAILABLE)
