"""A path from recorded chat messages: assistant tool calls, and the tool messages that answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from dfah_cli.loading.replays import typed
from dfah_cli.loading.replays.recorded import value_hash
from dfah_cli.metrics.paths import StepLike


def steps(messages: Sequence[Any], where: str) -> tuple[StepLike, ...]:
    """Ordered tool calls of OpenAI-style messages.

    Ids may be reused inside a run, so an answer belongs to the earliest call before it, and after the last
    answers, that is still open and has its id (or no id). A call without an answer has no result hash.
    """
    calls: list[list[str | None]] = []
    open_calls: list[tuple[str | None, int]] = []
    for at, value in enumerate(messages):
        place = f"{where} message {at}"
        message = typed.mapping(value, place)
        if message.get("role") == "assistant" and message.get("tool_calls"):
            open_calls = []
            for call in typed.items(message["tool_calls"], place):
                open_calls.append((typed.optional_text(typed.mapping(call, place), "id", place), len(calls)))
                calls.append(_request(call, place))
        elif message.get("role") == "tool":
            _answer(message, open_calls, calls, place)
    return tuple(_step(call) for call in calls)


def _request(call: Mapping[str, Any], place: str) -> list[str | None]:
    function = typed.mapping(call.get("function"), place)
    return [typed.text(function, "name", place), _arguments(function.get("arguments"), place), None, None]


def _arguments(value: Any, place: str) -> str | None:
    """Arguments are JSON in a string; two spellings of one object are one value, broken JSON is compared as text."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value_hash({"not_json": value}, place)
    return None if value is None else value_hash(value, place)


def _answer(
    message: Mapping[str, Any], open_calls: list[tuple[str | None, int]], calls: list[list[str | None]], place: str
) -> None:
    wanted = message.get("tool_call_id")
    for position, (call_id, at) in enumerate(open_calls):
        if wanted is None or call_id is None or call_id == wanted:
            content = message.get("content")
            calls[at][2] = value_hash(content, place)
            calls[at][3] = "observed_empty" if content in (None, "", []) else "observed_nonempty"
            del open_calls[position]
            return


def _step(call: Sequence[str | None]) -> StepLike:
    name, arguments, result, state = call
    assert name is not None
    answered = state is not None
    return name, arguments, result, state or "unavailable", "executed" if answered else "requested"
