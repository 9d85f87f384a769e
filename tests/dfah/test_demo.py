from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dfah.demo as demo
from dfah import AgentResult, ChannelState, ConfigurationError, RunContext, Suite, ToolExecutionState
from dfah.demo import make_toy_agent, make_unstable_agent
from dfah_cli.adapter.invoke import invoke
from dfah_cli.adapter.reference import load_agent

PACKAGED = ("toy-risk", "compliance-triage", "dataops-exceptions")
STEADY = {"toy-risk": "toy_agent", "compliance-triage": "compliance_agent", "dataops-exceptions": "dataops_agent"}
RATES = ("flip_rate", "order_swap_rate", "argument_jitter_rate", "result_drift_rate", "drop_rate", "repeat_rate")


def episode(agent: Any, index: int, replay: int) -> AgentResult:
    case = agent.suite.cases[index]
    tools = agent.tools.session()
    context = RunContext(agent.manifest.hash, case.effective_case_id, replay, 1, "key", tools=tools)
    return asyncio.run(invoke(agent, case, context))


def label(result: AgentResult) -> str:
    found = re.search(r"^DECISION: (\w+)$", result.output_text, re.MULTILINE)
    assert found
    return found[1].lower()


def steps(result: AgentResult) -> list[tuple[str, str | None, str | None]]:
    return [(call.name, call.argument_hash, call.output_hash) for call in result.trajectory.tool_calls]


def names(result: AgentResult) -> list[str]:
    return [call.name for call in result.trajectory.tool_calls]


def test_the_toy_suite_has_the_published_identities() -> None:
    assert demo.toy_suite.fixture_hash == "a343b1e3594c6773e4aa7a343351cf700b03d6aea8aa0f54f09c7546dd4a86b5"
    assert demo.toy_suite.tool_schema_hash == "2d80f086fe26d64fa12cad6dea1753a1dddc3dcb77bf999b0ebd3572148dda2d"


def test_the_packaged_toy_suite_is_the_one_in_code() -> None:
    loaded = Suite.load("toy-risk")
    assert (loaded.fixture_hash, loaded.tool_schema_hash) == (
        demo.toy_suite.fixture_hash,
        demo.toy_suite.tool_schema_hash,
    )


def test_the_toy_agent_counts_its_calls() -> None:
    agent, suite, tools, agent_calls, tool_calls = make_toy_agent()
    assert [label(episode(agent, index, 0)) for index in range(2)] == ["escalate", "dismiss"]
    assert (agent_calls, tool_calls) == ({"count": 2}, {"count": 2})
    assert tools.schema_hash == suite.tool_schema_hash
    assert agent.manifest.implementation_hash is not None
    assert agent.manifest.git_sha is None


@pytest.mark.parametrize(
    "name",
    [*STEADY.values(), "unstable_agent", "unstable_toy_agent", "unstable_dataops_agent"],
)
def test_every_demonstration_agent_is_found_by_reference(name: str) -> None:
    found = load_agent(f"dfah.demo:{name}")
    assert found is getattr(demo, name)
    assert name in dir(demo)


@pytest.mark.parametrize(
    ("name", "cases", "tasks", "tools", "labels"),
    [("compliance-triage", 40, 2, 4, 3), ("dataops-exceptions", 20, 2, 4, 3), ("toy-risk", 2, 1, 1, 2)],
)
def test_packaged_suites_are_large_enough_and_pseudonymous(
    name: str, cases: int, tasks: int, tools: int, labels: int
) -> None:
    suite = Suite.load(name)
    assert len(suite.cases) >= cases
    assert len({case.task for case in suite.cases}) == tasks
    assert (len(suite.tools), len(suite.decisions)) == (tools, labels)
    assert all(case.artifact_case_id and case.artifact_case_id != case.case_id for case in suite.cases)


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_suites_name_their_schema_for_editors(name: str) -> None:
    from dfah_cli.loading.resources import find

    first = Path(find("suites", name, "suite")).read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../dfah_cli/loading/schemas/suite.json"


