"""Episodes and intents as log bodies, and back.

A body holds integers, strings, booleans and null only; arbitrary JSON stands in it as the string of its canonical
text, so that its digest can be recomputed. What the plan, the manifest and the key already say is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# By name: an adapter that replaces functions of this module must not reach what is recorded.
from orjson import OPT_UTC_Z as _UTC_Z
from orjson import dumps

from dfah_cli import canonical
from dfah_cli.canonical import canonical_bytes
from dfah_cli.records.enums import ChannelState, DispatchState, EpisodeStatus, ToolExecutionState
from dfah_cli.records.episode import NO_USAGE, Decision, Episode, EpisodeError, ParseProvenance, Usage
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.records.wire import WireRequest, parameters_digest

Body = dict[str, Any]

_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def time_text(moment: datetime) -> str:
    """A moment as UTC ISO 8601 with microseconds, always 27 characters."""
    # orjson is several times as fast as isoformat, and this is on the way of every episode.
    # It leaves out the fraction of a whole second.
    if moment.tzinfo is UTC and moment.microsecond:
        return dumps(moment, option=_UTC_Z)[1:-1].decode()
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


def canonical_text(value: Any) -> str:
    """Arbitrary JSON as it stands inside a body."""
    return canonical_bytes(value).decode()


def intent_body(*, ordinal: int, key: str, at: str, reserved_nusd: int, idempotency_key: str) -> Body:
    """The record that is durable before the adapter is called."""
    return {
        "t": "dispatching",
        "i": ordinal,
        "k": key,
        "at": at,
        "reserved_nusd": reserved_nusd,
        "idem": idempotency_key,
    }


def planned_body(start: int, stop: int) -> Body:
    """A window of the schedule, `start` inclusive, `stop` exclusive, that is about to be worked on."""
    return {"t": "planned", "from": start, "to": stop}


def note_body(kind: str, at: str, text_sha256: str) -> Body:
    """A remark that changes no state; its text is not kept, only its digest."""
    return {"t": "note", "kind": kind, "at": at, "text_sha256": text_sha256}


def episode_body(episode: Episode, *, ordinal: int, key: str, parameters_sha256: str) -> Body:
    """The terminal record of a slot. `parameters_sha256` stands for the manifest's parameter map."""
    return {
        "t": "episode",
        "i": ordinal,
        "k": key,
        "manifest_hash": episode.manifest_hash,
        "case_id": episode.case_id,
        "task": episode.task,
        "replay_index": episode.replay_index,
        "status": episode.status.value,
        "dispatch_state": episode.dispatch_state.value,
        "decision": None if episode.decision is None else episode.decision.label,
        "parse": _parse_body(episode.parse),
        "trajectory": _trajectory_body(episode.trajectory),
        "wire_request": _wire_body(episode.wire_request, parameters_sha256, episode.status),
        "usage": _usage_body(episode.usage),
        "cost_nusd": episode.cost_nusd,
        "latency_us": episode.latency_us,
        "started_at": time_text(episode.started_at),
        "ended_at": time_text(episode.ended_at),
        "response": episode.provider_response_id,
        "error": None if episode.error is None else _error_body(episode.error),
    }


def _parse_body(parse: ParseProvenance) -> Body:
    return {
        "strategy": parse.strategy,
        "raw_span": parse.raw_span,
        "accepted": parse.accepted,
        "fallback": parse.fallback,
        "confidence": None if parse.confidence is None else _share_text(parse.confidence),
        "reason": parse.reason,
    }


def _share_text(share: float) -> str:
    # A strict marker is certain, and most decisions are read from one.
    return _CERTAIN if share == 1.0 else canonical_text(share)


_CERTAIN = canonical_text(1.0)


def _trajectory_body(trajectory: Trajectory) -> Body:
    return {"state": trajectory.state.value, "calls": [_call_body(call) for call in trajectory.tool_calls]}


def _call_body(call: ToolCall) -> Body:
    return {
        "name": call.name,
        "arguments_hash": call.argument_hash,
        "arguments": None if call.arguments_redacted else canonical_text(call.arguments),
        "call_id": call.call_id,
        "output_hash": call.output_hash,
        "result_state": call.result_state.value,
        "execution_state": call.execution_state.value,
        "latency_us": None if call.latency_ms is None else round(call.latency_ms * 1000),
    }


