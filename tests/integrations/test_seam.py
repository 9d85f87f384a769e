"""What an existing agent is held to, and what is observed of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import AgentContractError, ConfigurationError, ToolExecutionError
from dfah_cli.integrations.bring import bring
from dfah_cli.integrations.loopback.conversation import Answer, ToolUse
from dfah_cli.integrations.loopback.server import LoopbackProvider
from dfah_cli.integrations.seam import Prices
from dfah_cli.integrations.tools import arguments_of, named, recorded, registry_of
from dfah_cli.integrations.wire.exchange import Exchange, observed
from dfah_cli.integrations.wire.tap import watch
from dfah_cli.records.episode import Usage
from tests.integrations.build import SUITE, TOOLS, Ran, lookup_customer, needs, run_of

SCHEMAS = [
    {"type": "function", "function": {"name": spec.name, "parameters": spec.input_schema}} for spec in SUITE.tools
]
DECIDED = Answer(text="DECISION: APPROVE")


@pytest.fixture
def provider() -> Iterator[LoopbackProvider]:
    needs("openai", "openai")
    with LoopbackProvider([DECIDED]) as running:
        yield running


def client_of(provider: LoopbackProvider) -> Any:
    import openai

    return openai.OpenAI(base_url=provider.openai_url, api_key="none", max_retries=0)


def ask(client: Any, **changes: Any) -> str:
    request = {"model": "m", "messages": [{"role": "user", "content": "x"}], "temperature": 0, "tools": SCHEMAS}
    completion = client.chat.completions.create(**{k: v for k, v in (request | changes).items() if v is not None})
    return str(completion.choices[0].message.content)


def run(provider: LoopbackProvider, out: Path, answer: Callable[..., Any], client: Any = None, **options: Any) -> Ran:
    given = {"model": "m", "parameters": {"temperature": 0}, "tools": TOOLS, **options}
    client = client or client_of(provider)
    return run_of(bring(suite=SUITE, client=client, **given)(answer), out, provider)


def told(ran: Ran) -> str:
    return " ".join({event.error_text for event in ran.told if getattr(event, "error_text", None)})


def test_an_agent_that_keeps_to_its_manifest_is_valid(provider: LoopbackProvider, out: Path) -> None:
    client = client_of(provider)
    ran = run(provider, out, lambda case, context: ask(client), client)
    assert ran.statuses() == {"valid"}
    assert {episode.wire_request and episode.wire_request.payload_hash for episode in ran.episodes} != {None}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "other"}, "request 1 of the episode asks for 'other'; the manifest declares 'm'"),
        ({"temperature": 0.7}, "'temperature': the payload sends another value than declared"),
        ({"temperature": None}, "'temperature': declared, but not in the payload"),
        ({"top_p": 0.5}, "sends top_p, which the manifest does not declare"),
        ({"seed": 3}, "sends seed, which the manifest does not declare"),
        (
            {"tools": [*SCHEMAS, {"type": "function", "function": {"name": "wipe", "parameters": {}}}]},
            "offers tools the suite does not declare: wipe",
        ),
        ({"tools": [{"type": "web_search"}]}, "offers tools the suite does not declare: web_search"),
    ],
)
def test_a_request_that_breaks_the_manifest_is_named(
    provider: LoopbackProvider, out: Path, changes: dict[str, Any], message: str
) -> None:
    client = client_of(provider)
    ran = run(provider, out, lambda case, context: ask(client, **changes), client)
    assert ran.statuses() == {"contract_error"}
    assert message in told(ran)


def test_a_later_request_is_held_to_the_manifest_too(provider: LoopbackProvider, out: Path) -> None:
    client = client_of(provider)

    def answer(case: Any, context: Any) -> str:
        ask(client)
        return ask(client, temperature=1)

    ran = run(provider, out, answer, client)
    assert ran.statuses() == {"contract_error"}
    assert "request 2 of the episode" in told(ran)


def test_a_prompt_with_a_counter_in_it_makes_its_replays_ineligible(provider: LoopbackProvider, out: Path) -> None:
    client, counter = client_of(provider), iter(range(100))

    def answer(case: Any, context: Any) -> str:
        return ask(client, messages=[{"role": "user", "content": f"request {next(counter)}"}])

    ran = run(provider, out, answer, client)
    assert [reason.reason for reason in ran.report.ineligibility_reasons] == ["wire_payload_mismatch"]


def test_an_agent_whose_client_is_not_watched_is_told_so(provider: LoopbackProvider, out: Path) -> None:
    unwatched = client_of(provider)
    ran = run(provider, out, lambda case, context: ask(unwatched))
    assert ran.statuses() == {"contract_error"}
    assert "no request was seen" in told(ran)


def test_what_is_no_text_is_no_answer(provider: LoopbackProvider, out: Path) -> None:
    client = client_of(provider)
    ran = run(provider, out, lambda case, context: json.loads(f"[{len(ask(client))}]"), client)
    assert ran.statuses() == {"contract_error"}


def test_tools_of_a_framework_itself_can_be_named(provider: LoopbackProvider, out: Path) -> None:
    client = client_of(provider)
    final = {"type": "function", "function": {"name": "final_result", "parameters": {}}}
    provider._behaviour = lambda _: Answer(text="DECISION: APPROVE", calls=(ToolUse("final_result", {}),))

    def answer(case: Any, context: Any) -> str:
        return ask(client, tools=[*SCHEMAS, final])

    assert run(provider, out, answer, client, internal_tools=["final_result"]).statuses() == {"valid"}


def test_a_call_that_was_asked_for_and_never_made_is_recorded(provider: LoopbackProvider, out: Path) -> None:
    client = client_of(provider)
    provider._behaviour = lambda _: Answer(text="DECISION: APPROVE", calls=(ToolUse("read_policy", {"customer": "C"}),))
    ran = run(provider, out, lambda case, context: ask(client), client)
    assert ran.statuses() == {"tool_error"}
    assert [call.name for call in ran.episodes[0].trajectory.tool_calls] == ["read_policy"]
    assert told(ran) == (
        "tool 'read_policy': the provider asked for it and no recorded function was called; "
        "give the agent what recorded(...) returns"
    )


def test_outside_an_episode_a_watched_client_and_a_recorded_tool_behave_as_before(provider: LoopbackProvider) -> None:
    client = watch(watch(client_of(provider)))
    assert ask(client) == "DECISION: APPROVE"
    assert recorded(lookup_customer)("C-1") == lookup_customer("C-1")
    assert client._client.event_hooks["request"].count(client._client.event_hooks["request"][-1]) == 1


def test_what_has_no_http_client_cannot_be_watched() -> None:
    with pytest.raises(ConfigurationError, match="found no HTTP client in object"):
        watch(object())


def test_recorded_functions_take_positional_arguments(out: Path) -> None:
    registry = registry_of(SUITE, TOOLS)
    assert registry is not None
    tools = recorded(TOOLS)
    with observed(Exchange(session=registry.session())) as exchange:
        assert tools["lookup_customer"]("C-1") == {"customer": "C-1", "tier": "gold"}
        assert asyncio.run(tools["read_policy"](customer="C-1")) == ["refund within 30 days"]
        with pytest.raises(ToolExecutionError):
            tools["lookup_customer"](customer=3)
    assert exchange.session is not None
    states = [(call.name, call.execution_state.value) for call in exchange.session.calls]
    assert states == [("lookup_customer", "executed"), ("read_policy", "executed"), ("lookup_customer", "rejected")]


def test_recording_twice_records_once() -> None:
    once = recorded([lookup_customer])
    assert recorded(once)[0].__dfah_original__ is lookup_customer
    assert named(once)["lookup_customer"] is once[0]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({}, "missing: lookup_customer, read_policy"),
        ({**TOOLS, "wipe": lookup_customer}, "extra: wipe"),
    ],
)
def test_functions_must_be_those_of_the_suite(functions: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        registry_of(SUITE, functions)


@pytest.mark.parametrize("given", ["{", "[1]", "null", 3, None])
def test_arguments_that_are_no_object_are_something_the_session_rejects(given: Any) -> None:
    registry = registry_of(SUITE, TOOLS)
    assert registry is not None
    session = registry.session()
    with pytest.raises(ToolExecutionError):
        asyncio.run(session.call("lookup_customer", **arguments_of(given)))
    assert session.calls[0].execution_state.value == "rejected"
    assert session.calls[0].arguments_hash is None


def test_cached_tokens_have_a_price_of_their_own() -> None:
    usage = Usage(input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000)
    assert Prices(input=1.0, output=10.0).cost_usd(usage) == pytest.approx(2.0)
    assert Prices(input=1.0, output=10.0, cached_input=0.5).cost_usd(usage) == pytest.approx(1.8)


def test_a_source_that_is_no_file_is_refused(provider: LoopbackProvider) -> None:
    with pytest.raises(ConfigurationError, match="source"):
        bring(suite=SUITE, model="m", client=client_of(provider), tools=TOOLS, sources=["nowhere.py"])


def test_a_tool_without_a_session_is_a_contract_error() -> None:
    from dfah_cli.integrations.tools import Wanted, call_all

    with pytest.raises(AgentContractError, match="the suite has none"):
        asyncio.run(call_all(None, [Wanted("1", "look", {})]))
