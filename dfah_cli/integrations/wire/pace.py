"""How fast requests may follow each other: a limit of requests per minute, shared by all episodes of a run.

Whoever asks gets the next free moment, in order of asking, so nobody is overtaken. A provider's `Retry-After` moves
all moments that are not given out yet: one refused request slows everyone instead of making everyone ask again. An
episode that runs in a worker asks the pace of the run, through its meter.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from dfah_cli.adapter.meter import Meter


class Pace:
    """Gives out moments. Safe to share between threads and event loops.

    per_minute: requests in a minute; None only obeys Retry-After. burst: requests that may leave at once after a pause.
    """

    def __init__(
        self, per_minute: float | None = None, *, burst: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval = 0.0 if per_minute is None else 60.0 / per_minute
        self._slack = self._interval * (burst - 1)
        self._clock = clock
        self._next = float("-inf")
        self._paused_until = float("-inf")
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Takes the next moment; the seconds until it."""
        with self._lock:
            now = self._clock()
            moment = max(now - self._slack, self._next, self._paused_until)
            self._next = moment + self._interval
            return max(0.0, moment - now)

    def pause(self, seconds: float) -> None:
        """Gives out no moment before so many seconds from now."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def shared_by(self, count: int) -> None:
        """From now on only one of so many that keep the limit together, where the run cannot be asked: a part each."""
        with self._lock:
            self._interval, self._slack = self._interval * count, self._slack * count

    async def awaited(self, meter: Meter) -> None:
        """Waits for the next moment without holding the event loop, in nobody's time."""
        delay = await meter.turn(self)
        if delay:
            with meter.waiting():
                await asyncio.sleep(delay)

    def waited(self, meter: Meter) -> None:
        """Waits for the next moment in this thread, in nobody's time."""
        delay = meter.turn_now(self)
        if delay:
            with meter.waiting():
                time.sleep(delay)


MAX_PAUSE_S = 300.0


def retry_after_s(header: str | None, wall_clock: Callable[[], float] = time.time) -> float:
    """Seconds a `Retry-After` header asks for, at most MAX_PAUSE_S; 0.0 without one or for one that means nothing."""
    if not header:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - wall_clock()
        except ValueError:
            return 0.0
    # A comparison with NaN is false, so it ends here as 0 too.
    return min(seconds, MAX_PAUSE_S) if seconds > 0 else 0.0
