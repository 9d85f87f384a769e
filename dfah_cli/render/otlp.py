"""Recorded episodes as OpenTelemetry spans, and spans as OTLP JSON. Pure; the same episode gives the same span.

Conventions: OpenTelemetry semantic conventions for generative AI, version 1.41.0. One `invoke_agent` span for each
episode, an `execute_tool` span below it for each tool call; what the conventions have no name for stands under `dfah.`.
No content: digests, counts, states, tokens. An episode is one trace, whose id is that of the episode.

The record has the latency of a tool call, not its start: tool spans begin one microsecond after each other, in the
order of the calls, and their duration is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from dfah_cli.canonical import digest
from dfah_cli.records.enums import ToolExecutionState
from dfah_cli.records.episode import Episode
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.trajectory import ToolCall
from dfah_cli.version import __version__

SEMCONV = "1.41.0"
SCHEMA_URL = f"https://opentelemetry.io/schemas/{SEMCONV}"
SCOPE = "dfah-cli"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERROR, UNSET = 2, 0
INTERNAL = 1
Value = str | int | float | bool


@frozen(kw_only=True)
class Span:
    """One span. trace_id, span_id, parent_id: lower-case hex. start_ns, end_ns: since 1970. failed: its status."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    failed: bool


def spans_of(episode: Episode, manifest: Manifest, run_plan_sha256: str) -> Iterator[Span]:
    """The span of an episode, then those of its tool calls in their order."""
    start = _nanoseconds(episode.started_at)
    root = digest([episode.episode_id, "episode"])[:16]
    yield Span(
        name=f"invoke_agent {manifest.adapter}",
        trace_id=episode.episode_id,
        span_id=root,
        parent_id=None,
        start_ns=start,
        end_ns=start + episode.latency_us * 1000,
        attributes=_known(_agent_attributes(episode, manifest, run_plan_sha256)),
        failed=episode.error is not None,
    )
    for number, call in enumerate(episode.trajectory.tool_calls):
        begun = start + (number + 1) * 1000
        yield Span(
            name=f"execute_tool {call.name}",
            trace_id=episode.episode_id,
            span_id=digest([episode.episode_id, number])[:16],
            parent_id=root,
            start_ns=begun,
            end_ns=begun + int((call.latency_ms or 0.0) * 1_000_000),
            attributes=_known(_tool_attributes(call)),
            failed=call.execution_state is not ToolExecutionState.EXECUTED,
        )


def _agent_attributes(episode: Episode, manifest: Manifest, run_plan_sha256: str) -> dict[str, Value | None]:
    usage, told = episode.usage, episode.usage.provider_usage
    served = told.get("served_models")
    wire = episode.wire_request
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": manifest.provider,
        "gen_ai.agent.name": manifest.adapter,
        "gen_ai.agent.version": manifest.adapter_version,
        "gen_ai.request.model": manifest.model,
        "gen_ai.response.model": served[0] if isinstance(served, list) and len(served) == 1 else None,
        "gen_ai.response.id": episode.provider_response_id,
        "gen_ai.usage.input_tokens": usage.input_tokens or None,
        "gen_ai.usage.output_tokens": usage.output_tokens or None,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens or None,
        "error.type": None if episode.error is None else episode.error.kind,
        "dfah.case.id": episode.case_id,
        "dfah.task": episode.task,
        "dfah.replay.index": episode.replay_index,
        "dfah.status": episode.status.value,
        "dfah.decision.label": None if episode.decision is None else episode.decision.label,
        "dfah.trajectory.state": episode.trajectory.state.value,
        "dfah.suite.id": episode.suite_id,
        "dfah.suite.version": episode.suite_version,
        "dfah.run_plan.sha256": run_plan_sha256,
        "dfah.manifest.sha256": episode.manifest_hash,
        "dfah.payload.sha256": None if wire is None else wire.payload_hash,
        "dfah.endpoint": None if wire is None else wire.endpoint,
        "dfah.cost_nusd": episode.cost_nusd,
        "dfah.transport_attempts": _count(told.get("transport_attempts")),
    }


def _tool_attributes(call: ToolCall) -> dict[str, Value | None]:
    executed = call.execution_state is ToolExecutionState.EXECUTED
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
        "error.type": None if executed else call.execution_state.value,
        "dfah.tool.arguments.sha256": call.argument_hash,
        "dfah.tool.result.sha256": call.output_hash,
        "dfah.tool.result_state": call.result_state.value,
        "dfah.tool.execution_state": call.execution_state.value,
    }


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _known(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value is not None}


def _nanoseconds(moment: datetime) -> int:
    passed = moment - EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1000


RESOURCE: Mapping[str, Value] = {"service.name": SCOPE, "service.version": __version__}


def otlp_document(spans: Iterable[Span]) -> dict[str, Any]:
    """Spans as one `ExportTraceServiceRequest` in OTLP JSON, the content of one line of a file."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(RESOURCE)},
                "scopeSpans": [
                    {
                        "scope": {"name": SCOPE, "version": __version__},
                        "spans": [_span(span) for span in spans],
                        "schemaUrl": SCHEMA_URL,
                    }
                ],
                "schemaUrl": SCHEMA_URL,
            }
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        **({} if span.parent_id is None else {"parentSpanId": span.parent_id}),
        "name": span.name,
        "kind": INTERNAL,
        # 64-bit integers are strings in protobuf JSON.
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "status": {"code": ERROR} if span.failed else {},
    }


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}