@pytest.mark.parametrize("name", PACKAGED)
def test_steady_agents_repeat_themselves_and_use_every_label(name: str) -> None:
    agent = getattr(demo, STEADY[name])
    labels: set[str] = set()
    for index in range(len(agent.suite.cases)):
        one, other = episode(agent, index, 0), episode(agent, index, 1)
        assert (one.output_text, steps(one)) == (other.output_text, steps(other))
        assert one.wire_request == other.wire_request
        assert agent.manifest.wire_problem(one.wire_request) is None
        assert all(call.execution_state is ToolExecutionState.EXECUTED for call in one.trajectory.tool_calls)
        labels.add(label(one))
    assert labels == set(agent.suite.ontology)


@pytest.mark.parametrize("name", PACKAGED)
def test_an_undisturbed_unstable_agent_is_the_steady_one(name: str) -> None:
    unstable, steady = make_unstable_agent(name), getattr(demo, STEADY[name])
    for index in range(len(unstable.suite.cases)):
        one, other = episode(unstable, index, 0), episode(steady, index, 0)
        assert (label(one), steps(one)) == (label(other), steps(other))


def test_the_script_tells_beforehand_what_is_done() -> None:
    rates = dict.fromkeys(RATES, 0.5)
    agent = make_unstable_agent("compliance-triage", rates, seed=3)
    for index, replay in [(index, replay) for index in range(12) for replay in range(3)]:
        todo = agent.script(agent.suite.cases[index].effective_case_id, replay)
        done = episode(agent, index, replay)
        assert label(done) == todo.label
        assert names(done) == [scripted.step.tool for scripted in todo.steps]
        assert agent.manifest.wire_problem(done.wire_request) is None


def test_an_episode_depends_on_its_slot_and_the_seed_alone() -> None:
    rates = dict.fromkeys(RATES, 0.4)
    one, other = make_unstable_agent(parameters=rates), make_unstable_agent(parameters=rates)
    forward = [steps(episode(one, index, 1)) for index in range(8)]
    backward = [steps(episode(other, index, 1)) for index in reversed(range(8))]
    assert forward == backward[::-1]
    elsewhere = make_unstable_agent(parameters=rates, seed=8)
    assert forward != [steps(episode(elsewhere, index, 1)) for index in range(8)]


EFFECTS = {
    # rate: (decision changes, same names in order, same bag, same set)
    "flip_rate": (True, True, True, True),
    "order_swap_rate": (False, False, True, True),
    "argument_jitter_rate": (False, True, True, True),
    "result_drift_rate": (False, True, True, True),
    "drop_rate": (False, False, False, False),
    "repeat_rate": (False, False, False, True),
}


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("name", ["compliance-triage", "dataops-exceptions"])
def test_each_rate_disturbs_exactly_its_own_thing(name: str, rate: str) -> None:
    agent = make_unstable_agent(name, {rate: 1.0})
    flips, same_order, same_bag, same_set = EFFECTS[rate]
    for index, case in enumerate(agent.suite.cases):
        steady = agent.steady_path(case.effective_case_id)
        path = [step.tool for step in steady.steps]
        if len(path) < 2:
            continue
        done = episode(agent, index, 0)
        assert (label(done) != steady.label) is flips
        assert (names(done) == path) is same_order
        assert (Counter(names(done)) == Counter(path)) is same_bag
        assert (set(names(done)) == set(path)) is same_set


@pytest.mark.parametrize(("rate", "field"), [("argument_jitter_rate", 1), ("result_drift_rate", 2)])
def test_jitter_changes_arguments_and_drift_changes_answers(rate: str, field: int) -> None:
    agent, steady = make_unstable_agent("dataops-exceptions", {rate: 1.0}), make_unstable_agent("dataops-exceptions")
    for index in range(len(agent.suite.cases)):
        one, other = steps(episode(agent, index, 0)), steps(episode(steady, index, 0))
        differing = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
        assert len(differing) == 1
        assert differing[0][0][field] != differing[0][1][field]
        assert (differing[0][0][1] != differing[0][1][1]) is (rate == "argument_jitter_rate")


