"""The Anthropic SDK: messages, streamed or not."""

from __future__ import annotations

from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.integrations.declaration import Setting, user_text
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.kinds.sdk import ANTHROPIC
from dfah_cli.integrations.resources import PerLoop
from dfah_cli.integrations.seam import TurnLimitError
from dfah_cli.integrations.tools import JSON, Wanted, call_all, messages_tool
from dfah_cli.records.case import Case

# The protocol demands a limit.
MAX_TOKENS = {"max_tokens": 1024}


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    client = ANTHROPIC.client_of(setting)
    return Made(
        answer=Messages(setting, client).answer,
        provider="anthropic",
        close=client.aclose,
        ready=lambda: ANTHROPIC.key_of(setting),
        parameters=MAX_TOKENS,
    )


class Messages:
    """A conversation over messages."""

    def __init__(self, setting: Setting, client: PerLoop[Any]) -> None:
        self._setting, self._client = setting, client
        declared = setting.declaration
        # By way of extra_body: the SDK's own arguments are not the same in every version, the wire is.
        self._fixed: JSON = {
            "model": declared.model,
            "system": setting.prompt,
            **MAX_TOKENS,
            "extra_body": declared.parameters,
        }
        if setting.suite.tools:
            self._fixed["tools"] = [messages_tool(spec) for spec in setting.suite.tools]

    async def answer(self, case: Case, context: RunContext) -> str:
        """The provider's last text on a case."""
        messages: list[JSON] = [{"role": "user", "content": user_text(case)}]
        for _ in range(self._setting.declaration.max_turns):
            message = await self._ask(messages)
            wanted = [Wanted(one.id, one.name, one.input) for one in message.content if one.type == "tool_use"]
            if not wanted:
                return "".join(one.text for one in message.content if one.type == "text")
            said = [one.model_dump(exclude_none=True) for one in message.content]
            results = await call_all(context.tools, wanted)
            answers = [
                {"type": "tool_result", "tool_use_id": one.call_id, "content": result}
                for one, result in zip(wanted, results, strict=True)
            ]
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": answers}]
        raise TurnLimitError(self._setting.declaration.max_turns)

    async def _ask(self, messages: list[JSON]) -> Any:
        client = self._client.get()
        if not self._setting.declaration.stream:
            return await client.messages.create(messages=messages, **self._fixed)
        async with client.messages.stream(messages=messages, **self._fixed) as stream:
            return await stream.get_final_message()