def _wire_body(wire: WireRequest | None, parameters_sha256: str, status: EpisodeStatus) -> Body | None:
    if wire is None:
        return None
    # A matching echo equals the manifest's map as JSON, so it is written with the manifest's own digest.
    mismatched = status is EpisodeStatus.CONTRACT_ERROR
    return {
        "provider": wire.provider,
        "model": wire.model,
        "endpoint": wire.endpoint,
        "adapter": wire.adapter,
        "adapter_version": wire.adapter_version,
        "parameters_attested": wire.parameters_attested,
        "parameters_sha256": parameters_digest(wire.parameters) if mismatched else parameters_sha256,
        "payload_hash": wire.payload_hash,
    }


def _usage_body(usage: Usage) -> Body | None:
    if usage is NO_USAGE or usage == NO_USAGE:
        return None
    counts: Body = {name: getattr(usage, name) for name in _COUNTS}
    counts["provider_usage"] = canonical_text(usage.provider_usage)
    return counts


def _error_body(error: EpisodeError) -> Body:
    return {
        "kind": error.kind,
        "message": error.message,
        "retryable": error.retryable,
        "dispatch_state": error.dispatch_state.value,
    }


def episode_from_body(body: Mapping[str, Any], manifest: Manifest) -> Episode:
    """The episode a terminal body states; the body must have passed the evidence checks."""
    error = body["error"]
    return Episode(
        episode_id=body["k"][:32],
        manifest_hash=body["manifest_hash"],
        suite_id=manifest.suite_id,
        suite_version=manifest.suite_version,
        case_id=body["case_id"],
        task=body["task"],
        replay_index=body["replay_index"],
        status=EpisodeStatus(body["status"]),
        dispatch_state=DispatchState(body["dispatch_state"]),
        decision=_decision(body),
        parse=parse_from_body(body["parse"]),
        trajectory=trajectory_from_body(body["trajectory"]),
        wire_request=_wire(body["wire_request"], manifest),
        usage=_usage(body["usage"]),
        cost_nusd=body["cost_nusd"],
        latency_us=body["latency_us"],
        started_at=datetime.fromisoformat(body["started_at"]),
        ended_at=datetime.fromisoformat(body["ended_at"]),
        provider_response_id=body["response"],
        error=None if error is None else EpisodeError(**error),
    )


def _decision(body: Mapping[str, Any]) -> Decision | None:
    if body["decision"] is None:
        return None
    return Decision(label=body["decision"], confidence=_confidence(body["parse"]))


def _confidence(parse: Mapping[str, Any]) -> float | None:
    return None if parse["confidence"] is None else canonical.parse(parse["confidence"])


def parse_from_body(parse: Mapping[str, Any]) -> ParseProvenance:
    """The parse provenance of a terminal body."""
    return ParseProvenance(**{**parse, "confidence": _confidence(parse)})


def trajectory_from_body(trajectory: Mapping[str, Any]) -> Trajectory:
    """The trajectory of a terminal body."""
    return Trajectory(
        state=ChannelState(trajectory["state"]), tool_calls=tuple(_call(call) for call in trajectory["calls"])
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    arguments = call["arguments"]
    latency = call["latency_us"]
    return ToolCall(
        name=call["name"],
        arguments={} if arguments is None else canonical.parse(arguments),
        arguments_hash=call["arguments_hash"],
        arguments_redacted=arguments is None,
        call_id=call["call_id"],
        output_hash=call["output_hash"],
        result_state=ChannelState(call["result_state"]),
        execution_state=ToolExecutionState(call["execution_state"]),
        latency_ms=None if latency is None else latency / 1000,
    )


def _wire(wire: Mapping[str, Any] | None, manifest: Manifest) -> WireRequest | None:
    if wire is None:
        return None
    fields = {key: value for key, value in wire.items() if key != "parameters_sha256"}
    same = wire["parameters_sha256"] == parameters_digest(manifest.request_parameters)
    # The map itself was never recorded for a request that broke the contract.
    return WireRequest(**fields, parameters=manifest.request_parameters if same else {})


def _usage(usage: Mapping[str, Any] | None) -> Usage:
    if usage is None:
        return NO_USAGE
    return Usage(**{**usage, "provider_usage": canonical.parse(usage["provider_usage"])})
