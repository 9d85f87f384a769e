"""The responses protocol: request -> opening, answer -> JSON or server-sent events. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dfah_cli.integrations.loopback.chat import arguments_text, pieces, text_of
from dfah_cli.integrations.loopback.conversation import JSON, Answer, Minted, Opening, ToolAnswer

DIALECT = "responses"


def read(body: JSON) -> Opening:
    """The opening of a request to /responses."""
    given = body.get("input", "")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    asked = {item["call_id"]: item for item in items if item.get("type") == "function_call"}
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    system = [text_of(item["content"]) for item in items if item.get("role") in ("system", "developer")]
    functions = [tool for tool in body.get("tools") or [] if tool.get("type") == "function"]
    return Opening(
        dialect=DIALECT,
        model=str(body.get("model", "")),
        system="\n".join([str(body.get("instructions") or ""), *system]),
        user=next((text_of(item["content"]) for item in items if item.get("role") == "user"), ""),
        schemas={function["name"]: function.get("parameters") or {} for function in functions},
        answers=tuple(
            ToolAnswer(
                item["call_id"],
                asked.get(item["call_id"], {}).get("name", ""),
                asked.get(item["call_id"], {}).get("arguments"),
                text_of(item["output"]),
            )
            for item in outputs
        ),
        turn=_turns(items),
        stream=bool(body.get("stream")),
        body=body,
    )


def _turns(items: list[JSON]) -> int:
    """How often the provider answered: runs of its own items."""
    own = [item.get("type") == "function_call" or item.get("role") == "assistant" for item in items]
    return sum(mine and not before for mine, before in zip(own, [False, *own[:-1]], strict=True))


def answer_json(opening: Opening, answer: Answer, minted: Minted) -> JSON:
    """The body of a whole answer."""
    return {
        "id": f"resp_{minted.response_id}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": opening.body.get("instructions"),
        "metadata": {},
        "model": opening.model,
        "output": _output(answer, minted),
        "parallel_tool_calls": True,
        "temperature": opening.body.get("temperature", 1.0),
        "top_p": opening.body.get("top_p", 1.0),
        "tool_choice": "auto",
        "tools": opening.body.get("tools") or [],
        "usage": {
            "input_tokens": minted.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": minted.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": minted.input_tokens + minted.output_tokens,
        },
    }


def answer_events(opening: Opening, answer: Answer, minted: Minted) -> Iterator[str]:
    """The data of each server-sent event of a streamed answer; its `type` is the name of the event."""
    whole = answer_json(opening, answer, minted)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[JSON] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        events.extend(_item_events(index, item))
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield json.dumps({**event, "sequence_number": number})


def _item_events(index: int, item: JSON) -> Iterator[JSON]:
    place = {"item_id": item["id"], "output_index": index}
    is_call = item["type"] == "function_call"
    unfilled: JSON = {"arguments": ""} if is_call else {"content": []}
    hollow: JSON = {**item, "status": "in_progress", **unfilled}
    yield {"type": "response.output_item.added", "output_index": index, "item": hollow}
    if is_call:
        for part in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": part}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
    else:
        yield from _content_events(place, item["content"][0])
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _content_events(place: JSON, part: JSON) -> Iterator[JSON]:
    key, event = ("text", "output_text") if part["type"] == "output_text" else ("refusal", "refusal")
    place = {**place, "content_index": 0}
    more: JSON = {"logprobs": []} if event == "output_text" else {}
    yield {"type": "response.content_part.added", **place, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield {"type": f"response.{event}.delta", **place, "delta": piece, **more}
    yield {"type": f"response.{event}.done", **place, key: part[key], **more}
    yield {"type": "response.content_part.done", **place, "part": part}


def _output(answer: Answer, minted: Minted) -> list[JSON]:
    output: list[JSON] = []
    if answer.text or answer.refusal is not None:
        spoken: JSON = (
            {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
            if answer.refusal is None
            else {"type": "refusal", "refusal": answer.refusal}
        )
        output.append(
            {
                "type": "message",
                "id": f"msg_{minted.response_id}",
                "status": "completed",
                "role": "assistant",
                "content": [spoken],
            }
        )
    for index, call in enumerate(answer.calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{minted.response_id}_{index}",
                "call_id": minted.call_ids[index],
                "name": call.name,
                "arguments": arguments_text(answer, index),
                "status": "completed",
            }
        )
    return output
