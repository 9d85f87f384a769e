"""JSON lines over a socket between a run and one of its worker processes."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import Iterator
from typing import Any, Protocol

from dfah_cli.canonical import canonical_bytes, parse

MAX_LINE = 256 * 1024 * 1024
Message = dict[str, Any]


class Line(Protocol):
    """Carries messages both ways, in order."""

    async def send(self, message: Message) -> None:
        """Sends one message; ConnectionError when nobody is there any more."""
        ...

    async def receive(self) -> Message | None:
        """The next message; None when the other end is gone."""
        ...


class FarLine(Line, Protocol):
    """A line as the end that holds the episode sees it."""

    @property
    def numbers(self) -> Iterator[int]:
        """Numbers for calls, each given once."""
        ...

    def post(self, message: Message) -> None:
        """Sends one small message without waiting until it has left."""
        ...


class Channel:
    """One end of the socket. What is sent arrives in order; several tasks may send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._process = reader, writer, os.getpid()
        # Of the channel, not of an episode: an answer that comes too late must not be taken for that of a later call.
        self.numbers: Iterator[int] = itertools.count()

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """The channel over a connected socket, which it owns from now on."""
        return cls(*await asyncio.open_connection(sock=end, limit=MAX_LINE))

    async def send(self, message: Message) -> None:
        """Sends one message.

        Raises: ValidationError when it is no JSON; ConnectionError when nobody is there any more.
        """
        self.post(message)
        await self._writer.drain()

    def post(self, message: Message) -> None:
        """Sends one small message without waiting until it has left."""
        if os.getpid() != self._process:
            # A fork of the process that has the line: it must not answer in its name.
            os._exit(1)
        # One write for each message: writes of several tasks never mix.
        self._writer.write(canonical_bytes(message) + b"\n")

    async def receive(self) -> Message | None:
        """The next message; None when the other end is gone."""
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):
            return None
        if not line.endswith(b"\n"):
            return None
        message = parse(line, "message of a worker")
        assert isinstance(message, dict)
        return message

    def close(self) -> None:
        """Closes the socket; the other end notices."""
        self._writer.close()
