"""Wall clock for people, monotonic clock for durations."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
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
        return time.monotonic_ns() // 1000
