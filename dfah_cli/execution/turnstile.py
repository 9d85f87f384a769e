"""How many workers make their records durable at the same moment.

Workers that start together with an agent that takes its time come back together, and then each waits until the records
of all are written: the agents stand idle for as long, round after round. Let through a few at a time, they come back a
few at a time, and the records of some are written while the agents of the others work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from dfah_cli.execution.clock import Clock

FEWEST = 8
"""Smaller groups cost more syncs than they save waiting."""
GROUPS_IN_A_CALL = 4
"""So many times its own length must the writing of all groups fit into a call of the agent."""
WEIGHT = 0.1
"""Of the newest episode in the running means."""

Bodies = list[dict[str, Any]]


def width(concurrency: int, call_us: float, passage_us: float) -> int:
    """How many of so many workers form a group: few where the agent is slow, all where the disk is.

    call_us: how long a call of the agent takes. passage_us: how long the records of a group take to be durable.
    """
    groups = int(call_us / (GROUPS_IN_A_CALL * passage_us)) if passage_us > 0 else 0
    return concurrency if groups < 2 else min(concurrency, max(FEWEST, -(-concurrency // groups)))


class Turnstile:
    """Lets workers through in groups, first come, first served."""

    def __init__(self, concurrency: int, clock: Clock) -> None:
        self._concurrency, self._clock = concurrency, clock
        # The first round makes the pattern that the others keep.
        self._width = min(concurrency, max(FEWEST, concurrency // FEWEST))
        self._inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._call_us = self._passage_us = 0.0

    async def passed(self, commit: Callable[[Bodies], Awaitable[None]], bodies: Bodies) -> None:
        """The records are durable. Raises: what `commit` raises."""
        if self._inside < self._width and not self._queue:
            self._inside += 1
        else:
            await self._turn()
        started = self._clock.monotonic_us()
        try:
            await commit(bodies)
        finally:
            self._leave()
        self._passage_us += WEIGHT * (self._clock.monotonic_us() - started - self._passage_us)

    def learn(self, call_us: int) -> None:
        """Takes how long one call of the agent took."""
        self._call_us += WEIGHT * (call_us - self._call_us)
        self._width = width(self._concurrency, self._call_us, self._passage_us)

    async def _turn(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        self._inside -= 1
        while self._queue and self._inside < self._width:
            place = self._queue.popleft()
            if not place.done():
                # Counted here: who is let in wakes up later.
                self._inside += 1
                place.set_result(None)
