"""Our neutral replay JSONL: one replay per line. The layout is docs/replay-jsonl.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dfah_cli.loading.replays import typed
from dfah_cli.loading.replays.recorded import RecordedReplay, Recording, refused, shown, unreadable
from dfah_cli.metrics.backends import served_by
from dfah_cli.metrics.paths import StepLike
from dfah_cli.records.enums import EpisodeStatus, ToolExecutionState

FIELDS = frozenset(
    (
        *("configuration_id", "provider", "model", "agent_version", "task", "case_id", "replay_index"),
        *("decision", "parse_status", "tool_calls", "channels", "relogged", "status"),
        *("payload_hash", "endpoint", "cost_usd", "latency_ms"),
        *("served_model", "system_fingerprint", "started_at", "parallel"),
    )
)
CALL_FIELDS = frozenset(("name", "argument_hash", "result_hash", "result_state", "execution_state"))
CHANNELS = ("decision", "path", "arguments", "results")
STATES = ("observed", "observed_empty", "unavailable", "malformed", "not_applicable")
RESULT_STATES = ("observed_nonempty", "observed_empty", "unavailable", "malformed")


def read(path: Path) -> Recording:
    """All replays of a file. Raises: ValidationError with the line number of the first malformed line."""
    return Recording(source=str(path), format="jsonl", replays=_lines(path))


def _lines(path: Path) -> Iterator[RecordedReplay]:
    try:
        with path.open("rb") as stream:
            yield from _replays(stream, shown(path))
    except OSError as error:
        raise unreadable(path, error) from None


def _replays(lines: Iterable[bytes], name: str) -> Iterator[RecordedReplay]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{name} line {number}"
            yield replay(typed.mapping(typed.parse(line, where), where), where)


def replay(record: Mapping[str, Any], where: str) -> RecordedReplay:
    """One line as a replay."""
    _known(record, FIELDS, where)
    channels = _channels(record, where)
    configuration = typed.text(record, "configuration_id", where)
    provider, model = (typed.optional_text(record, key, where) for key in ("provider", "model"))
    return RecordedReplay(
        configuration_id=configuration,
        agent=(provider, model, typed.optional_text(record, "agent_version", where)),
        provider=provider,
        model=model,
        task=typed.optional_text(record, "task", where) or "default",
        case_id=typed.text(record, "case_id", where),
        replay_index=typed.index(record, "replay_index", where),
        decision=_decision(record, channels, where),
        steps=_steps(record, channels, where),
        status=typed.one_of(record, "status", where, tuple(EpisodeStatus)) or "valid",
        wire=typed.optional_text(record, "payload_hash", where),
        endpoint=typed.optional_text(record, "endpoint", where),
        cost_nusd=typed.amount(record, "cost_usd", where, 10**9),
        latency_us=typed.amount(record, "latency_ms", where, 1000),
        backend=served_by(
            {key: typed.optional_text(record, key, where) for key in ("served_model", "system_fingerprint")}
        ),
        started_at=typed.moment(record, "started_at", where),
        parallel=_parallel(record, where),
        where=where,
    )


def _channels(record: Mapping[str, Any], where: str) -> Mapping[str, str]:
    found = record.get("channels")
    if found is None:
        return {}
    _known(typed.mapping(found, f"{where}: channels"), frozenset(CHANNELS), f"{where}: channels")
    return {key: state for key in CHANNELS if (state := typed.one_of(found, key, f"{where}: channels", STATES))}


def _decision(record: Mapping[str, Any], channels: Mapping[str, str], where: str) -> str | None:
    decision = typed.optional_text(record, "decision", where)
    state = channels.get("decision", "unavailable" if decision is None else "observed")
    if (state == "observed") != (decision is not None):
        raise refused(where, f"decision: its channel says {state}, which the field contradicts")
    return None if decision is None else decision.strip().lower()


def _steps(record: Mapping[str, Any], channels: Mapping[str, str], where: str) -> tuple[StepLike, ...] | None:
    calls = record.get("tool_calls")
    state = channels.get("path") or _state(calls)
    if state in ("unavailable", "malformed"):
        if calls:
            raise refused(where, f"tool_calls: its channel says {state}, yet there are calls")
        return None
    found = typed.items(calls, f"{where}: tool_calls")
    if (state == "observed_empty") != (not found):
        raise refused(where, f"tool_calls: the path channel says {state}, found {len(found)} calls")
    return tuple(_step(call, channels, f"{where}: tool_calls[{at}]") for at, call in enumerate(found))


def _state(calls: Any) -> str:
    if calls is None:
        return "unavailable"
    return "observed" if calls else "observed_empty"


def _step(value: Any, channels: Mapping[str, str], where: str) -> StepLike:
    call = typed.mapping(value, where)
    _known(call, CALL_FIELDS, where)
    return (
        typed.text(call, "name", where),
        _hash(call, "argument_hash", channels.get("arguments"), where),
        _hash(call, "result_hash", channels.get("results"), where),
        typed.one_of(call, "result_state", where, RESULT_STATES) or "observed_nonempty",
        typed.one_of(call, "execution_state", where, tuple(ToolExecutionState)) or "executed",
    )


def _hash(call: Mapping[str, Any], key: str, state: str | None, where: str) -> str | None:
    found = typed.optional_text(call, key, where)
    if found is not None and state in ("unavailable", "malformed", "not_applicable"):
        raise refused(where, f"{key}: its channel says {state}, yet there is a hash")
    return found


def _parallel(record: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], ...]:
    """The declared sets in one order; none where the field is absent."""
    found = record.get("parallel")
    if found is None:
        return ()
    sets = [typed.items(names, f"{where}: parallel") for names in typed.items(found, f"{where}: parallel")]
    if not all(names and all(type(name) is str and name.strip() for name in names) for names in sets):
        raise refused(where, "parallel: expected arrays of tool names, none of them empty")
    return tuple(sorted({tuple(sorted(set(names))) for names in sets}))


def _known(record: Mapping[str, Any], fields: frozenset[str], where: str) -> None:
    unknown = sorted(set(record) - fields)
    if unknown:
        raise refused(where, f"{len(unknown)} unknown fields; known: {', '.join(sorted(fields))}")
