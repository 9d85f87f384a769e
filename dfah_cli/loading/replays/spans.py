"""Generative-AI spans of any tracing format -> replays. Conventions: OpenTelemetry semantic conventions
1.41.0.

A replay is an outermost `invoke_agent` span with the `execute_tool` spans below it. Which case it belongs
to must stand in an attribute; without one every run is a case of its own, because nothing says that two
runs had one input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from attrs import frozen

from dfah_cli.loading.replays.recorded import RecordedReplay, label, refused, value_hash
from dfah_cli.metrics.backends import served_by
from dfah_cli.metrics.paths import StepLike
from dfah_cli.records.enums import EpisodeStatus, ToolExecutionState

SEMCONV = "1.41.0"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_CASE = "no attribute names the case of a run: each run is a case of its own"

# The first that is present counts: ours, then the conventions, then older or vendors' spellings.
CASE = ("dfah.case.id", "dfah.case_id", "case.id", "case_id", "test.case.name")
TASK = ("dfah.task", "task")
REPLAY = ("dfah.replay.index", "dfah.replay_index", "replay_index")
DECISION = ("dfah.decision.label", "decision")
PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
MODEL = ("gen_ai.request.model", "gen_ai.response.model")
RESPONSE_MODEL = ("gen_ai.response.model",)
FINGERPRINT = ("openai.response.system_fingerprint", "gen_ai.openai.response.system_fingerprint")
PATH_STATE, LOST = "dfah.trajectory.state", ("unavailable", "malformed")
DIGEST = re.compile(r"[0-9a-f]{64}")
AGENT = ("gen_ai.agent.name", "gen_ai.agent.id")
ARGUMENTS = ("gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "tool.arguments")
RESULT = ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "tool.result")


@frozen(kw_only=True)
class Span:
    """One span of any format; ids as the format gives them, made comparable. start, end: nanoseconds."""

    trace: str
    span_id: str
    parent: str | None
    name: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    failed: bool
    where: str

    def first(self, names: Sequence[str]) -> Any:
        return next((self.attributes[name] for name in names if self.attributes.get(name) is not None), None)

    @property
    def operation(self) -> str | None:
        return self.attributes.get("gen_ai.operation.name")


def replays(spans: Sequence[Span]) -> tuple[tuple[RecordedReplay, ...], tuple[str, ...]]:
    """(replays, notes). Raises: ValidationError when an attribute that is used has an impossible value."""
    tree = _Tree(spans)
    runs = sorted(tree.runs(), key=lambda run: (run.start, run.trace, run.span_id))
    unnamed = any(tree.first(run, CASE) is None for run in runs)
    return tuple(_replay(run, tree) for run in runs), (NO_CASE,) if unnamed else ()


class _Tree:
    """Spans by parent. A parent that is not in the file makes a span a root."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.by_id = {(span.trace, span.span_id): span for span in spans}
        if len(self.by_id) != len(spans):
            repeated, _ = Counter((span.trace, span.span_id) for span in spans).most_common(1)[0]
            raise refused(self.by_id[repeated].where, "a span id occurs twice in one trace")
        self.children: dict[tuple[str, str | None], list[Span]] = {}
        for span in spans:
            self.children.setdefault((span.trace, span.parent), []).append(span)

    def runs(self) -> Iterator[Span]:
        """Outermost agent invocations."""
        for span in self.by_id.values():
            if span.operation == "invoke_agent" and not any(a.operation == "invoke_agent" for a in self.above(span)):
                yield span

    def above(self, span: Span) -> Iterator[Span]:
        seen = {span.span_id}
        parent = self.by_id.get((span.trace, span.parent or ""))
        while parent is not None and parent.span_id not in seen:
            seen.add(parent.span_id)
            yield parent
            parent = self.by_id.get((parent.trace, parent.parent or ""))

    def below(self, span: Span) -> Iterator[Span]:
        todo, seen = [span], {span.span_id}
        while todo:
            for child in self.children.get((span.trace, todo.pop().span_id), ()):
                if child.span_id not in seen:
                    seen.add(child.span_id)
                    todo.append(child)
                    yield child

    def first(self, run: Span, names: Sequence[str]) -> Any:
        """An attribute of the run, of what it lies in, or of what lies in it."""
        for span in (run, *self.above(run), *sorted(self.below(run), key=lambda span: span.start)):
            value = span.first(names)
            if value is not None:
                return value
        return None


