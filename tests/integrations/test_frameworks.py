"""One agent written in every framework, against a provider that behaves, and one that does not. Real SDKs only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.canonical import digest
from dfah_cli.integrations.loopback.conversation import Answer, Conversation, Fault, ToolUse
from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.records.enums import ChannelState, ToolExecutionState
from dfah_cli.records.episode import UNMETERED
from tests.integrations.build import FRAMEWORKS, ONE_OF_EACH, Framework, lookup_customer, ran_in

every_framework = pytest.mark.parametrize("framework", FRAMEWORKS, ids=str)
one_of_each = pytest.mark.parametrize("framework", ONE_OF_EACH, ids=str)


def expected_path(customer: str) -> tuple[object, ...]:
    """What the agent does on a case, whichever framework runs it."""
    executed = (ChannelState.OBSERVED_NONEMPTY, ToolExecutionState.EXECUTED)
    arguments = digest({"customer": customer})
    return (
        ("lookup_customer", arguments, digest(lookup_customer(customer)), *executed),
        ("read_policy", arguments, digest(["refund within 30 days"]), *executed),
    )


EXPECTED = [expected_path("C-1")] * 2 + [expected_path("C-2")] * 2


@every_framework
def test_the_same_agent_has_the_same_trajectory(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, Seeded())
    assert ran.report.status == "complete", (ran.report.ineligibility_reasons, ran.told)
    assert ran.paths() == EXPECTED
    assert (ran.report.dar, ran.report.tar and ran.report.tar.strong) == (1.0, 1.0)


@every_framework
def test_parallel_calls_are_recorded_in_the_order_asked_for(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, Seeded(parallel=True), replays=2)
    assert ran.paths() == EXPECTED
    assert len(ran.provider.served) == 8


@every_framework
def test_usage_ids_and_served_model_come_from_the_wire(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, prices={"input": 1.0, "output": 10.0})
    for episode in ran.episodes:
        usage = episode.usage
        assert (usage.provider_usage["requests"], usage.provider_usage["transport_attempts"]) == (3, 3)
        assert usage.provider_usage["served_models"] == ["loopback-1"]
        assert usage.input_tokens > 50
        assert episode.cost_usd == pytest.approx((usage.input_tokens + 10 * usage.output_tokens) / 1e6)
    ids = {episode.provider_response_id for episode in ran.episodes}
    assert len(ids) == len(ran.episodes)
    assert all("loopback" in str(one) for one in ids)


@one_of_each
def test_a_failing_tool_is_a_tool_error(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, tools="tests.integrations.build:FAILING")
    assert ran.statuses() == {"tool_error"}
    states = [[call.execution_state.value for call in episode.trajectory.tool_calls] for episode in ran.episodes]
    assert states == [["executed", "error"]] * 4
    # The money of a failed episode was spent all the same.
    assert all(episode.usage.input_tokens for episode in ran.episodes)


@every_framework
def test_a_refusal_is_no_failure_of_the_provider(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, [Answer(refusal="I will not.")])
    assert ran.statuses() == {"refusal"}, ran.told


@one_of_each
def test_a_retried_rate_limit_is_counted(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, first_of_each(Fault(kind="rate_limit", retry_after_s=0.01)), max_retries=2)
    assert ran.report.status == "complete", ran.told
    attempts = [episode.usage.provider_usage["transport_attempts"] for episode in ran.episodes]
    assert sorted(attempts) == [3, 3, 4, 4]
    refused = [episode.usage.provider_usage.get("failed_statuses") for episode in ran.episodes]
    assert refused.count([429]) == 2


def first_of_each(fault: Fault) -> Any:
    """A provider that fails the first request about each case and behaves otherwise."""
    behave = Seeded()

    def decide(conversation: Conversation) -> Answer | Fault:
        return fault if conversation.attempt == 0 else behave(conversation)

    return decide


@pytest.mark.parametrize("kind", ["rate_limit", "server_error", "malformed", "reset", "cut"])
@one_of_each
def test_a_failing_provider_is_a_provider_error(framework: Framework, kind: str, out: Path) -> None:
    ran = ran_in(framework, out, [Fault(kind=kind, retry_after_s=0.01)])
    assert ran.statuses() == {"provider_error"}, ran.told
    assert ran.report.dar is None
    told = [episode.usage.provider_usage for episode in ran.episodes]
    assert [one["transport_attempts"] for one in told] == [1] * 4
    # What a provider took for an answer that never arrived whole is not known.
    assert [UNMETERED in one for one in told] == [kind not in ("rate_limit", "server_error")] * 4


STREAMING = [one for one in FRAMEWORKS if one.options.get("stream")]


@pytest.mark.parametrize("framework", STREAMING, ids=str)
def test_a_framework_that_is_to_stream_does(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out)
    assert {served.body.get("stream") for served in ran.provider.served} == {True}


@pytest.mark.parametrize("framework", STREAMING, ids=str)
def test_a_stream_that_ends_too_early_is_a_provider_error(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, [Fault(kind="cut")])
    assert ran.statuses() == {"provider_error"}, ran.told


@one_of_each
def test_a_silent_provider_is_a_timeout(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, [Fault(kind="timeout", seconds=30)], limit_s=0.5)
    assert {episode.error and episode.error.kind for episode in ran.episodes} == {"episode_timeout"}


@one_of_each
def test_arguments_that_are_no_json_are_a_recorded_rejection(framework: Framework, out: Path) -> None:
    if framework.is_messages:
        pytest.skip("the messages protocol sends arguments as JSON, never as text")
    broken = Answer(calls=(ToolUse("lookup_customer", {}),), raw_arguments='{"customer": ')
    script = [broken, Answer(text="DECISION: X")]
    ran = ran_in(framework, out, script)
    assert "tool_error" in ran.statuses(), ran.told
    first = next(episode for episode in ran.episodes if episode.status.value == "tool_error")
    assert [call.execution_state.value for call in first.trajectory.tool_calls] == ["rejected"]


@one_of_each
def test_a_tool_nobody_offered_is_a_recorded_rejection(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, [Answer(calls=(ToolUse("delete_everything", {"customer": "C-1"}),))])
    assert ran.statuses() == {"tool_error"}, ran.told
    assert {call.name for episode in ran.episodes for call in episode.trajectory.tool_calls} == {"delete_everything"}
    assert ran.episodes[0].trajectory.tool_calls[0].execution_state is ToolExecutionState.REJECTED


@one_of_each
def test_an_agent_that_never_ends_is_stopped_after_its_turns(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, [Answer(calls=(ToolUse("lookup_customer", {"customer": "C-1"}),))], max_turns=3)
    assert {episode.error and episode.error.kind for episode in ran.episodes} == {"TurnLimitError"}, ran.told
    assert len(ran.provider.served) == 3 * 4


@one_of_each
def test_instability_of_the_provider_is_what_is_measured(framework: Framework, out: Path) -> None:
    ran = ran_in(framework, out, Seeded(order_swap_rate=0.5, flip_rate=0.3), replays=6)
    assert ran.report.status == "complete", ran.report.ineligibility_reasons
    assert ran.report.tar is not None
    assert ran.report.tar.seq < 1.0
