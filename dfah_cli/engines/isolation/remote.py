"""A tool session as an adapter in a worker process sees it: calls go to the run, which records them and has them
executed here."""

from __future__ import annotations

import asyncio
from typing import Any

from dfah_cli.adapter import functions
from dfah_cli.adapter.meter import Meter, Turns
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.tool_request import readable
from dfah_cli.canonical import copy_json
from dfah_cli.engines.isolation.channel import FarLine, Message
from dfah_cli.errors import AgentContractError, ToolExecutionError, ValidationError
from dfah_cli.records.codec import plain, record
from dfah_cli.records.episode import Spent
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.redaction import text_of

PATIENCE_S = 1.0
"""For the answer of the run, which comes at once where the event loop is free."""


class RemoteSession:
    """Has the interface of `ToolSession`."""

    def __init__(self, channel: FarLine, registry: ToolRegistry) -> None:
        self._channel, self._registry = channel, registry
        self._loop = asyncio.get_running_loop()
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._outputs: dict[int, Any] = {}
        self._calls: list[ToolCall] = []
        # Every path that was handed out: one of them as the result's own path means "as recorded".
        self._paths: list[Trajectory] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """The raw result of a tool.

        Raises: ToolExecutionError when the call is rejected or fails.
        """
        if self._closed:
            raise ToolExecutionError("the tool session is closed: the episode has ended before this call")
        number = next(self._channel.numbers)
        answer: asyncio.Future[Message] = self._loop.create_future()
        self._answers[number] = answer
        copied, problem = readable(arguments)
        shown = name if isinstance(name, str) else repr(type(name))
        asked = {"name": shown, "arguments": copied, "is_json": copied is not None, "problem": problem}
        await self._channel.send({"t": "call", "id": number, **asked})
        told = await answer
        if told["t"] == "rejected":
            raise ToolExecutionError(told["message"])
        output = self._outputs.pop(number, None)
        return told.get("output", output)

    def call_sync(self, name: str, /, **arguments: Any) -> Any:
        """`call` for plain adapters.

        Raises: ToolExecutionError as `call` does; AgentContractError inside an event loop, which it would hold.
        """
        if asyncio._get_running_loop() is not None:
            raise AgentContractError("call_sync inside an event loop would hold it; await context.tools.call(...)")
        return asyncio.run_coroutine_threadsafe(self.call(name, **arguments), self._loop).result()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls as they were recorded when the last one ended."""
        return tuple(self._calls)

    def trajectory(self) -> Trajectory:
        """The calls so far; the run puts its own record in its place."""
        path = Trajectory.of(self.calls)
        self._paths.append(path)
        return path

    def is_own(self, path: Trajectory) -> bool:
        """Whether a path is one that was handed out here."""
        return any(path is one or path == one for one in self._paths)

    def close(self) -> None:
        """Ends the session: later calls are refused."""
        self._closed = True

    def heard(self, message: Message) -> None:
        """Takes a message of the run's."""
        if message["t"] == "execute":
            task = asyncio.ensure_future(self._execute(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        for place, call in message["calls"]:
            # New calls come in the order of their places.
            self._calls[place : place + 1] = [record(ToolCall, call)]
        if (answer := self._answers.pop(message["id"], None)) is not None and not answer.done():
            answer.set_result(message)

    async def _execute(self, message: Message) -> None:
        number = message["id"]
        try:
            output = await functions.run(self._registry.function(message["name"]), **message["arguments"])
        except BaseException as problem:  # noqa: BLE001 - whatever a tool raises is the outcome of its call
            told = {"kind": type(problem).__name__, "text": text_of(problem)}
            await self._channel.send({"t": "failed", "id": number, **told})
            return
        self._outputs[number] = output
        copied, why = _as_json(output)
        executed = {"output": copied, "is_json": why is None, "problem": why}
        await self._channel.send({"t": "executed", "id": number, **executed})


class RemoteMeter(Meter):
    """Passes on to the run what the episode tells; from any thread, and at the latest when the event loop is free."""

    def __init__(self, channel: FarLine) -> None:
        super().__init__()
        self._channel, self._loop = channel, asyncio.get_running_loop()
        self._moments: dict[int, asyncio.Future[float]] = {}

    def note(self, spent: Spent) -> None:
        """Tells what was spent so far."""
        self._send({"t": "spent", "spent": plain(spent)})

    def begin(self) -> None:
        """Tells that a request waits."""
        self._send({"t": "waits"})

    def end(self) -> None:
        """Tells that it waits no longer."""
        self._send({"t": "goes_on"})

    async def turn(self, turns: Turns) -> float:
        """Asks the run for the moment: it has one pace for the requests of all its workers."""
        if asyncio._get_running_loop() is self._loop:
            return await self._asked()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._asked(), self._loop))

    def turn_now(self, turns: Turns) -> float:
        """The same from a thread; whoever holds the event loop cannot hear an answer, and keeps its own pace."""
        if asyncio._get_running_loop() is self._loop:
            return turns.reserve()
        asking = asyncio.run_coroutine_threadsafe(self._asked(), self._loop)
        try:
            return asking.result(PATIENCE_S)
        except TimeoutError:
            asking.cancel()
            return turns.reserve()

    def pause(self, turns: Turns, seconds: float) -> None:
        """Tells that the provider asks for a pause."""
        turns.pause(seconds)
        if seconds > 0:
            self._send({"t": "pause", "seconds": seconds})

    def heard(self, message: Message) -> None:
        """Takes a moment that the run gave."""
        moment = self._moments.pop(message["id"], None)
        if moment is not None and not moment.done():
            moment.set_result(message["seconds"])

    async def _asked(self) -> float:
        number = next(self._channel.numbers)
        moment: asyncio.Future[float] = self._loop.create_future()
        self._moments[number] = moment
        self._channel.post({"t": "turn", "id": number})
        return await moment

    def _send(self, message: Message) -> None:
        if asyncio._get_running_loop() is self._loop:
            # At once, so that it arrives before the result of the episode.
            self._channel.post(message)
        else:
            self._loop.call_soon_threadsafe(self._channel.post, message)


def _as_json(value: Any) -> tuple[Any, str | None]:
    """A copy of the value and None; None and why, when it is no JSON."""
    try:
        return copy_json(value), None
    except ValidationError as problem:
        return None, str(problem)
    except Exception as problem:  # noqa: BLE001 - the value is the user's object, with methods of its own
        return None, type(problem).__name__
