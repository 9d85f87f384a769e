"""Small builders; a test names only the one difference it is about."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.canonical import canonical_bytes, digest
from dfah_cli.evidence.verify import VerifiedRun, verify
from dfah_cli.planning.plan import Design, PlannedRun, make_plan
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain
from dfah_cli.records.enums import ChannelState, EpisodeStatus
from dfah_cli.records.episode import NOT_PARSED, AgentResult, Decision, Episode, EpisodeError, ParseProvenance
from dfah_cli.records.keys import SlotKeys
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.records.wire import WireRequest
from dfah_cli.report.record import Report
from dfah_cli.workflow.replay import Replay

ROOT = Path(__file__).resolve().parent.parent
FIXED = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
PARAMETERS = {"temperature": 0.0, "top_p": 1.0, "seed": 7}
OBJECT = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}


class FixedClock:
    """A clock that stands still, so that equal work gives equal bytes."""

    def now(self) -> datetime:
        return FIXED

    def monotonic_us(self) -> int:
        return 1_000_000


def shared(*parts: str) -> Path:
    """A file of the shared data; the test is skipped where it is absent."""
    place = Path(os.environ.get("DFAH_SHARED", ROOT.parent / "shared")).joinpath(*parts)
    if not place.exists():
        pytest.skip(f"no shared data: {'/'.join(parts)} is absent (set DFAH_SHARED)")
    return place


def a_tool(name: str = "T", **changes: Any) -> ToolSpec:
    return ToolSpec(**{"name": name, "input_schema": OBJECT, **changes})


def a_case(case_id: str = "A", **changes: Any) -> Case:
    return Case(**{"case_id": case_id, "input": {"id": case_id}, **changes})


def a_suite(cases: Sequence[Case | str] = ("A", "B"), tools: Sequence[str] = ("T", "U", "k"), **changes: Any) -> Suite:
    """Labels Y and N; every tool takes an optional string `x` and answers "ok"."""
    made = tuple(case if isinstance(case, Case) else a_case(case) for case in cases)
    values = {"suite_id": "vec", "suite_version": "1.2.3", "decisions": ("Y", "N"), "cases": made}
    return Suite(**{**values, "tools": tuple(map(a_tool, tools)), **changes})


def a_manifest(suite: Suite | None = None, **changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "provider": "p",
        "model": "m",
        "adapter": "ad",
        "adapter_version": "1",
        "library_version": "0.0.0",
        "git_sha": "0" * 40,
        "implementation_hash": "f" * 64,
        "request_parameters": PARAMETERS,
    }
    return build_manifest(suite or a_suite(), **{**values, **changes})


def a_wire(
    manifest: Manifest | None = None, *, payload: Mapping[str, Any] | None = None, **changes: Any
) -> WireRequest:
    """The echo that matches the manifest."""
    manifest = manifest or a_manifest()
    parameters = manifest.request_parameters
    values: dict[str, Any] = {
        "provider": manifest.provider,
        "model": manifest.model,
        "payload": {**parameters, **(payload or {})},
        "parameters": parameters,
        "adapter": manifest.adapter,
        "adapter_version": manifest.adapter_version,
        "endpoint": manifest.endpoint,
    }
    return WireRequest.from_payload(**{**values, **changes})


def a_call(name: str = "T", arguments: Mapping[str, Any] | None = None, **changes: Any) -> ToolCall:
    """An executed call with its arguments in the open."""
    values = {"name": name, "arguments": dict(arguments or {}), "output_hash": digest("ok")}
    return ToolCall(**{**values, "result_state": ChannelState.OBSERVED_NONEMPTY, **changes})


def a_registry(suite: Suite, answers: Mapping[str, Callable[..., Any]] | None = None) -> ToolRegistry:
    registry = ToolRegistry()
    for spec in suite.tools:
        registry.register(spec, (answers or {}).get(spec.name, lambda **_: "ok"))
    return registry


# What a scripted agent does in one slot: a label and a path ("T k=x"), or a function of its own.
Script = tuple[str, str] | Callable[[Case, RunContext], Any]
STEADY: Script = ("Y", "T U")


class ScriptedAgent:
    """Plays `paths[case id][replay index]`; a script shorter than the replays repeats its last entry."""

    def __init__(self, suite: Suite, paths: Mapping[str, Sequence[Script]], **options: Any) -> None:
        self.suite = suite
        self.manifest = options.pop("manifest", None) or a_manifest(suite)
        self.tools: ToolRegistry | None = options.pop("tools", None) or a_registry(suite)
        self.cost_usd: float = options.pop("cost_usd", 0.0)
        self.paths = paths
        self.calls: list[tuple[str, int]] = []
        assert not options, options

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        self.calls.append((context.case_id, context.replay_index))
        scripts = self.paths.get(context.case_id, [STEADY])
        script = scripts[min(context.replay_index, len(scripts) - 1)]
        if callable(script):
            found = script(case, context)
            return await found if hasattr(found, "__await__") else found
        label, path = script
        await walk(context, path)
        return self.result(context, f"DECISION: {label}")

    def result(self, context: RunContext, text: str = "DECISION: Y", **changes: Any) -> AgentResult:
        """What a well-behaved adapter returns."""
        values: dict[str, Any] = {
            "output_text": text,
            "trajectory": Trajectory.of(()) if context.tools is None else context.tools.trajectory(),
            "wire_request": a_wire(self.manifest, payload={"case": context.case_id}),
            "cost_usd": self.cost_usd,
        }
        return AgentResult(**{**values, **changes})


async def walk(context: RunContext, path: str) -> None:
    """Calls the tools of a path: `T` without arguments, `k=x` with argument x."""
    assert context.tools is not None
    for word in path.split():
        name, _, argument = word.partition("=")
        await context.tools.call(name, **({"x": argument} if argument else {}))


def a_scripted_agent(
    paths: Mapping[str, Sequence[Script]] | None = None, *, suite: Suite | None = None, **options: Any
) -> ScriptedAgent:
    """An agent over a suite with the cases of `paths`."""
    paths = paths or {"A": [STEADY], "B": [STEADY]}
    return ScriptedAgent(suite or a_suite(tuple(paths)), paths, **options)


def replayed(agent: ScriptedAgent, out: Path | str, **options: Any) -> Report:
    """The report of a run on a clock that stands still."""
    return a_replay(agent, out, **options).run(agent)


def a_replay(agent: ScriptedAgent, out: Path | str, **options: Any) -> Replay:
    return Replay(**{"suite": agent.suite, "out": out, "clock": FixedClock(), **options})


def a_planned(suite: Suite | None = None, manifest: Manifest | None = None, **design: Any) -> PlannedRun:
    suite = suite or a_suite()
    return make_plan(suite, manifest or a_manifest(suite), Design(**design))


def an_episode(
    status: EpisodeStatus | str = EpisodeStatus.VALID,
    *,
    planned: PlannedRun | None = None,
    ordinal: int = 0,
    **changes: Any,
) -> Episode:
    """The terminal record of one slot, whole for its status."""
    planned = planned or a_planned()
    manifest = a_manifest()
    slot, status = planned.schedule[ordinal], EpisodeStatus(status)
    valid = status is EpisodeStatus.VALID
    marker = ParseProvenance(strategy="strict_marker", raw_span="DECISION: Y", confidence=1.0, accepted=True)
    values: dict[str, Any] = {
        "episode_id": SlotKeys(planned.plan.manifest_hash).episode(slot.case_id, slot.replay_index)[:32],
        "manifest_hash": planned.plan.manifest_hash,
        "suite_id": planned.plan.suite_id,
        "suite_version": planned.plan.suite_version,
        "case_id": slot.case_id,
        "task": slot.task,
        "replay_index": slot.replay_index,
        "status": status,
        "decision": Decision(label="y", confidence=1.0) if valid else None,
        "parse": marker if valid else NOT_PARSED,
        "trajectory": Trajectory.of((a_call("T"),)),
        "wire_request": a_wire(manifest),
        "started_at": FIXED,
        "ended_at": FIXED,
        "error": None if valid else EpisodeError(kind=status.value, message="It went wrong."),
    }
    return Episode(**{**values, **changes})


def believed(reader: Any) -> VerifiedRun:
    """The verified run behind a reader."""
    return verify(reader.plan_bytes, reader.manifest_bytes, reader.records())


def encoded(record: Any) -> bytes:
    """The canonical bytes of a record."""
    return canonical_bytes(plain(record))


def bytes_below(directory: Path) -> bytes:
    """Every byte of every file of a directory, for looking for what must not be there."""
    return b"\n".join(place.read_bytes() for place in sorted(directory.rglob("*")) if place.is_file())
