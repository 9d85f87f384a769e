"""Group commit: everybody who waits shares one sync, and exactly one batch is in flight.

No artificial delay: while one sync runs the next group collects. When all callers there can be wait here,
nobody else runs on the loop, so the sync is made on the spot; otherwise a thread makes it and the loop goes
on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock

from attrs import define

from dfah_cli.store.blobs import Encoded

BREATH = 16
"""After so many commits on the spot the loop is let in, so that a signal handler is never starved."""
PATIENCE = 2
"""Turns of the loop that a group waits for callers who are already on their way."""


@define(eq=False)
class Call:
    """One call of `commit`: its records, and its error once it was not written."""

    records: list[Encoded]
    size: int
    error: Exception | None = None
    future: asyncio.Future[None] | None = None

    def settle(self) -> None:
        """Wakes the waiter; must run on its loop."""
        if self.future is None or self.future.done():
            return
        if self.error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(self.error)


class GroupCommitter:
    """Hands groups of calls to `write`, which never raises: it leaves every call durable or with its error."""

    def __init__(self, write: Callable[[list[Call]], None], concurrency: int) -> None:
        self._write, self._concurrency = write, max(1, concurrency)
        self._waiting: list[Call] = []
        self._queue = Lock()
        self._scheduled = self._in_flight = False
        self._seen = self._patience = self._commits = 0
        self._thread: ThreadPoolExecutor | None = None

    async def submit(self, call: Call) -> None:
        """The call is durable. Raises: its error."""
        if self._concurrency == 1 and not self._waiting and not self._in_flight:
            self._write([call])
            self._commits += 1
            if self._commits % BREATH == 0:
                await asyncio.sleep(0)
            if call.error is not None:
                raise call.error
            return
        loop = asyncio.get_running_loop()
        call.future = loop.create_future()
        with self._queue:
            self._waiting.append(call)
        self._schedule(loop)
        await call.future

    def submit_now(self, call: Call) -> None:
        """The call is durable, and with it everything that waited before it. Raises: its error."""
        calls = [*self._take(), call]
        self._write(calls)
        for waiter in calls:
            if waiter.future is not None:
                with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                    waiter.future.get_loop().call_soon_threadsafe(waiter.settle)
        if call.error is not None:
            raise call.error

    def close(self) -> None:
        """No batch is in flight any more."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)

    def _take(self) -> list[Call]:
        with self._queue:
            calls, self._waiting = self._waiting, []
        return calls

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._scheduled and not self._in_flight:
            self._scheduled, self._seen, self._patience = True, 0, PATIENCE
            loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting = len(self._waiting)
        if waiting < self._concurrency and self._patience:
            self._patience = PATIENCE if waiting > self._seen else self._patience - 1
            self._seen = waiting
            loop.call_soon(self._turn, loop)
            return
        self._scheduled = False
        calls = self._take()
        if len(calls) >= self._concurrency:
            self._write(calls)
            for call in calls:
                call.settle()
        elif calls:
            self._in_flight = True
            self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="dfah-commit")
            self._thread.submit(self._beside, calls, loop)

    def _beside(self, calls: list[Call], loop: asyncio.AbstractEventLoop) -> None:
        self._write(calls)
        try:
            loop.call_soon_threadsafe(self._landed, calls, loop)
        except RuntimeError:  # the loop was closed meanwhile: nobody waits any more
            self._in_flight = False

    def _landed(self, calls: list[Call], loop: asyncio.AbstractEventLoop) -> None:
        self._in_flight = False
        for call in calls:
            call.settle()
        if self._waiting:
            self._schedule(loop)