def test_measured_rates_are_the_given_ones() -> None:
    agent = make_unstable_agent("compliance-triage", {"flip_rate": 0.2, "affected_cases": 0.5})
    ids = [case.effective_case_id for case in agent.suite.cases]
    flipped = {
        one: sum(agent.script(one, replay).label != agent.steady_path(one).label for replay in range(200))
        for one in ids
    }
    affected = [times for times in flipped.values() if times]
    # Binomial: 46 cases at 0.5, and about 23 x 200 episodes at 0.2; both bounds are beyond four standard errors.
    assert 9 <= len(affected) <= 37
    assert abs(sum(affected) / (200 * len(affected)) - 0.2) < 0.03


def test_raising_one_rate_leaves_the_other_disturbances_alone() -> None:
    base = make_unstable_agent("compliance-triage", {"flip_rate": 0.3})
    more = make_unstable_agent("compliance-triage", {"flip_rate": 0.3, "result_drift_rate": 0.5})
    for case in base.suite.cases:
        for replay in range(3):
            one, other = (agent.script(case.effective_case_id, replay) for agent in (base, more))
            assert one.label == other.label


def test_the_rates_are_in_manifest_and_payload() -> None:
    one, other = make_unstable_agent(flip_rate=0.1), make_unstable_agent(flip_rate=0.2)
    assert one.manifest.request_parameters["flip_rate"] == 0.1
    assert one.manifest.seed == 7
    assert one.manifest.hash != other.manifest.hash
    assert one.manifest.wire_problem(episode(one, 0, 0).wire_request) is None


def test_other_endings_show_every_status() -> None:
    with pytest.raises(RuntimeError):
        episode(make_unstable_agent("toy-risk", failure_rate=1), 0, 0)
    assert episode(make_unstable_agent("toy-risk", refusal_rate=1), 0, 0).refused
    assert "DECISION" not in episode(make_unstable_agent("toy-risk", malformed_rate=1), 0, 0).output_text
    failed = episode(make_unstable_agent("toy-risk", tool_failure_rate=1), 0, 0).trajectory
    assert failed.state is ChannelState.OBSERVED_NONEMPTY
    assert failed.tool_calls[0].execution_state is ToolExecutionState.ERROR


def test_cost_and_waiting_time_are_as_given() -> None:
    agent = make_unstable_agent("toy-risk", latency_ms=40, cost_usd=0.25)
    assert episode(agent, 0, 0).cost_usd == 0.25
    waits = [agent.script("CASE-001", replay).latency_ms for replay in range(50)]
    assert 20 <= min(waits) < max(waits) <= 60


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"flip_rate": 2}, "flip_rate must be a number from 0 to 1"),
        ({"flip_rate": "0.1"}, "flip_rate"),
        ({"flip_rate": True}, "flip_rate"),
        ({"flip_rate": float("nan")}, "flip_rate"),
        ({"latency_ms": -1}, "latency_ms must be a number from 0"),
        ({"seed": 1.0}, "seed must be an integer"),
        ({"flipp_rate": 0.1}, "did you mean 'flip_rate'"),
        ({"suite": "no-such-suite"}, "no-such-suite"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        demo.unstable_agent.with_parameters(parameters)


def test_parameters_from_a_mapping_make_another_agent() -> None:
    made = demo.unstable_agent.with_parameters({"suite": "toy-risk", "flip_rate": 0.25})
    assert made.suite.suite_id == "toy-risk"
    assert made.instability.flip_rate == 0.25
    assert made.instability.repeat_rate == demo.unstable_agent.instability.repeat_rate
    assert demo.unstable_agent.for_suite(demo.toy_suite).suite is demo.toy_suite


def test_a_suite_without_demonstration_tools_is_refused() -> None:
    other = Suite(suite_id="other", suite_version="1.0.0", decisions=("a", "b"), cases=demo.toy_suite.cases)
    with pytest.raises(ConfigurationError, match="toy-risk"):
        make_unstable_agent(other)
