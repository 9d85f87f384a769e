"""One worker process, seen from the run: started, asked for episodes, killed with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.meter import Turns
from dfah_cli.engines.isolation.channel import Channel, Message
from dfah_cli.engines.isolation.dialogue import Dialogue
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain

WORKER_MODULE = "dfah_cli.workflow.worker"


class WorkerDiedError(Exception):
    """The worker process ended within an episode; the text says how."""


@frozen(kw_only=True)
class Load:
    """What a worker loads: the same request that the run has loaded.

    content: the suite itself, where the agent is not bound to it and no name leads to it. memory_mb: None for no limit.
    workers: how many there are, to share a limit of requests. environment: variables that are another there.
    clock_shift_s: how much later its wall clock reads.
    """

    adapter: str
    agent: Mapping[str, Any]
    suite: str | None
    memory_mb: int | None = None
    workers: int = 1
    content: Mapping[str, Any] | None = None
    environment: Mapping[str, str] = field(factory=dict)
    clock_shift_s: float = 0.0


class WorkerProcess:
    """A process that has loaded the agent and runs one episode at a time."""

    def __init__(self, process: asyncio.subprocess.Process, channel: Channel, alive: int, turns: Turns | None) -> None:
        self._process, self._channel, self._alive = process, channel, alive
        self._dialogue = Dialogue(channel, turns)

    @classmethod
    async def start(cls, load: Load, turns: Turns | None = None) -> WorkerProcess:
        """A worker that is ready. turns: of the run, for the requests of all its workers.

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
                env={**os.environ, **load.environment},
            )
        os.close(watched)
        worker = cls(process, await Channel.over(ours), alive, turns)
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
        """How an episode ended.

        Raises: WorkerDiedError when the process ended.
        """
        message = await self._dialogue.episode(case, context)
        if message is None:
            raise WorkerDiedError(f"the worker process {_end_of(await self.kill())}")
        return message

    async def kill(self) -> int:
        """Ends the process and all it has started; its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._channel.close()
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1
        return await asyncio.shield(self._process.wait())


def _end_of(code: int) -> str:
    if code >= 0:
        return f"ended with code {code} within the episode"
    try:
        return f"was ended by {signal.Signals(-code).name} within the episode"
    except ValueError:
        return f"was ended by signal {-code} within the episode"
