"""What a run and one that holds an episode elsewhere say to each other; the side of the run.

The tool calls of the episode are recorded here, where nothing the agent does can reach them; the functions behind the
tools are executed there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.meter import Meter, Turns
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.adapter.tool_request import Unreadable
from dfah_cli.engines.isolation.channel import Line, Message
from dfah_cli.errors import AgentContractError, DFAHError, ToolExecutionError, ValidationError
from dfah_cli.execution.ends import EndedElsewhereError, ManifestChanged
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain, record
from dfah_cli.records.episode import AgentResult, Spent

# Raised again as themselves, because the judgement of an episode depends on them.
KNOWN: Mapping[str, type[DFAHError]] = {
    kind.__name__: kind for kind in (AgentContractError, ToolExecutionError, ValidationError)
}


# How an episode ends there: with a result, an exception, or an agent whose manifest is another one than before.
ENDS = ("returned", "raised", "changed")


# What a worker tells of its episode while it runs.
METERED: Mapping[str, Callable[[Meter, Message], None]] = {
    "spent": lambda meter, message: meter.note(record(Spent, message["spent"])),
    "waits": lambda meter, _: meter.begin(),
    "goes_on": lambda meter, _: meter.end(),
}


@frozen
class Executing:
    """The call that a stub is to have executed in its worker."""

    dialogue: Dialogue
    number: int


EXECUTING: ContextVar[Executing] = ContextVar("dfah_executing")


def stub(name: str) -> Callable[..., Awaitable[Any]]:
    """A tool function that has the real one executed in the worker of the running episode."""

    async def called(**arguments: Any) -> Any:
        executing = EXECUTING.get()
        return await executing.dialogue.execute(executing.number, name, arguments)

    called.__name__ = name
    return called


def stand_ins(agent: Agent) -> ToolRegistry | None:
    """The tools of the agent with stubs for their functions; None when it has no registry."""
    registered = getattr(agent, "tools", None)
    if not isinstance(registered, ToolRegistry):
        return None
    tools = ToolRegistry()
    for spec in registered.specs:
        tools.register(spec, stub(spec.name))
    return tools


def turns_of(agent: Agent) -> Turns | None:
    """What gives the requests of an agent their moments; None when nothing does."""
    pace = getattr(agent, "pace", None)
    return pace if isinstance(pace, Turns) else None


class Dialogue:
    """One episode at a time over one line. turns: of the run, for the requests of all workers."""

    def __init__(self, line: Line, turns: Turns | None = None) -> None:
        self._channel, self._turns = line, turns
        self._executions: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def episode(self, case: Case, context: RunContext) -> Message | None:
        """How an episode ended, one of `ENDS`; None when the other end is gone."""
        session = context.tools
        facts = {"case_id": context.case_id, "replay_index": context.replay_index, "seed": context.seed}
        keys = {"manifest_hash": context.manifest_hash, "idempotency_key": context.idempotency_key}
        try:
            asked = {"case": plain(case), "context": {**facts, **keys}, "tools": session is not None}
            await self._channel.send({"t": "episode", **asked})
            while (message := await self._channel.receive()) is not None:
                if message["t"] in ENDS:
                    return message
                if message["t"] in METERED:
                    METERED[message["t"]](context.meter, message)
                    continue
                if message["t"] in ("turn", "pause"):
                    await self._paced(message)
                    continue
                self._heard(message, session)
                # A call is recorded before anything that was sent after it is looked at.
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        finally:
            for task in self._tasks:
                task.cancel()
        return None

    async def execute(self, number: int, name: str, arguments: dict[str, Any]) -> Any:
        """The value that the real tool gave in the worker."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._executions[number] = future
        try:
            await self._channel.send({"t": "execute", "id": number, "name": name, "arguments": arguments})
            return await future
        finally:
            del self._executions[number]

    async def _paced(self, message: Message) -> None:
        if message["t"] == "turn":
            delay = 0.0 if self._turns is None else self._turns.reserve()
            await self._channel.send({"t": "moment", "id": message["id"], "seconds": delay})
        elif self._turns is not None:
            self._turns.pause(message["seconds"])

    def _heard(self, message: Message, session: ToolSession | None) -> None:
        if message["t"] == "call":
            assert session is not None
            task = asyncio.ensure_future(self._call(message, session))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        future = self._executions.get(message["id"])
        if future is None or future.done():
            return
        if message["t"] == "executed":
            future.set_result(message["output"] if message["is_json"] else Unreadable(message["problem"]))
        else:
            future.set_exception(type(str(message["kind"]), (Exception,), {})(message["text"]))

    async def _call(self, message: Message, session: ToolSession) -> None:
        EXECUTING.set(Executing(self, message["id"]))
        arguments = message["arguments"] if message["is_json"] else {"arguments": Unreadable(message["problem"])}
        answer: Message = {"t": "settled", "id": message["id"]}
        try:
            value = await session.call(message["name"], **arguments)
            if session.is_taped:
                # What a tool returned in the worker, if it was called there at all, is not what the agent is to see.
                answer["output"] = value
        except ToolExecutionError as problem:
            answer = {"t": "rejected", "id": message["id"], "message": str(problem)}
        with contextlib.suppress(ConnectionError):
            # Only what is new: an episode of thousands of calls would tell each of them thousands of times.
            await self._channel.send(
                {**answer, "calls": [[place, plain(call)] for place, call in session.news().items()]}
            )


def _raised(message: Message) -> BaseException:
    """The exception a worker tells of: of the same name, so that it is judged and recorded alike."""
    kind, text = str(message["kind"]), str(message["text"])
    known = KNOWN.get(kind)
    return known(text) if known is not None else type(kind, (Exception,), {})(text)


def answer(message: Message, context: RunContext) -> AgentResult:
    """The result as it was sent; a path taken from the session there is the one recorded here.

    Raises: what the agent raised; EndedElsewhereError when its manifest is another one than before.
    """
    if message["t"] == "changed":
        raise EndedElsewhereError(ManifestChanged())
    if message["t"] == "raised":
        raise _raised(message)
    told = message["result"]
    assert isinstance(told, dict)
    if message["own_path"] and context.tools is not None:
        told = {**told, "trajectory": plain(context.tools.trajectory())}
    return record(AgentResult, told)
