"""What one episode has spent so far and how long it waited for leave to send: told while it runs.

An episode that raises, or is ended by its time limit, returns no result; what it told here is recorded all the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# By name: an adapter that puts another clock into the module `time` does not change ours.
from time import monotonic
from typing import Protocol, runtime_checkable

from dfah_cli.records.episode import Spent


@runtime_checkable
class Turns(Protocol):
    """Gives out the moments at which requests may leave, in order of asking."""

    def reserve(self) -> float:
        """Takes the next moment; the seconds until it."""
        ...

    def pause(self, seconds: float) -> None:
        """Gives out no moment before so many seconds from now."""
        ...


class Meter:
    """Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = 0
        self._since = 0.0
        self._waited_s = 0.0
        self.spent: Spent | None = None

    def note(self, spent: Spent) -> None:
        """Takes the place of what was told before."""
        self.spent = spent

    async def turn(self, turns: Turns) -> float:
        """Takes a moment for a request; the seconds until it. turns: those of the agent that sends it."""
        return turns.reserve()

    def turn_now(self, turns: Turns) -> float:
        """The same for a caller that cannot await."""
        return turns.reserve()

    def pause(self, turns: Turns, seconds: float) -> None:
        """The provider asks for so many seconds without requests."""
        turns.pause(seconds)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside the block no time of the episode's limit passes: its request waits for its turn."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """One more request waits."""
        with self._lock:
            if not self._waiting:
                self._since = self._clock()
            self._waiting += 1

    def end(self) -> None:
        """One request waits no longer."""
        with self._lock:
            self._waiting -= 1
            if not self._waiting:
                self._waited_s += self._clock() - self._since

    def waited_s(self) -> float:
        """Seconds in which at least one request waited, those that wait now included."""
        with self._lock:
            return self._waited_s + (self._clock() - self._since if self._waiting else 0.0)
