"""The worker process: loads the agent as the run did, then runs one episode after another.

    python -m dfah_cli.workflow.worker SOCKET WATCHED

SOCKET, WATCHED: file descriptors. It ends as soon as the other end of either is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import threading
import traceback
from typing import Any

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.invoke import invoke
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.engines.isolation.channel import Channel, FarLine, Message
from dfah_cli.engines.isolation.remote import RemoteMeter, RemoteSession
from dfah_cli.errors import DFAHError
from dfah_cli.execution.call import hidden
from dfah_cli.execution.outcome import exception_kind
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain, record
from dfah_cli.records.suite import Suite
from dfah_cli.redaction import text_of
from dfah_cli.workflow.shifted_clock import shift_clock


async def serve(channel: Channel) -> None:
    """Works until the run is gone."""
    asked = await channel.receive()
    if asked is None:
        return
    try:
        if asked.get("clock_shift_s"):
            shift_clock(asked["clock_shift_s"])
        agent = loaded(asked)
    except DFAHError as problem:
        await channel.send({"t": "broken", "message": str(problem)})
        return
    await channel.send({"t": "ready"})
    while (asked := await channel.receive()) is not None:
        # Anything else belongs to an episode that is over.
        if asked["t"] == "episode":
            await episode(channel, agent, asked)


def loaded(asked: Message) -> Agent:
    """The agent that a run has loaded, loaded once more here.

    Raises: ConfigurationError when it cannot be imported or configured here.
    """
    from dfah_cli.workflow.freezing import load
    from dfah_cli.workflow.request import RunRequest

    # The suite itself, where the file it came from is not.
    suite = record(Suite, asked["content"]) if asked.get("content") else None
    agent, _ = load(RunRequest(adapter=asked["adapter"], agent=asked["agent"], suite=asked["suite"]), suite)
    pace = getattr(agent, "pace", None)
    if pace is not None:
        pace.shared_by(asked.get("workers", 1))
    _limit_memory(asked["memory_mb"])
    return agent


def _limit_memory(memory_mb: int | None) -> None:
    """From now on an allocation beyond the limit fails; on systems without such a limit nothing happens."""
    if memory_mb is None or not sys.platform.startswith("linux"):
        return
    import resource

    limit = memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


async def episode(channel: FarLine, agent: Agent, asked: Message) -> None:
    """Runs the episode that was asked for and sends how it ended; cancelled, it cancels the agent's call."""
    registry = getattr(agent, "tools", None)
    session = RemoteSession(channel, registry) if asked["tools"] and isinstance(registry, ToolRegistry) else None
    meter = RemoteMeter(channel)
    context = RunContext(**asked["context"], tools=session, meter=meter)  # type: ignore[arg-type]  # the same interface
    running = hidden(asyncio.ensure_future(_outcome(agent, record(Case, asked["case"]), context)))
    hearing = hidden(asyncio.ensure_future(_hear(channel, session, meter)))
    try:
        await asyncio.wait({running, hearing}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        hearing.cancel()
        running.cancel()
        await asyncio.wait({running})
        raise
    if not running.done():
        # The run is gone.
        os._exit(1)
    hearing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await hearing
    if session is not None:
        session.close()
    await channel.send(running.result() if _same(agent, asked["context"]) else {"t": "changed"})


def _same(agent: Agent, context: Message) -> bool:
    """Whether the manifest is the one of the run, whatever an earlier episode did to it here."""
    try:
        return bool(agent.manifest.hash == context["manifest_hash"])
    except BaseException:  # noqa: BLE001 - the property is the user's code
        return False


async def _hear(channel: FarLine, session: RemoteSession | None, meter: RemoteMeter) -> None:
    while (message := await channel.receive()) is not None:
        if message["t"] == "moment":
            meter.heard(message)
        elif session is not None:
            session.heard(message)


async def _outcome(agent: Agent, case: Case, context: RunContext) -> Message:
    try:
        result = await invoke(agent, case, context)
        session: Any = context.tools
        own_path = session is not None and session.is_own(result.trajectory)
        return {"t": "returned", "result": plain(result), "own_path": own_path}
    except BaseException as problem:  # noqa: BLE001 - inside an episode nothing escapes
        return {"t": "raised", "kind": exception_kind(problem), "text": text_of(problem)}


def _end_with(watched: int) -> None:
    """Ends this process when the run is gone, also while an adapter holds the event loop."""

    def watch() -> None:
        os.read(watched, 1)
        os._exit(1)

    threading.Thread(target=watch, name="dfah-watch", daemon=True).start()


def main() -> None:
    """Runs the worker on the two descriptors of the command line."""
    end, watched = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    _end_with(watched)
    # What is meant for this process must not be read by one that an adapter forked off.
    os.register_at_fork(after_in_child=end.close)

    async def work() -> None:
        await serve(await Channel.over(end))

    code = 0
    try:
        asyncio.run(work())
    except (OSError, KeyboardInterrupt):
        pass
    except BaseException:  # noqa: BLE001 - an adapter may have stopped the event loop, or closed what it needs
        code = 1
        if os.environ.get("DFAH_TRACEBACK"):
            traceback.print_exc()
    # Threads that an adapter left behind must not keep the process. That it ended is told by the run.
    os._exit(code)


if __name__ == "__main__":
    main()
