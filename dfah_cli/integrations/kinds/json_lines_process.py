"""An agent that is a program of its own: one process for each episode, speaking JSON lines on stdin and stdout.

To it:   {"type": "case", ...question}, then {"type": "result", "id", "output"} or {"type": "error", "id", "message"}
From it: {"type": "call", "id", "name", "arguments"} as often as it likes, then {"type": "answer", ...answer}

Its process group is killed when the episode is over, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Coroutine
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import AgentContractError, ConfigurationError, ToolExecutionError
from dfah_cli.integrations.declaration import Setting
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.foreign import JSON, question, reply_of
from dfah_cli.integrations.seam import Reply
from dfah_cli.integrations.tools import Wanted, call_one
from dfah_cli.records.case import Case

MAX_LINE = 64 * 1024 * 1024
KEPT_STDERR = 2000


class ProcessEndedError(Exception):
    """The program ended before it gave an answer."""


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    command = setting.declaration.command
    if not command:
        raise ConfigurationError("adapter.command: missing; expected the program and its arguments as a list")

    async def answer(case: Case, context: RunContext) -> Reply:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE,
                start_new_session=True,
            )
        except OSError as problem:
            raise ConfigurationError(f"adapter.command: {command[0]} cannot be started ({problem.strerror})") from None
        try:
            return await _Talk(process, setting, context).answer(case)
        finally:
            await _end(process)

    return Made(answer=answer, provider="process")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the whole group; children of the program must not outlive the episode."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Waited for even when the episode is being cancelled, so that no zombie stays.
    await asyncio.shield(process.wait())
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


class _Talk:
    """One episode's exchange of lines."""

    def __init__(self, process: asyncio.subprocess.Process, setting: Setting, context: RunContext) -> None:
        self._process, self._setting, self._context = process, setting, context
        self._calls: set[asyncio.Task[None]] = set()

    async def answer(self, case: Case) -> Reply:
        """The program's answer."""
        asked = question(self._setting, case)
        errors = asyncio.ensure_future(_tail(self._process.stderr))
        try:
            await self._say({"type": "case", **asked})
            while (said := await self._hear(errors))["type"] == "call":
                self._start(self._called(said))
        finally:
            errors.cancel()
            for call in self._calls:
                call.cancel()
        given = {key: value for key, value in said.items() if key != "type"}
        return reply_of(given, asked, own_tools=False)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        # Not awaited here: a program may ask for several tools at once.
        task = asyncio.ensure_future(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _called(self, said: JSON) -> None:
        wanted = Wanted(str(said.get("id", "")), said.get("name", ""), said.get("arguments", {}))
        try:
            output = await call_one(self._context.tools, wanted)
        except (ToolExecutionError, AgentContractError) as problem:
            await self._say({"type": "error", "id": wanted.call_id, "message": str(problem)})
        else:
            await self._say({"type": "result", "id": wanted.call_id, "output": output})

    async def _say(self, said: JSON) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.write(canonical_bytes(said) + b"\n")
            await self._process.stdin.drain()

    async def _hear(self, errors: asyncio.Future[str]) -> JSON:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            code, told = await self._process.wait(), await errors
            raise ProcessEndedError(f"the program ended with code {code} before its answer: {told}")
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict) or said.get("type") not in ("call", "answer"):
            raise AgentContractError("the program wrote a line that is neither a call nor an answer as a JSON object")
        return said


async def _tail(stream: asyncio.StreamReader | None) -> str:
    """The last words on stderr, for the log; read all the time, so that the program never blocks on it."""
    assert stream is not None
    kept = b""
    while chunk := await stream.read(65536):
        kept = (kept + chunk)[-KEPT_STDERR:]
    return kept.decode("utf-8", "replace")
