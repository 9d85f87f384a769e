"""Run directories of dfah-bench, checked against their own sidecars, commit markers and keys.

What disagrees is refused: half a run would be measured as a whole one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dfah_cli.canonical import digest, digest_bytes
from dfah_cli.errors import ArtifactError
from dfah_cli.loading.replays import typed
from dfah_cli.loading.replays.recorded import RecordedReplay, Recording, read_document, shown
from dfah_cli.metrics.backends import served_by
from dfah_cli.metrics.paths import StepLike
from dfah_cli.records.enums import ChannelState, EpisodeStatus, ToolExecutionState

PLAN = "run-plan.json"


def recognised(path: Path) -> bool:
    """Whether this directory looks like such a run."""
    return (path / PLAN).is_file() and (path / "episodes").is_dir()


def read(path: Path) -> Recording:
    """All committed episodes of a run directory and the cases its plan names.

    Raises: ArtifactError when a sidecar, a marker, a key or the plan disagrees; ValidationError for a bad
    record.
    """
    plan_place = shown(path / PLAN)
    plan = typed.mapping(typed.parse(read_document(path / PLAN), plan_place), plan_place)
    files = sorted((path / "episodes").glob("*.json"))
    replays = tuple(_episode(path, file, plan) for file in files)
    tasks = typed.mapping(plan.get("case_tasks"), f"{plan_place}: case_tasks")
    missing = typed.index(plan, "episodes_planned", plan_place) - len(replays)
    if missing < 0:
        raise ArtifactError(f"{shown(path)}: {-missing} episodes too many for its run plan; restore it")
    return Recording(
        source=str(path),
        format="dfah-bench",
        replays=replays,
        expected=typed.index(plan, "replays", plan_place),
        planned=tuple(sorted((str(task), case) for case, task in tasks.items())),
        notes=(f"{missing} planned episodes have no terminal record",) if missing else (),
    )


def _episode(run: Path, file: Path, plan: Mapping[str, Any]) -> RecordedReplay:
    place = shown(file)
    payload = read_document(file)
    sidecar = read_document(file.with_name(file.name + ".sha256")).split()[:1]
    if sidecar != [digest_bytes(payload).encode()]:
        raise ArtifactError(f"{place}: does not match its SHA-256 sidecar; restore the run directory")
    if not (run / "commits" / f"{file.stem}.commit").is_file():
        raise ArtifactError(f"{place}: has no commit marker; restore the run directory")
    record = typed.mapping(typed.parse(payload, place), place)
    _check_identity(record, file.stem, plan, place)
    return _replay(record, run, place)


def _check_identity(record: Mapping[str, Any], stem: str, plan: Mapping[str, Any], place: str) -> None:
    key = {name: record.get(name) for name in ("manifest_hash", "case_id", "replay_index")}
    if digest(key) != stem:
        raise ArtifactError(f"{place}: its name is not the key of the episode inside; restore the run directory")
    if record.get("manifest_hash") != plan.get("manifest_hash"):
        raise ArtifactError(f"{place}: belongs to another manifest than the run plan; restore the run directory")
    planned = typed.mapping(plan.get("case_tasks"), place)
    if planned.get(str(record.get("case_id"))) != record.get("task"):
        raise ArtifactError(f"{place}: its case and task are not in the run plan; restore the run directory")


def _replay(record: Mapping[str, Any], run: Path, place: str) -> RecordedReplay:
    wire = record.get("wire_request")
    wire = typed.mapping(wire, f"{place}: wire_request") if wire is not None else {}
    decision = record.get("decision")
    decision = typed.mapping(decision, f"{place}: decision") if decision is not None else {}
    return RecordedReplay(
        configuration_id=run.resolve().name,
        agent=(typed.text(record, "manifest_hash", place),),
        provider=typed.optional_text(wire, "provider", place),
        model=typed.optional_text(wire, "model", place),
        task=typed.text(record, "task", place),
        case_id=typed.text(record, "case_id", place),
        replay_index=typed.index(record, "replay_index", place),
        decision=typed.optional_text(decision, "label", place),
        steps=_steps(typed.mapping(record.get("trajectory"), f"{place}: trajectory"), place),
        status=typed.one_of(record, "status", place, tuple(EpisodeStatus)) or EpisodeStatus.CONTRACT_ERROR,
        wire=typed.optional_text(wire, "payload_hash", place),
        endpoint=typed.optional_text(wire, "endpoint", place),
        cost_nusd=typed.amount(record, "cost_usd", place, 10**9),
        latency_us=typed.amount(record, "latency_ms", place, 1000),
        backend=served_by(_told(record, place)),
        started_at=typed.moment(record, "started_at", place),
        where=place,
    )


def _told(record: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """What the provider said of itself."""
    usage = record.get("usage")
    told = None if usage is None else typed.mapping(usage, f"{place}: usage").get("provider_usage")
    return {} if told is None else typed.mapping(told, f"{place}: provider_usage")


def _steps(trajectory: Mapping[str, Any], place: str) -> tuple[StepLike, ...] | None:
    state = typed.one_of(trajectory, "state", place, tuple(ChannelState))
    if state is None or not ChannelState(state).observed:
        return None
    calls = typed.items(trajectory.get("tool_calls"), f"{place}: tool_calls")
    return tuple(_step(typed.mapping(call, place), place) for call in calls)


def _step(call: Mapping[str, Any], place: str) -> StepLike:
    hashed = typed.optional_text(call, "arguments_hash", place)
    if hashed is None and not call.get("arguments_redacted"):
        hashed = digest(call.get("arguments"))
    return (
        typed.text(call, "name", place),
        hashed,
        typed.optional_text(call, "output_hash", place),
        typed.one_of(call, "result_state", place, tuple(ChannelState)) or "unavailable",
        typed.one_of(call, "execution_state", place, tuple(ToolExecutionState)) or "executed",
    )
