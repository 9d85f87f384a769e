"""Workers of a run that come and go, and the places at them. Knows nothing of Ray.

All workers are asked for at once, so that a cluster that grows by demand sees the demand; episodes begin as soon as
the first is there. A worker that is gone is replaced. When none is left and none comes for a while, whoever waits
hears what is missing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.ends import NoWorkersError

TRIES = 3  # how often a worker is started that cannot load the agent, once another one could
PAUSE_S = 1.0


class Mortal(Protocol):
    """A worker. gone: done as soon as it is known to be gone."""

    @property
    def gone(self) -> asyncio.Future[str]:
        """Done, with how it went, when the worker will never answer again."""
        ...


W = TypeVar("W", bound=Mortal)
Missing = Callable[[str | None], Awaitable[str]]


class Pool(Generic[W]):
    """Up to `size` workers with `seats` places each.

    start: gives a worker that is ready, or raises ConfigurationError. missing: says what the cluster lacks; it is given
    the last thing that went wrong. patience_s: how long nobody need be there before the pool gives up.
    """

    def __init__(
        self, start: Callable[[], Awaitable[W]], missing: Missing, *, size: int, seats: int, patience_s: float
    ) -> None:
        self._start, self._missing = start, missing
        self._size, self._seats, self._patience_s = size, seats, patience_s
        self._held: dict[W, int] = {}
        self._waiting: deque[asyncio.Future[W]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._alarm: asyncio.TimerHandle | None = None
        self._problem: str | None = None
        self._over: str | None = None

    async def open(self) -> None:
        """Asks for all workers and waits for the first.

        Raises: ConfigurationError when the first cannot load the agent, or none comes.
        """
        self._watch_out()
        for _ in range(self._size):
            self._do(self._bring())
        await self._opened

    async def seat(self) -> W:
        """A worker with a place that is kept until `leave`.

        Raises: NoWorkersError when there is none any more and none comes.
        """
        if self._over is not None:
            raise NoWorkersError(self._over)
        future: asyncio.Future[W] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._assign()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.leave(future.result())
            elif future in self._waiting:
                self._waiting.remove(future)
            raise

    def leave(self, worker: W) -> None:
        """The place is free again."""
        if worker in self._held:
            self._held[worker] -= 1
            self._assign()

    def alone(self, worker: W) -> bool:
        """Whether no place of the worker but one is kept."""
        return self._held.get(worker, 1) <= 1

    def give_up(self, worker: W) -> None:
        """The worker gets no further episode; another one is started in its place."""
        if self._held.pop(worker, None) is None or self._over is not None:
            return
        if not self._held:
            self._watch_out()
        self._do(self._bring())

    async def close(self) -> None:
        """Starts nothing any more; the workers that are there are the caller's to end."""
        self._over = self._over or "the run is over"
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._opened.done() and not self._opened.cancelled():
            self._opened.exception()

    async def _bring(self) -> None:
        tries = 0
        while self._over is None:
            try:
                worker = await self._start()
            except ConfigurationError as problem:
                self._problem, tries = str(problem), tries + 1
                if not self._opened.done():
                    self._opened.set_exception(problem)
                    return
                if tries >= TRIES:
                    return
                await asyncio.sleep(PAUSE_S * 2**tries)
            else:
                self._admit(worker)
                return

    def _admit(self, worker: W) -> None:
        self._held[worker] = 0
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        worker.gone.add_done_callback(lambda how: self._lost(worker, how))
        if not self._opened.done():
            self._opened.set_result(None)
        self._assign()

    def _lost(self, worker: W, how: asyncio.Future[str]) -> None:
        if worker in self._held and not how.cancelled():
            self._problem = how.result()
        self.give_up(worker)

    def _assign(self) -> None:
        while self._waiting:
            free = min(self._held, key=self._held.__getitem__, default=None)
            if free is None or self._held[free] >= self._seats:
                return
            future = self._waiting.popleft()
            if not future.done():
                self._held[free] += 1
                future.set_result(free)

    def _watch_out(self) -> None:
        self._alarm = asyncio.get_running_loop().call_later(self._patience_s, lambda: self._do(self._end()))

    async def _end(self) -> None:
        told = await self._missing(self._problem)
        if self._held or self._over is not None:
            return
        self._over = told
        if not self._opened.done():
            self._opened.set_exception(ConfigurationError(told))
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(NoWorkersError(told))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
