"""The messages protocol: request -> opening, answer -> JSON or server-sent events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dfah_cli.integrations.loopback.chat import arguments_text, pieces, text_of
from dfah_cli.integrations.loopback.conversation import JSON, Answer, Minted, Opening, ToolAnswer

DIALECT = "messages"


def read(body: JSON) -> Opening:
    """The opening of a request to /messages."""
    messages = body.get("messages", [])
    blocks = [(message["role"], block) for message in messages for block in _blocks(message["content"])]
    asked = {block["id"]: block for _, block in blocks if block.get("type") == "tool_use"}
    results = [block for _, block in blocks if block.get("type") == "tool_result"]
    return Opening(
        dialect=DIALECT,
        model=str(body.get("model", "")),
        system=text_of(body.get("system")),
        user=next((block["text"] for role, block in blocks if role == "user" and block.get("type") == "text"), ""),
        schemas={tool["name"]: tool.get("input_schema") or {} for tool in body.get("tools") or []},
        answers=tuple(
            ToolAnswer(
                block["tool_use_id"],
                asked.get(block["tool_use_id"], {}).get("name", ""),
                asked.get(block["tool_use_id"], {}).get("input"),
                text_of(block.get("content")),
            )
            for block in results
        ),
        turn=sum(message["role"] == "assistant" for message in messages),
        stream=bool(body.get("stream")),
        body=body,
    )


def _blocks(content: Any) -> list[JSON]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def answer_json(opening: Opening, answer: Answer, minted: Minted) -> JSON:
    """The body of a whole answer."""
    return {
        "id": f"msg_{minted.response_id}",
        "type": "message",
        "role": "assistant",
        "model": opening.model,
        "content": _content(answer, minted),
        "stop_reason": _stop_reason(answer),
        "stop_sequence": None,
        "usage": {
            "input_tokens": minted.input_tokens,
            "output_tokens": minted.output_tokens,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        },
    }


def answer_events(opening: Opening, answer: Answer, minted: Minted) -> Iterator[str]:
    """The data of each server-sent event of a streamed answer; its `type` is the name of the event."""
    whole = answer_json(opening, answer, minted)
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    events: list[JSON] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(whole["content"]):
        events.extend(_block_events(index, block, _arguments(answer, whole, index)))
    events.append(
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": minted.output_tokens},
        }
    )
    events.append({"type": "message_stop"})
    yield from map(json.dumps, events)


def _arguments(answer: Answer, whole: JSON, index: int) -> str:
    if whole["content"][index]["type"] != "tool_use":
        return ""
    return arguments_text(answer, sum(block["type"] == "tool_use" for block in whole["content"][:index]))


def _block_events(index: int, block: JSON, arguments: str) -> Iterator[JSON]:
    is_call = block["type"] == "tool_use"
    unfilled: JSON = {"input": {}} if is_call else {"text": ""}
    hollow = {**block, **unfilled}
    yield {"type": "content_block_start", "index": index, "content_block": hollow}
    for part in pieces(arguments if is_call else block["text"]):
        delta = {"type": "input_json_delta", "partial_json": part} if is_call else {"type": "text_delta", "text": part}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _content(answer: Answer, minted: Minted) -> list[JSON]:
    text = answer.text if answer.refusal is None else answer.refusal
    spoken: list[JSON] = [{"type": "text", "text": text}] if text else []
    calls = [
        {"type": "tool_use", "id": minted.call_ids[index], "name": call.name, "input": dict(call.arguments)}
        for index, call in enumerate(answer.calls)
    ]
    return spoken + calls


def _stop_reason(answer: Answer) -> str:
    if answer.refusal is not None:
        return "refusal"
    return "tool_use" if answer.calls else "end_turn"
