"""The local provider: what it answers follows from its seed and the conversation, and from nothing else."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.integrations.loopback import chat
from dfah_cli.integrations.loopback.conversation import Answer, Conversation, Fault, ToolUse
from dfah_cli.integrations.loopback.seeded import Seeded, example, offered_labels
from dfah_cli.integrations.loopback.server import LoopbackProvider
from dfah_cli.integrations.wire.reading import UNREAD, offered_tools, read
from dfah_cli.records.json_schema import first_problem

TOOL = {"name": "look", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}
PATHS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": TOOL}],
    },
    "/v1/responses": {"input": "hi", "tools": [{"type": "function", **TOOL}]},
    "/v1/messages": {
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "look", "input_schema": TOOL["parameters"]}],
    },
}


def post(provider: LoopbackProvider, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(provider.url).netloc, timeout=10)
    try:
        connection.request("POST", path, json.dumps({"model": "m", **body}), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", list(PATHS))
def test_a_whole_and_a_streamed_answer_say_the_same(path: str, stream: bool) -> None:
    answer = Answer(text="Let me see.", calls=(ToolUse("look", {"id": "1"}), ToolUse("look", {"id": "2"})))
    with LoopbackProvider([answer]) as provider:
        body = {**PATHS[path], "stream": stream, "stream_options": {"include_usage": True}}
        status, headers, payload = post(provider, path, body)
        found = read(payload)
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream" if stream else "application/json")
    assert found.calls == ("look", "look")
    assert found.model == "m"
    assert (found.input_tokens > 0, found.output_tokens > 0, found.refused) == (True, True, False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", list(PATHS))
def test_a_refusal_can_be_read_in_every_protocol(path: str, stream: bool) -> None:
    with LoopbackProvider([Answer(refusal="no")]) as provider:
        assert read(post(provider, path, {**PATHS[path], "stream": stream})[2]).refused


@pytest.mark.parametrize("path", list(PATHS))
def test_offered_tools_are_read_in_every_protocol(path: str) -> None:
    assert offered_tools(PATHS[path]) == ("look",)


def test_a_rate_limit_says_when_to_come_back() -> None:
    with LoopbackProvider([Fault(kind="rate_limit", retry_after_s=2)]) as provider:
        status, headers, _ = post(provider, "/v1/messages", PATHS["/v1/messages"])
    assert (status, headers["retry-after"]) == (429, "2")


def test_a_reset_is_a_reset() -> None:
    with LoopbackProvider([Fault(kind="reset")]) as provider, pytest.raises(ConnectionResetError):
        post(provider, "/v1/messages", PATHS["/v1/messages"])


@pytest.mark.parametrize(("path", "status"), [("/v1/other", 404), ("/v1/chat/completions", 400)])
def test_a_wrong_request_is_answered_as_one(path: str, status: int) -> None:
    with LoopbackProvider() as provider:
        assert post(provider, path, {"messages": 3})[0] == status


def _ask_in_vain(provider: LoopbackProvider) -> None:
    with pytest.raises(OSError):
        post(provider, "/v1/messages", {})


def test_closing_does_not_wait_for_a_silent_answer() -> None:
    with LoopbackProvider([Fault(kind="timeout", seconds=60)]) as provider:
        url = provider.url
        asking = threading.Thread(target=_ask_in_vain, args=(provider,))
        asking.start()
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    asking.join(10)
    assert url.startswith("http://127.0.0.1:")


def conversation(visit: int) -> Conversation:
    opening = chat.read({"model": "m", **PATHS["/v1/chat/completions"]})
    return Conversation(opening=opening, visit=visit, attempt=visit)


@given(seed=st.integers(0, 10**9), visit=st.integers(0, 50))
def test_equal_seeds_give_equal_answers(seed: int, visit: int) -> None:
    rates = {"flip_rate": 0.5, "order_swap_rate": 0.5, "refusal_rate": 0.2, "rate_limit_rate": 0.2}
    assert Seeded(seed=seed, **rates)(conversation(visit)) == Seeded(seed=seed, **rates)(conversation(visit))


def test_a_rate_is_the_share_of_visits_it_happens_in() -> None:
    behave = Seeded(refusal_rate=0.3)
    refused = sum(isinstance(a := behave(conversation(n)), Answer) and a.refusal is not None for n in range(2000))
    assert 500 < refused < 700


@pytest.mark.parametrize(
    ("prompt", "labels"),
    [
        ("LABEL is one of: ESCALATE, DISMISS.", ("ESCALATE", "DISMISS")),
        ("Say one of approve or reject", ("APPROVE", "REJECT")),
        ("one of A | B | C", ("A", "B", "C")),
        ("Decide.", ("YES", "NO")),
    ],
)
def test_labels_are_those_the_prompt_names(prompt: str, labels: tuple[str, ...]) -> None:
    assert offered_labels(prompt) == labels


SCHEMAS = st.recursive(
    st.sampled_from([{"type": "string"}, {"type": "integer", "minimum": 3}, {"type": "boolean"}, {"enum": ["a", 2]}]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
        lambda properties: {"type": "object", "properties": properties, "required": sorted(properties)}
    ),
    max_leaves=6,
).filter(lambda schema: schema.get("type") == "object")


@given(SCHEMAS)
def test_invented_arguments_satisfy_their_schema(schema: dict[str, Any]) -> None:
    assert first_problem(schema, example(schema, "no JSON here")) is None


@given(st.binary(max_size=200))
def test_reading_never_fails_on_what_is_no_answer(payload: bytes) -> None:
    assert read(payload) == UNREAD
