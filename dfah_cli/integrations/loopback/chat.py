"""The chat completions protocol: request -> opening, answer -> JSON or server-sent events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dfah_cli.integrations.loopback.conversation import JSON, Answer, Minted, Opening, ToolAnswer

DIALECT = "chat"
FINGERPRINT = "fp_loopback"


def read(body: JSON) -> Opening:
    """The opening of a request to /chat/completions."""
    messages = body.get("messages", [])
    functions = [tool["function"] for tool in body.get("tools") or [] if tool.get("type") == "function"]
    asked: dict[str, JSON] = {
        call["id"]: call["function"] for message in messages for call in message.get("tool_calls") or []
    }
    return Opening(
        dialect=DIALECT,
        model=str(body.get("model", "")),
        system="\n".join(text_of(m["content"]) for m in messages if m["role"] in ("system", "developer")),
        user=next((text_of(m["content"]) for m in messages if m["role"] == "user"), ""),
        schemas={function["name"]: function.get("parameters") or {} for function in functions},
        answers=tuple(
            ToolAnswer(
                message["tool_call_id"],
                asked.get(message["tool_call_id"], {}).get("name", ""),
                asked.get(message["tool_call_id"], {}).get("arguments"),
                text_of(message["content"]),
            )
            for message in messages
            if message["role"] == "tool"
        ),
        turn=sum(message["role"] == "assistant" for message in messages),
        stream=bool(body.get("stream")),
        stream_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        body=body,
    )


def text_of(content: Any) -> str:
    """The text of a message that is a string or a list of parts."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))


def answer_json(opening: Opening, answer: Answer, minted: Minted) -> JSON:
    """The body of a whole answer."""
    message: JSON = {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal}
    if answer.calls:
        message["tool_calls"] = _calls(answer, minted)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer)}
    return {
        **_envelope(opening, minted, "chat.completion"),
        "choices": [choice],
        "usage": _usage(minted),
    }


def answer_events(opening: Opening, answer: Answer, minted: Minted) -> Iterator[str]:
    """The data of each server-sent event of a streamed answer."""
    envelope = _envelope(opening, minted, "chat.completion.chunk")

    def chunk(delta: JSON, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return json.dumps({**envelope, "choices": [choice], "usage": None})

    yield chunk({"role": "assistant", "content": ""})
    for part in pieces(answer.text):
        yield chunk({"content": part})
    if answer.refusal is not None:
        yield chunk({"refusal": answer.refusal})
    for index, call in enumerate(_calls(answer, minted)):
        arguments = call["function"]["arguments"]
        first = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [first]})
        for part in pieces(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, _finish(answer))
    if opening.stream_usage:
        yield json.dumps({**envelope, "choices": [], "usage": _usage(minted)})
    yield "[DONE]"


def pieces(text: str, size: int = 7) -> Iterator[str]:
    """The text in small parts, so that whoever reads a stream has to put them together."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def arguments_text(answer: Answer, index: int) -> str:
    """The encoded arguments of a call; for the first one what a script put in their place."""
    if index == 0 and answer.raw_arguments is not None:
        return answer.raw_arguments
    return json.dumps(dict(answer.calls[index].arguments))


def _calls(answer: Answer, minted: Minted) -> list[JSON]:
    return [
        {
            "id": minted.call_ids[index],
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_text(answer, index)},
        }
        for index, call in enumerate(answer.calls)
    ]


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.calls else "stop"


def _envelope(opening: Opening, minted: Minted, kind: str) -> JSON:
    return {
        "id": f"chatcmpl-{minted.response_id}",
        "object": kind,
        "created": 1_700_000_000,
        "model": opening.model,
        "system_fingerprint": FINGERPRINT,
    }


def _usage(minted: Minted) -> JSON:
    return {
        "prompt_tokens": minted.input_tokens,
        "completion_tokens": minted.output_tokens,
        "total_tokens": minted.input_tokens + minted.output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
