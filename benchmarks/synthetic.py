"""Run directories of any size, written through the real store without calling an agent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from dfah_cli.adapter.manifest import build_manifest
from dfah_cli.canonical import canonical_bytes, digest
from dfah_cli.execution.ends import Returned
from dfah_cli.execution.outcome import Attempt, Judge
from dfah_cli.planning.plan import Design, PlannedRun, make_plan
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.journal import episode_body, intent_body, planned_body, time_text
from dfah_cli.records.keys import SlotKeys
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.records.wire import WireRequest, parameters_digest
from dfah_cli.store.log import LogStore
from dfah_cli.store.protocol import RunWriter

TOOLS = tuple(ToolSpec(name=name, input_schema={"type": "object"}) for name in ("profile", "score", "screen"))
PARAMETERS = {"temperature": 0.0}
START = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 1000


def synthetic_suite(cases: int) -> Suite:
    """A suite of so many cases over three tasks."""
    return Suite(
        suite_id="synthetic",
        suite_version="1.0.0",
        decisions=("escalate", "dismiss", "hold"),
        cases=tuple(
            Case(case_id=f"RAW-{i:07d}", artifact_case_id=f"C-{i:07d}", input=i, task=f"task-{i % 3}")
            for i in range(cases)
        ),
        tools=TOOLS,
    )


def manifest_of(suite: Suite) -> Manifest:
    """The manifest of an agent on a synthetic suite."""
    return build_manifest(
        suite,
        provider="none",
        model="synthetic",
        adapter="benchmarks",
        implementation_hash="0" * 64,
        request_parameters=PARAMETERS,
    )


def write_run(path: Path, cases: int, replays: int, *, seed: int = 0, wobble: float = 0.1) -> PlannedRun:
    """A finished run of cases x replays episodes whose decisions and paths vary at the given rate."""
    suite = synthetic_suite(cases)
    manifest = manifest_of(suite)
    planned = make_plan(suite, manifest, Design(replays=replays))
    store = LogStore(path)
    writer = store.open_writer(
        plan_bytes=planned.plan.encoded,
        manifest_bytes=canonical_bytes(plain(manifest)),
        clock=lambda: time_text(START),
    )
    with writer:
        _fill(writer, planned, manifest, seed, wobble)
    return planned


def _fill(writer: RunWriter, planned: PlannedRun, manifest: Manifest, seed: int, wobble: float) -> None:
    judge = Judge(manifest, {tool.name: tool for tool in TOOLS}, capture_arguments=False)
    keys, random = SlotKeys(manifest.hash), Random(seed)
    parameters_sha256 = parameters_digest(PARAMETERS)
    schedule = planned.schedule
    for start in range(0, len(schedule), BATCH):
        stop = min(start + BATCH, len(schedule))
        intents, terminals = [], []
        for ordinal in range(start, stop):
            slot = schedule[ordinal]
            key = keys.episode(slot.case_id, slot.replay_index)
            at = START + timedelta(milliseconds=ordinal)
            intents.append(
                intent_body(
                    ordinal=ordinal,
                    key=key,
                    at=time_text(at),
                    reserved_nusd=0,
                    idempotency_key=keys.idempotency(slot.case_id, slot.replay_index),
                )
            )
            attempt = Attempt(
                slot=slot,
                key=key,
                outcome=Returned(_result(slot.case_id, random, wobble)),
                session=None,
                started_at=at,
                ended_at=at + timedelta(milliseconds=5),
                latency_us=5000 + ordinal % 977,
            )
            terminals.append(
                episode_body(judge.episode(attempt), ordinal=ordinal, key=key, parameters_sha256=parameters_sha256)
            )
        writer.commit_now([planned_body(start, stop), *intents])
        writer.commit_now(terminals)


def _result(case_id: str, random: Random, wobble: float) -> AgentResult:
    names = ["profile", "screen", "score"]
    if random.random() < wobble:
        names.reverse()
    label = "HOLD" if random.random() < wobble / 4 else "DISMISS"
    calls = tuple(
        ToolCall(
            name=name,
            arguments_hash=digest([case_id, name]),
            arguments_redacted=True,
            output_hash=digest([case_id, name, random.random() < wobble / 10]),
            result_state="observed_nonempty",
        )
        for name in names
    )
    wire = WireRequest.from_payload(
        provider="none",
        model="synthetic",
        payload={**PARAMETERS, "case": case_id},
        parameters=PARAMETERS,
        adapter="benchmarks",
    )
    return AgentResult(output_text=f"DECISION: {label}", trajectory=Trajectory.of(calls), wire_request=wire)
