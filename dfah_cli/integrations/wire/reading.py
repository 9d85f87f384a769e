"""The body of a provider's answer, whole or streamed -> its ids, usage, refusal and tool calls. Pure.

Knows the chat completions, responses and messages protocols by the shape of what they send; anything else reads as
an answer without those facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import frozen

JSON = Mapping[str, Any]


@frozen(kw_only=True)
class Reading:
    """The facts of one answer. calls: names of the functions it asks for, in order. input_tokens: cached ones too."""

    response_id: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    refused: bool = False
    calls: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


UNREAD = Reading()


def read(payload: bytes) -> Reading:
    """The facts of an answer; `UNREAD` for what is no answer of a known protocol."""
    try:
        return _fold(list(_documents(payload)))
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return UNREAD


def _documents(payload: bytes) -> Iterator[JSON]:
    text = payload.decode("utf-8")
    if text.lstrip().startswith("{"):
        yield json.loads(text)
        return
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data.startswith("{"):
            yield json.loads(data)


def _fold(documents: list[JSON]) -> Reading:
    first = documents[0]
    if first.get("object") in ("chat.completion", "chat.completion.chunk"):
        return _chat(documents)
    if first.get("object") == "response" or "response" in first:
        finals = [one.get("response", one) for one in documents if _is_response(one)]
        return _responses(finals[-1])
    if first.get("type") in ("message", "message_start"):
        return _messages(documents)
    return UNREAD


def _is_response(document: JSON) -> bool:
    return document.get("object") == "response" or isinstance(document.get("response"), Mapping)


def _chat(documents: list[JSON]) -> Reading:
    choices = [choice for one in documents for choice in one.get("choices") or []]
    parts = [choice.get("message") or choice.get("delta") or {} for choice in choices]
    usage: JSON = next((one["usage"] for one in reversed(documents) if one.get("usage")), {})
    calls = [call.get("function") or {} for part in parts for call in part.get("tool_calls") or []]
    filtered = any(choice.get("finish_reason") == "content_filter" for choice in choices)
    return Reading(
        response_id=documents[0].get("id"),
        model=documents[0].get("model"),
        fingerprint=documents[0].get("system_fingerprint"),
        refused=filtered or any(part.get("refusal") is not None for part in parts),
        # In a stream only the first part of a call has its name.
        calls=tuple(call["name"] for call in calls if call.get("name")),
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _responses(answer: JSON) -> Reading:
    output = answer.get("output") or []
    spoken = [part for item in output if item.get("type") == "message" for part in item.get("content") or []]
    usage = answer.get("usage") or {}
    filtered = (answer.get("incomplete_details") or {}).get("reason") == "content_filter"
    return Reading(
        response_id=answer.get("id"),
        model=answer.get("model"),
        refused=filtered or any(part.get("type") == "refusal" for part in spoken),
        calls=tuple(item["name"] for item in output if item.get("type") == "function_call"),
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cached_tokens=_count(usage.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=_count(usage.get("output_tokens_details"), "reasoning_tokens"),
    )


def _messages(documents: list[JSON]) -> Reading:
    message = documents[0].get("message", documents[0])
    started = [one["content_block"] for one in documents if one.get("type") == "content_block_start"]
    blocks = [*(message.get("content") or []), *started]
    ends = [one for one in documents if one.get("type") == "message_delta"]
    usage = {**(message.get("usage") or {}), **(ends[-1].get("usage") or {} if ends else {})}
    reason = ends[-1]["delta"].get("stop_reason") if ends else message.get("stop_reason")
    cached = _count(usage, "cache_read_input_tokens")
    return Reading(
        response_id=message.get("id"),
        model=message.get("model"),
        refused=reason == "refusal",
        calls=tuple(block["name"] for block in blocks if block.get("type") == "tool_use"),
        # This protocol counts cached tokens apart from the others.
        input_tokens=_count(usage, "input_tokens") + cached + _count(usage, "cache_creation_input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cached_tokens=cached,
    )


def _count(usage: JSON | None, name: str) -> int:
    value = (usage or {}).get(name)
    return value if type(value) is int and value >= 0 else 0


# What a request offers to the provider: a function has a name, a tool of the provider's own has only a type.
_OFFERED: tuple[Callable[[JSON], Any], ...] = (
    lambda tool: (tool.get("function") or {}).get("name"),
    lambda tool: tool.get("name"),
    lambda tool: tool.get("type"),
)


def offered_tools(body: JSON) -> tuple[str, ...]:
    """Names of the tools a request offers, in its order."""
    tools = body.get("tools")
    named = (next((str(name) for find in _OFFERED if (name := find(tool))), "?") for tool in tools or [])
    return tuple(named)
