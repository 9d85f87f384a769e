"""The JSON that an agent outside this process gets and gives: the same for an HTTP endpoint and a subprocess. Pure.

Asked:    {"model", ...parameters, "input", "labels"}; equal for every replay of a case.
Answered: {"output_text", "usage"?, "cost_usd"?, "refused"?, "response_id"?, "payload"?, "tool_calls"?}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfah_cli.canonical import digest
from dfah_cli.errors import AgentContractError
from dfah_cli.integrations.declaration import Setting
from dfah_cli.integrations.seam import Reply
from dfah_cli.records.case import Case
from dfah_cli.records.enums import ChannelState
from dfah_cli.records.episode import Usage
from dfah_cli.records.trajectory import ToolCall, Trajectory

JSON = dict[str, Any]
ANSWER_KEYS = ("output_text", "usage", "cost_usd", "refused", "response_id", "payload", "tool_calls")
EMPTY: tuple[Any, ...] = (None, "", [], {})


def question(setting: Setting, case: Case) -> JSON:
    """What an agent is asked."""
    declared = setting.declaration
    labels = [label.upper() for label in setting.suite.ontology]
    return {"model": declared.model, **declared.parameters, "input": case.input, "labels": labels}


def reply_of(answer: Any, asked: JSON, *, own_tools: bool) -> Reply:
    """The reply in an agent's answer. own_tools: whether it calls its tools itself and tells of them.

    Raises: AgentContractError naming the key that is wrong, never its value.
    """
    if not isinstance(answer, Mapping):
        raise AgentContractError("the agent answered with no JSON object; expected {output_text: ...}")
    unknown = sorted(str(key) for key in answer if key not in ANSWER_KEYS)
    if unknown:
        raise AgentContractError(
            f"the answer has keys that mean nothing: {', '.join(unknown)}; expected {', '.join(ANSWER_KEYS)}"
        )
    if type(answer.get("output_text")) is not str:
        raise AgentContractError("the answer has no text output_text")
    payload = answer.get("payload")
    return Reply(
        text=answer["output_text"],
        payload=asked if payload is None else _object(payload, "payload"),
        usage=Usage(**_object(answer.get("usage") or {}, "usage")),
        cost_usd=_number(answer.get("cost_usd")),
        refused=answer.get("refused") is True,
        response_id=answer.get("response_id"),
        trajectory=_trajectory(answer.get("tool_calls") or []) if own_tools else None,
    )


def _object(value: Any, name: str) -> JSON:
    if not isinstance(value, Mapping):
        raise AgentContractError(f"the answer's {name} is no JSON object")
    known = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "provider_usage")
    if name == "usage" and set(value) - set(known):
        raise AgentContractError(f"the answer's usage has other keys than {', '.join(known)}")
    return dict(value)


def _number(value: Any) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise AgentContractError("the answer's cost_usd is no number")
    return None if value is None else float(value)


def _trajectory(calls: Any) -> Trajectory:
    """The path of an agent that calls its tools itself: {name, arguments, output} for each call."""
    if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
        raise AgentContractError("the answer's tool_calls are no list of objects {name, arguments, output}")
    return Trajectory.of(tuple(_call(call) for call in calls))


def _call(call: Mapping[str, Any]) -> ToolCall:
    output = call.get("output")
    return ToolCall(
        name=call.get("name", ""),
        arguments=call.get("arguments", {}),
        output_hash=digest(output),
        result_state=ChannelState.OBSERVED_EMPTY if output in EMPTY else ChannelState.OBSERVED_NONEMPTY,
    )
