"""Wall clock for people, monotonic clock for durations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

# By name: an adapter that puts another clock into the module `time` does not change ours.
from time import monotonic_ns
from typing import Protocol


class Clock(Protocol):
    """Where time comes from; an argument everywhere, so that tests can hold it still."""

    def now(self) -> datetime:
        """The current moment in UTC."""
        ...

    def monotonic_us(self) -> int:
        """Microseconds since some fixed point; never goes back."""
        ...


def seconds(clock: Clock) -> Callable[[], float]:
    """The monotonic clock in seconds."""
    return lambda: clock.monotonic_us() / 1_000_000


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> datetime:
        """The current moment in UTC."""
        return datetime.now(UTC)

    def monotonic_us(self) -> int:
        """Microseconds since some fixed point; never goes back."""
        return monotonic_ns() // 1000
