"""One worker process, seen from the run: started, asked for episodes, killed with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from attrs import frozen

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.session import ToolSession
from dfah_cli.engines.isolation.channel import Channel, Message
from dfah_cli.errors import AgentContractError, ConfigurationError, DFAHError, ToolExecutionError, ValidationError
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain

WORKER_MODULE = "dfah_cli.workflow.worker"
# Raised again as themselves, because the judgement of an episode depends on them.
KNOWN: Mapping[str, type[DFAHError]] = {
    kind.__name__: kind for kind in (AgentContractError, ToolExecutionError, ValidationError)
}


class WorkerDiedError(Exception):
    """The worker process ended within an episode; the text says how."""


@frozen(kw_only=True)
class Load:
    """What a worker loads: the same request that the run has loaded. memory_mb: None for no limit."""

    adapter: str
    agent: Mapping[str, Any]
    suite: str | None
    memory_mb: int | None = None


@frozen
class Executing:
    """The call that a stub is to have executed in its worker."""

    process: WorkerProcess
    number: int


EXECUTING: ContextVar[Executing] = ContextVar("dfah_executing")


class Unreadable:
    """Stands for a value that was no JSON in the worker; the session refuses it here as it would have there."""


def stub(name: str) -> Callable[..., Awaitable[Any]]:
    """A tool function that has the real one executed in the worker of the running episode."""

    async def called(**arguments: Any) -> Any:
        executing = EXECUTING.get()
        return await executing.process.execute(executing.number, name, arguments)

    called.__name__ = name
    return called


class WorkerProcess:
    """A process that has loaded the agent and runs one episode at a time."""

    def __init__(self, process: asyncio.subprocess.Process, channel: Channel, alive: int) -> None:
        self._process, self._channel, self._alive = process, channel, alive
        self._executions: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    async def start(cls, load: Load) -> WorkerProcess:
        """A worker that is ready.

        Raises: ConfigurationError when it cannot load the agent.
        """
        ours, theirs = socket.socketpair()
        # A worker watches the reading end: it ends when the run is gone, however that went.
        watched, alive = os.pipe()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", WORKER_MODULE, str(theirs.fileno()), str(watched)),
                pass_fds=(theirs.fileno(), watched),
                stdin=asyncio.subprocess.DEVNULL,
                # What an adapter prints must not mix with the results of the command.
                stdout=2,
                start_new_session=True,
            )
        os.close(watched)
        worker = cls(process, await Channel.over(ours), alive)
        try:
            await worker._channel.send({"t": "load", **plain(load)})
            answer = await worker._channel.receive()
        except BaseException:
            await worker.kill()
            raise
        if answer is None or answer["t"] != "ready":
            code = await worker.kill()
            told = answer["message"] if answer else f"it ended with code {code}"
            raise ConfigurationError(f"isolation: a worker process could not load the agent: {told}")
        return worker

    async def episode(self, case: Case, context: RunContext) -> Message:
        """What became of an episode: a message `returned` or `raised`.

        Raises: WorkerDiedError when the process ended.
        """
        session = context.tools
        facts = {"case_id": context.case_id, "replay_index": context.replay_index, "seed": context.seed}
        keys = {"manifest_hash": context.manifest_hash, "idempotency_key": context.idempotency_key}
        try:
            asked = {"case": plain(case), "context": {**facts, **keys}, "tools": session is not None}
            await self._channel.send({"t": "episode", **asked})
            while (message := await self._channel.receive()) is not None:
                if message["t"] in ("returned", "raised"):
                    return message
                self._heard(message, session)
                # A call is recorded before anything that was sent after it is looked at.
                await asyncio.sleep(0)
        except ConnectionError:
            message = None
        finally:
            for task in self._tasks:
                task.cancel()
        raise WorkerDiedError(f"the worker process {_end_of(await self.kill())}")

    async def execute(self, number: int, name: str, arguments: dict[str, Any]) -> Any:
        """The value that the real tool gave in the worker."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._executions[number] = future
        try:
            await self._channel.send({"t": "execute", "id": number, "name": name, "arguments": arguments})
            return await future
        finally:
            del self._executions[number]

    async def kill(self) -> int:
        """Ends the process and all it has started; its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._channel.close()
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1
        return await asyncio.shield(self._process.wait())

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
            future.set_result(message["output"] if message["is_json"] else Unreadable())
        else:
            future.set_exception(type(str(message["kind"]), (Exception,), {})())

    async def _call(self, message: Message, session: ToolSession) -> None:
        EXECUTING.set(Executing(self, message["id"]))
        arguments = message["arguments"] if message["is_json"] else {"arguments": Unreadable()}
        answer: Message = {"t": "settled", "id": message["id"]}
        try:
            value = await session.call(message["name"], **arguments)
            if session.is_taped:
                # What a tool returned in the worker, if it was called there at all, is not what the agent is to see.
                answer["output"] = value
        except ToolExecutionError as problem:
            answer = {"t": "rejected", "id": message["id"], "message": str(problem)}
        with contextlib.suppress(ConnectionError):
            await self._channel.send({**answer, "calls": [plain(call) for call in session.calls]})


def raised(message: Message) -> BaseException:
    """The exception a worker tells of: of the same name, so that it is judged and recorded alike."""
    kind, text = str(message["kind"]), str(message["text"])
    known = KNOWN.get(kind)
    return known(text) if known is not None else type(kind, (Exception,), {})(text)


def _end_of(code: int) -> str:
    if code >= 0:
        return f"ended with code {code} within the episode"
    try:
        return f"was ended by {signal.Signals(-code).name} within the episode"
    except ValueError:
        return f"was ended by signal {-code} within the episode"
