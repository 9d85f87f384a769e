"""The OpenAI SDK, and every server that speaks its protocols: chat completions or responses, streamed or not."""

from __future__ import annotations

from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.declaration import Setting, user_text
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.kinds.sdk import OPENAI
from dfah_cli.integrations.resources import PerLoop
from dfah_cli.integrations.seam import TurnLimitError
from dfah_cli.integrations.tools import JSON, Wanted, call_all, chat_tool, responses_tool
from dfah_cli.records.case import Case


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    apis: dict[str | None, type[Chat] | type[Responses]] = {None: Chat, "chat": Chat, "responses": Responses}
    if setting.declaration.api not in apis:
        raise ConfigurationError("adapter.api: the kind openai has chat and responses")
    client = OPENAI.client_of(setting)
    talk = apis[setting.declaration.api](setting, client)
    return Made(answer=talk.answer, provider="openai", close=client.aclose, ready=lambda: OPENAI.key_of(setting))


class Chat:
    """A conversation over chat completions."""

    def __init__(self, setting: Setting, client: PerLoop[Any]) -> None:
        self._setting, self._client = setting, client
        declared = setting.declaration
        # By way of extra_body: the SDK's own arguments are not the same in every version, the wire is.
        self._fixed: JSON = {"model": declared.model, "extra_body": declared.parameters}
        if setting.suite.tools:
            self._fixed["tools"] = [chat_tool(spec) for spec in setting.suite.tools]
        if declared.stream:
            self._fixed |= {"stream": True, "stream_options": {"include_usage": True}}

    async def answer(self, case: Case, context: RunContext) -> str:
        """The provider's last text on a case."""
        messages: list[JSON] = [
            {"role": "system", "content": self._setting.prompt},
            {"role": "user", "content": user_text(case)},
        ]
        for _ in range(self._setting.declaration.max_turns):
            message = await self._ask(messages)
            if not message.get("tool_calls"):
                return message.get("content") or ""
            messages.append(message)
            calls = message["tool_calls"]
            wanted = [Wanted(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls]
            results = await call_all(context.tools, wanted)
            messages += [
                {"role": "tool", "tool_call_id": one.call_id, "content": result}
                for one, result in zip(wanted, results, strict=True)
            ]
        raise TurnLimitError(self._setting.declaration.max_turns)

    async def _ask(self, messages: list[JSON]) -> JSON:
        create = self._client.get().chat.completions.create
        if not self._setting.declaration.stream:
            whole = (await create(messages=messages, **self._fixed)).choices[0].message
            return {"role": "assistant", **whole.model_dump(include={"content", "tool_calls"}, exclude_none=True)}
        message: JSON = {"role": "assistant", "content": ""}
        calls: dict[int, JSON] = {}
        async for chunk in await create(messages=messages, **self._fixed):
            for choice in chunk.choices[:1]:
                message["content"] += choice.delta.content or ""
                for part in choice.delta.tool_calls or []:
                    _add(calls, part)
        return {**message, "tool_calls": [calls[index] for index in sorted(calls)]} if calls else message


def _add(calls: dict[int, JSON], part: Any) -> None:
    """Puts a part of a streamed call where it belongs."""
    call = calls.setdefault(part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    call["id"] += part.id or ""
    call["function"]["name"] += part.function.name or ""
    call["function"]["arguments"] += part.function.arguments or ""


class Responses:
    """A conversation over responses; nothing is kept at the provider's."""

    def __init__(self, setting: Setting, client: PerLoop[Any]) -> None:
        self._setting, self._client = setting, client
        declared = setting.declaration
        self._fixed: JSON = {
            "model": declared.model,
            "instructions": setting.prompt,
            "store": False,
            "extra_body": declared.parameters,
        }
        if setting.suite.tools:
            self._fixed["tools"] = [responses_tool(spec) for spec in setting.suite.tools]

    async def answer(self, case: Case, context: RunContext) -> str:
        """The provider's last text on a case."""
        items: list[JSON] = [{"role": "user", "content": user_text(case)}]
        for _ in range(self._setting.declaration.max_turns):
            response = await self._ask(items)
            wanted = [
                Wanted(item.call_id, item.name, item.arguments)
                for item in response.output
                if item.type == "function_call"
            ]
            if not wanted:
                text: str = response.output_text
                return text
            items += [item.model_dump(exclude_none=True) for item in response.output]
            results = await call_all(context.tools, wanted)
            items += [
                {"type": "function_call_output", "call_id": one.call_id, "output": result}
                for one, result in zip(wanted, results, strict=True)
            ]
        raise TurnLimitError(self._setting.declaration.max_turns)

    async def _ask(self, items: list[JSON]) -> Any:
        create = self._client.get().responses.create
        if not self._setting.declaration.stream:
            return await create(input=items, **self._fixed)
        final = None
        async for event in await create(input=items, stream=True, **self._fixed):
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                final = event.response
        if final is None:
            raise StreamCutError
        return final


class StreamCutError(Exception):
    """A streamed answer ended before its last event."""