def _replay(run: Span, tree: _Tree) -> RecordedReplay:
    provider, model = tree.first(run, PROVIDER), tree.first(run, MODEL)
    agent = run.first(AGENT) or run.name
    configuration = f"{agent}:{model or 'unknown model'}"
    case = tree.first(run, CASE)
    task = str(tree.first(run, TASK) or "default")
    case_id = str(case) if case is not None else f"trace {run.trace} {run.span_id}"
    index = tree.first(run, REPLAY)
    if index is not None and not (str(index).isascii() and str(index).isdigit()):
        raise refused(run.where, "the replay index attribute is not an integer from 0 on")
    decision = tree.first(run, DECISION)
    return RecordedReplay(
        configuration_id=configuration,
        agent=(provider, model, agent),
        provider=provider,
        model=model,
        task=task,
        case_id=case_id,
        replay_index=int(index) if index is not None else None,
        decision=label(str(decision)) if decision is not None else None,
        steps=None if run.attributes.get(PATH_STATE) in LOST else _steps(run, tree),
        status=_status(run),
        wire=_digest(run.attributes.get("dfah.payload.sha256")),
        endpoint=run.attributes.get("dfah.endpoint"),
        cost_nusd=_cost(run.attributes.get("dfah.cost_nusd")),
        latency_us=max(0, run.end - run.start) // 1000,
        backend=_backend(run, tree),
        started_at=_moment(run.start),
        where=run.where,
    )


def _moment(nanoseconds: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=nanoseconds // 1000) if nanoseconds > 0 else None
    except OverflowError:
        return None


def _backend(run: Span, tree: _Tree) -> str | None:
    """What the responses of the run and of everything in it say served them."""
    spans = (run, *tree.below(run))
    told = {"served_models": RESPONSE_MODEL, "fingerprints": FINGERPRINT}
    return served_by({name: [one for span in spans if (one := span.first(keys))] for name, keys in told.items()})


def _status(run: Span) -> str:
    told = run.attributes.get("dfah.status")
    return str(told) if told in tuple(EpisodeStatus) else "provider_error" if run.failed else "valid"


def _cost(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def _steps(run: Span, tree: _Tree) -> tuple[StepLike, ...]:
    tools = (span for span in tree.below(run) if span.operation == "execute_tool")
    return tuple(_step(span) for span in sorted(tools, key=lambda span: (span.start, span.span_id)))


def _step(span: Span) -> StepLike:
    name = span.attributes.get("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    told = span.attributes
    if told.get("dfah.tool.execution_state") in tuple(ToolExecutionState):
        # Our own export: digests in place of content.
        digests = (_digest(told.get("dfah.tool.arguments.sha256")), _digest(told.get("dfah.tool.result.sha256")))
        return (str(name), *digests, str(told.get("dfah.tool.result_state")), str(told["dfah.tool.execution_state"]))
    result = span.first(RESULT)
    return (
        str(name),
        _hash(span.first(ARGUMENTS), span.where),
        _hash(result, span.where),
        "unavailable" if result is None else "observed_nonempty",
        "error" if span.failed else "executed",
    )


def _digest(value: Any) -> str | None:
    return value if isinstance(value, str) and DIGEST.fullmatch(value) else None


def _hash(value: Any, where: str) -> str | None:
    """Attributes hold JSON in a string; two spellings of one value are one value."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value_hash({"not_json": value}, where)
    return None if value is None else value_hash(value, where)
