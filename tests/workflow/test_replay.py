"""`Replay`: what it refuses before anything is written, and what a run comes to."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import (
    AgentContractError,
    ConfigurationError,
    DesignMismatchError,
    GateViolationError,
    LeaseError,
    ManifestMismatchError,
    OptionalDependencyError,
    ValidationError,
)
from dfah_cli.execution.events import EpisodeFinished, EpisodeStarted, PlanReady, RunFinished, RunStarted, Stopping
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.copying import copy_run
from dfah_cli.workflow.replay import Replay
from tests.builders import (
    STEADY,
    FixedClock,
    a_call,
    a_case,
    a_manifest,
    a_registry,
    a_replay,
    a_scripted_agent,
    a_suite,
    a_tool,
    a_wire,
    replayed,
)

BAD: list[tuple[dict[str, Any], str]] = [
    ({"replays": 1}, "replays"),
    ({"replays": 2.5}, "replays"),
    ({"replays": "3"}, "replays"),
    ({"replays": True}, "replays"),
    ({"seed": "1"}, "seed"),
    ({"seed": 1.0}, "seed"),
    ({"concurrency": 0}, "concurrency"),
    ({"concurrency": 2.0}, "concurrency"),
    ({"concurrency": True}, "concurrency"),
    ({"sample_rate": 0}, "sample_rate"),
    ({"sample_rate": 1.5}, "sample_rate"),
    ({"sample_rate": True}, "sample_rate"),
    ({"mode": "loud"}, "mode"),
    ({"mode": "blocking"}, "gate"),
    ({"mode": None}, "mode"),
    ({"budget_usd": 1.0}, "estimated_max_episode_cost_usd"),
    ({"budget_usd": 0, "estimated_max_episode_cost_usd": 1}, "budget_usd"),
    ({"budget_usd": -1, "estimated_max_episode_cost_usd": 1}, "budget_usd"),
    ({"budget_usd": float("nan"), "estimated_max_episode_cost_usd": 1}, "budget_usd"),
    ({"budget_usd": True, "estimated_max_episode_cost_usd": 1}, "budget_usd"),
    ({"budget_usd": 1, "estimated_max_episode_cost_usd": 0}, "estimated_max_episode_cost_usd"),
    ({"budget_usd": 1, "estimated_max_episode_cost_usd": float("inf")}, "estimated_max_episode_cost_usd"),
    ({"episode_timeout_s": 0}, "episode_timeout_s"),
    ({"episode_timeout_s": float("inf")}, "episode_timeout_s"),
    ({"episode_timeout_s": "5"}, "episode_timeout_s"),
    ({"gate": {"min_dar": 1}}, "gate"),
    ({"tools": {}}, "tools"),
    ({"capture_tool_arguments": 1}, "capture_tool_arguments"),
    ({"recover_stale_lease": "yes"}, "recover_stale_lease"),
    ({"otel": 1}, "otel"),
    ({"suite": 5}, "suite"),
    ({"suite": "no-such-suite"}, "no-such-suite"),
    ({"out": 5}, "out"),
    ({"store": 5}, "store"),
    ({"only": 5}, "only"),
    ({"only": "A"}, "only"),
    ({"provenance": 5}, "provenance"),
    ({"limit": 0}, "limit"),
]


@pytest.mark.parametrize(("options", "told"), BAD, ids=lambda value: value if isinstance(value, str) else None)
def test_a_wrong_argument_is_refused_at_construction_by_name(options: dict[str, Any], told: str, out: Path) -> None:
    agent = a_scripted_agent()
    with pytest.raises(ConfigurationError, match=told):
        Replay(**{"suite": agent.suite, "out": out, **options})
    assert not out.exists()


def test_telemetry_that_is_not_installed_is_refused_before_dispatch(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(OptionalDependencyError) as caught:
        a_replay(a_scripted_agent(), out, otel=True)
    assert isinstance(caught.value, ImportError)
    assert not out.exists()


def test_no_run_is_made_within_another_run_and_one_that_is_there_goes_on(out: Path) -> None:
    replayed(a_scripted_agent(), out)
    before = sorted(out.rglob("*"))
    with pytest.raises(ConfigurationError, match="lies within the run directory"):
        replayed(a_scripted_agent(), out / "deep" / "inner")
    with pytest.raises(ConfigurationError, match="lies within the run directory"):
        copy_run(out, out / "inner")
    assert sorted(out.rglob("*")) == before
    replayed(a_scripted_agent(), out)


@pytest.mark.parametrize("candidate", [None, 5, object(), lambda case, context: None, a_scripted_agent])
def test_what_is_no_agent_is_named_before_anything_is_written(candidate: Any, out: Path) -> None:
    with pytest.raises(AgentContractError):
        Replay(suite=a_suite(), out=out).run(candidate)
    assert not out.exists()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"suite_id": "other"}, "suite_id"),
        ({"suite_version": "2.0.0"}, "suite_version"),
        ({"fixture_hash": "0" * 64}, "fixture_hash"),
        ({"tool_schema_hash": "0" * 64}, "tool_schema_hash"),
        ({"decision_ontology": ("y", "no")}, "decision_ontology"),
    ],
)
def test_a_manifest_that_does_not_match_the_suite_fails_before_a_call(
    other: dict[str, Any], named: str, out: Path
) -> None:
    agent = a_scripted_agent()
    agent.manifest = evolve(agent.manifest, **other)
    with pytest.raises(ManifestMismatchError, match=named):
        replayed(agent, out)
    assert agent.calls == []
    assert not out.exists()


def registries() -> dict[str, ToolRegistry]:
    missing, extra, other = ToolRegistry(), a_registry(a_suite()), ToolRegistry()
    missing.register(a_tool("T"), lambda **_: 1)
    extra = ToolRegistry()
    for name in ("T", "U", "k", "more"):
        extra.register(a_tool(name), lambda **_: 1)
    for name in ("T", "U"):
        other.register(a_tool(name), lambda **_: 1)
    other.register(a_tool("k", description="another"), lambda **_: 1)
    return {"not registered: U, k": missing, "not in the suite: more": extra, "of another contract: k": other}


@pytest.mark.parametrize("told", ["not registered: U, k", "not in the suite: more", "of another contract: k"])
@pytest.mark.parametrize("bound", [True, False], ids=["bound to the agent", "given to Replay"])
def test_a_registry_that_is_not_the_suites_fails_closed(told: str, bound: bool, out: Path) -> None:
    registry = registries()[told]
    agent = a_scripted_agent(tools=registry if bound else None)
    if not bound:
        agent.tools = None
    with pytest.raises(ConfigurationError, match=told):
        replayed(agent, out, **({} if bound else {"tools": registry}))
    assert agent.calls == []
    assert not out.exists()


def test_specs_match_after_stable_name_ordering(out: Path) -> None:
    registry = ToolRegistry()
    for name in ("k", "U", "T"):
        registry.register(a_tool(name), lambda **_: "ok")
    assert replayed(a_scripted_agent(tools=registry), out).status == "complete"


def test_two_different_registries_are_a_conflict(out: Path) -> None:
    agent = a_scripted_agent()
    with pytest.raises(ConfigurationError, match="another ToolRegistry"):
        replayed(agent, out, tools=a_registry(agent.suite))


def test_the_registry_is_frozen_by_a_run(out: Path) -> None:
    agent = a_scripted_agent()
    replayed(agent, out)
    assert agent.tools is not None
    with pytest.raises(ConfigurationError, match="in use"):
        agent.tools.register(a_tool("late"), lambda: None)


def test_the_plan_is_written_and_bound_before_the_first_call(out: Path) -> None:
    seen: list[dict[str, Any]] = []

    def script(case: Any, context: Any) -> Any:
        seen.append(json.loads((out / "plan.json").read_text()))
        return agent.result(context)

    agent = a_scripted_agent({"A": [script]})
    report = replayed(agent, out, replays=2, seed=5)
    plan = seen[0]
    assert plan["manifest_hash"] == agent.manifest.hash
    assert (plan["replays"], plan["seed"], plan["sample_rate"], plan["case_tasks"]) == (2, 5, 1.0, {"A": "default"})
    assert len(plan["schedule_sha256"]) == 64
    assert report.status == "complete"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"replays": 4}, "replays is 3 there and 4 here"),
        ({"seed": 1}, "seed is 42 there and 1 here"),
        ({"sample_rate": 0.5}, "sample_rate is 1.0 there and 0.5 here"),
        ({"episode_timeout_s": 9.0}, "episode_timeout_s is none there and 9.0 here"),
        ({"limit": 1}, "2 selected cases there and 1 here"),
    ],
)
def test_a_directory_of_another_design_is_refused_before_a_call(change: dict[str, Any], named: str, out: Path) -> None:
    agent = a_scripted_agent()
    replayed(agent, out)
    agent.calls.clear()
    with pytest.raises(DesignMismatchError, match=named):
        replayed(agent, out, **change)
    assert agent.calls == []


def test_a_directory_of_another_suite_or_manifest_is_refused_before_a_call(out: Path) -> None:
    agent = a_scripted_agent()
    replayed(agent, out)
    versioned = a_suite(suite_version="9.0.0")
    for other in (
        a_scripted_agent(suite=versioned),
        a_scripted_agent(manifest=a_manifest(model="other")),
        a_scripted_agent({"A": [STEADY]}),
    ):
        with pytest.raises(DesignMismatchError):
            replayed(other, out)
        assert other.calls == []


@pytest.mark.parametrize(
    "change",
    [
        {"concurrency": 8},
        {"gate": GatePolicy(min_dar=0.5)},
        {"capture_tool_arguments": True},
        {"budget_usd": 1.0, "estimated_max_episode_cost_usd": 0.1},
        {"mode": "blocking", "gate": GatePolicy(min_dar=0.5)},
    ],
)
def test_what_is_no_part_of_the_design_may_change_between_resumes(change: dict[str, Any], out: Path) -> None:
    agent = a_scripted_agent()
    replayed(agent, out)
    agent.calls.clear()
    assert replayed(agent, out, **change).status == "complete"
    assert agent.calls == []


def test_a_directory_that_is_not_ours_is_never_written_to(tmp_path: Path) -> None:
    for name in ("results", "traces"):
        place = tmp_path / name
        place.mkdir()
        (place / "old.json").write_text("{}")
        agent = a_scripted_agent()
        with pytest.raises(ConfigurationError):
            replayed(agent, place)
        assert agent.calls == []
        assert [file.name for file in place.iterdir()] == ["old.json"]


def test_a_second_runner_fails_before_dispatch(out: Path) -> None:
    other = a_scripted_agent()

    def script(case: Any, context: Any) -> Any:
        with pytest.raises(LeaseError):
            replayed(other, out, replays=2)
        return agent.result(context)

    agent = a_scripted_agent({"A": [script], "B": [STEADY]})
    assert replayed(agent, out, replays=2).status == "complete"
    assert other.calls == []


def test_the_context_carries_the_slot_and_no_raw_id(out: Path) -> None:
    seen: list[Any] = []

    def script(case: Any, context: Any) -> Any:
        seen.append(context)
        return agent.result(context)

    suite = a_suite((a_case("RAW", artifact_case_id="P"),))
    agent = a_scripted_agent({"P": [script]}, suite=suite)
    replayed(agent, out, replays=2, seed=9)
    assert {(one.case_id, one.seed, one.manifest_hash) for one in seen} == {("P", 9, agent.manifest.hash)}
    assert sorted(one.replay_index for one in seen) == [0, 1]
    assert len({one.idempotency_key for one in seen}) == 2
    assert len({id(one.tools) for one in seen}) == 2


def test_a_zero_tool_session_is_observed_empty(out: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "")]})
    report = replayed(agent, out)
    assert {episode.trajectory.state.value for episode in episodes(out)} == {"observed_empty"}
    assert report.status == "complete"


def without_registry(script: Any, **options: Any) -> Any:
    agent = a_scripted_agent({"A": [script]}, **options)
    agent.tools = None
    return agent


def test_a_manual_trajectory_is_checked_and_redacted_before_persistence(out: Path) -> None:
    call = a_call("k", {"x": "manual-value"})

    def script(case: Any, context: Any) -> Any:
        assert context.tools is None
        return agent.result(context, trajectory=Trajectory.of((call,)))

    agent = without_registry(script)
    assert replayed(agent, out).status == "complete"
    (kept,) = next(episodes(out)).trajectory.tool_calls
    assert (kept.arguments, kept.arguments_redacted, kept.arguments_hash) == ({}, True, call.argument_hash)


@pytest.mark.parametrize(
    ("trajectory", "kind"),
    [
        (Trajectory.of((a_call("undeclared"),)), "undeclared_tool"),
        (Trajectory.of((a_call("k", {"x": 5}),)), "invalid_tool_arguments"),
        (Trajectory.of((a_call("k", {"other": "v"}),)), "invalid_tool_arguments"),
        (Trajectory(state="unavailable"), "trajectory_unavailable"),
        (Trajectory(state="malformed"), "trajectory_unavailable"),
    ],
)
def test_a_manual_trajectory_that_breaks_the_suite_is_a_contract_error(
    trajectory: Trajectory, kind: str, out: Path
) -> None:
    agent = without_registry(lambda case, context: agent.result(context, trajectory=trajectory))
    replayed(agent, out)
    found = {(e.status.value, e.error.kind, e.trajectory.state.value) for e in episodes(out) if e.error}
    assert found == {("contract_error", kind, "unavailable")}


@pytest.mark.parametrize(
    "change",
    [
        lambda t: Trajectory.of(()),
        lambda t: Trajectory.of(t.tool_calls[:1]),
        lambda t: Trajectory.of(t.tool_calls[::-1]),
        lambda t: Trajectory.of((*t.tool_calls, t.tool_calls[0])),
        lambda t: Trajectory.of((evolve(t.tool_calls[0], output_hash="0" * 64), *t.tool_calls[1:])),
        lambda t: Trajectory.of((evolve(t.tool_calls[0], arguments_hash="0" * 64), *t.tool_calls[1:])),
        lambda t: Trajectory.of((evolve(t.tool_calls[0], call_id="other"), *t.tool_calls[1:])),
        lambda t: Trajectory.of((evolve(t.tool_calls[0], name="k"), *t.tool_calls[1:])),
        lambda t: Trajectory(state="unavailable"),
    ],
)
def test_a_hand_built_trajectory_that_differs_from_the_session_is_a_contract_error(change: Any, out: Path) -> None:
    async def script(case: Any, context: Any) -> Any:
        await context.tools.call("T")
        await context.tools.call("U")
        return agent.result(context, trajectory=change(context.tools.trajectory()))

    agent = a_scripted_agent({"A": [script]})
    replayed(agent, out)
    found = list(episodes(out))
    assert {(e.status.value, e.error.kind) for e in found if e.error} == {("contract_error", "trajectory_mismatch")}
    assert {len(e.trajectory.tool_calls) for e in found} == {2}


def test_a_hand_built_trajectory_that_equals_the_session_is_accepted(out: Path) -> None:
    async def script(case: Any, context: Any) -> Any:
        await context.tools.call("T")
        same = [evolve(call, latency_ms=None) for call in context.tools.trajectory().tool_calls]
        return agent.result(context, trajectory=Trajectory.of(tuple(same)))

    agent = a_scripted_agent({"A": [script]})
    assert replayed(agent, out).status == "complete"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"provider": "other"}, "provider"),
        ({"model": "other"}, "model"),
        ({"adapter": "other"}, "adapter"),
        ({"adapter_version": "9"}, "adapter_version"),
        ({"endpoint": "https://example.org"}, "endpoint"),
        ({"parameters": {}}, "parameters"),
        ({"parameters": {"temperature": 0.5}, "payload": {"temperature": 0.5}}, "parameters"),
    ],
)
def test_a_wire_request_that_differs_from_the_manifest_is_a_contract_error(
    change: dict[str, Any], field: str, out: Path
) -> None:
    agent = a_scripted_agent(
        {"A": [lambda _, context: agent.result(context, wire_request=a_wire(agent.manifest, **change))]}
    )
    replayed(agent, out)
    for episode in episodes(out):
        assert episode.error is not None
        assert (episode.status.value, episode.error.kind) == ("contract_error", "wire_manifest_mismatch")
        assert field in episode.error.message
        assert episode.decision is None


def test_an_unattested_wire_request_is_a_contract_error(out: Path) -> None:
    agent = a_scripted_agent({"A": [lambda _, context: agent.result(
        context, wire_request=evolve(a_wire(agent.manifest), parameters_attested=False))]})  # fmt: skip
    replayed(agent, out)
    assert {e.status.value for e in episodes(out)} == {"contract_error"}


def test_a_wire_request_that_contradicts_its_payload_is_a_contract_error(out: Path) -> None:
    agent = a_scripted_agent({"A": [lambda _, context: agent.result(
        context, wire_request=a_wire(agent.manifest, payload={"seed": 8}))]})  # fmt: skip
    replayed(agent, out)
    assert {(e.status.value, e.error.kind) for e in episodes(out) if e.error} == {("contract_error", "ValidationError")}


def test_integers_and_floats_of_one_value_match_on_the_wire(out: Path) -> None:
    spelled = {"temperature": 0, "top_p": 1, "seed": 7}
    agent = a_scripted_agent({"A": [lambda _, context: agent.result(
        context, wire_request=a_wire(agent.manifest, payload=spelled, parameters=spelled))]})  # fmt: skip
    assert replayed(agent, out).status == "complete"
    assert analyze(out).report.status == "complete"


def test_a_refusal_is_a_status_of_its_own(out: Path) -> None:
    agent = a_scripted_agent({"A": [lambda _, context: agent.result(context, refused=True)]})
    report = replayed(agent, out)
    assert {e.status.value for e in episodes(out)} == {"refusal"}
    assert "terminal_status_refusal" in {one.reason for one in report.ineligibility_reasons}


def test_negative_and_endless_costs_are_a_contract_error_of_the_episode(out: Path) -> None:
    costs = [-1.0, float("nan"), float("inf"), 1e300]
    agent = a_scripted_agent({"A": [lambda _, c, cost=cost: agent.result(c, cost_usd=cost) for cost in costs]})
    report = replayed(agent, out, replays=4)
    assert {e.status.value for e in episodes(out)} == {"contract_error"}
    assert report.total_cost_usd == 0.0


def test_the_cost_and_usage_of_a_failed_episode_still_count(out: Path) -> None:
    agent = a_scripted_agent({"A": [("maybe", "T")]}, cost_usd=0.1)
    assert replayed(agent, out, replays=3).total_cost_usd == pytest.approx(0.3, abs=1e-12)


def test_a_failing_gate_in_shadow_mode_is_recorded_and_does_not_raise(out: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "T"), ("N", "T")]})
    replay = a_replay(agent, out, gate=GatePolicy(min_dar=1.0), replays=2)
    replay.run(agent)
    assert replay.last_gate_result is not None
    assert not replay.last_gate_result.passed
    assert [place.name for place in (out / "gates").iterdir()] == ["1.json"]


def test_a_failing_gate_in_blocking_mode_raises_and_names_its_record(out: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "T"), ("N", "T")]})
    replay = a_replay(agent, out, gate=GatePolicy(min_dar=1.0), replays=2, mode="blocking")
    with pytest.raises(GateViolationError, match=r"dar: 0\.5 against 1\.0") as caught:
        replay.run(agent)
    assert str(out / "gates" / "1.json") in str(caught.value)
    assert (out / "gates" / "1.json").is_file()


def test_a_passing_gate_in_blocking_mode_returns_the_report(out: Path) -> None:
    agent = a_scripted_agent()
    replay = a_replay(agent, out, gate=GatePolicy(min_dar=1.0), mode="blocking")
    assert replay.run(agent).status == "complete"
    assert replay.last_gate_result is not None
    assert replay.last_gate_result.passed


def test_a_gate_fails_closed_without_an_eligible_denominator(out: Path) -> None:
    agent = a_scripted_agent({"A": [("maybe", "T")]})
    replay = a_replay(agent, out, gate=GatePolicy(min_dar=0.0, require_complete=False), mode="blocking")
    with pytest.raises(GateViolationError, match="undefined"):
        replay.run(agent)


def test_a_run_inside_a_running_loop_works(out: Path) -> None:
    agent = a_scripted_agent()

    async def notebook() -> Any:
        return a_replay(agent, out).run(agent)

    assert asyncio.run(notebook()).status == "complete"


def test_arun_leaves_the_callers_loop_free(out: Path) -> None:
    ticks = 0

    async def slow(case: Any, context: Any) -> Any:
        await asyncio.sleep(0.05)
        return agent.result(context)

    agent = a_scripted_agent({"A": [slow]})

    async def caller() -> Any:
        nonlocal ticks
        work = asyncio.ensure_future(a_replay(agent, out).arun(agent))
        while not work.done():
            ticks += 1
            await asyncio.sleep(0.01)
        return await work

    assert asyncio.run(caller()).status == "complete"
    assert ticks > 5


def test_the_watcher_hears_the_journey_in_order(out: Path) -> None:
    agent = a_scripted_agent({"A": [STEADY]})
    heard: list[Any] = []
    replayed(agent, out, replays=2, observer=heard.append)
    kinds = [type(event) for event in heard]
    assert kinds[:2] == [PlanReady, RunStarted]
    assert kinds[-1] is RunFinished
    assert (kinds.count(EpisodeStarted), kinds.count(EpisodeFinished), kinds.count(Stopping)) == (2, 2, 0)
    assert heard[0].raw_case_ids == 1
    assert heard[-1].committed == 2


def test_a_valid_episode_beside_a_failed_one_is_not_told_as_failed(out: Path) -> None:
    async def fails(case: Any, context: Any) -> Any:
        raise ValueError

    heard: list[Any] = []
    agent = a_scripted_agent({"A": [("Y", ""), fails, ("Y", "")]})
    report = replayed(agent, out, replays=3, observer=heard.append)
    assert (report.episodes_eligible, heard[-1].failed) == (0, 1)


@pytest.mark.parametrize("concurrency", [4, 16, 256])
def test_concurrency_changes_no_result(concurrency: int, out: Path, tmp_path: Path) -> None:
    paths = {f"C{index}": [("Y", "T U"), ("Y", "U T"), ("N", "T k=x")] for index in range(6)}
    one = replayed(a_scripted_agent(paths), tmp_path / "one")
    agent = a_scripted_agent(paths)
    many = replayed(agent, out, concurrency=concurrency)
    assert many.report_sha256 == one.report_sha256
    assert many.commitment == one.commitment
    assert sorted(agent.calls) == sorted({(case, replay) for case in paths for replay in range(3)})


def test_concurrency_is_clamped_to_what_is_left(out: Path) -> None:
    running = most = 0

    async def script(case: Any, context: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return agent.result(context)

    agent = a_scripted_agent({"A": [script], "B": [script]})
    assert replayed(agent, out, concurrency=10_000).status == "complete"
    assert most == 6


def test_a_validation_error_is_also_a_configuration_error() -> None:
    with pytest.raises(ValidationError):
        Replay(suite=a_suite(), replays=1)
    assert issubclass(ValidationError, ConfigurationError)
    assert FixedClock().now().tzinfo is not None
