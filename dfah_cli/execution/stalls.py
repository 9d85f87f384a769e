"""Notices when something blocks the event loop, so that a timeout can be blamed on it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sized

from dfah_cli.execution.clock import Clock

BEAT_S = 0.1
STALL_US = 500_000
TURN_US = 2_000
"""So long at most the loop waits for its turn, whatever is ready."""


class LoopWatch:
    """A heartbeat on the running loop; a beat that comes half a second late is a stall."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stalls: deque[tuple[int, int]] = deque(maxlen=1024)
        self._due = 0
        self._handle: asyncio.TimerHandle | None = None
        self._ready: Sized = (None,)
        self._turn_at = 0

    def start(self) -> None:
        """Begins to beat."""
        loop = asyncio.get_running_loop()
        # What waits for its turn; a loop of another make that does not tell is always let in.
        self._ready = getattr(loop, "_ready", self._ready)
        self._due = self._clock.monotonic_us() + int(BEAT_S * 1_000_000)
        self._handle = loop.call_later(BEAT_S, self._beat)

    async def turn(self) -> None:
        """Lets the loop in when something waits for it, or was not looked for in a while."""
        now = self._clock.monotonic_us()
        if len(self._ready) or now >= self._turn_at:
            await asyncio.sleep(0)
            self._turn_at = self._clock.monotonic_us() + TURN_US

    def stop(self) -> None:
        """Ends the beat."""
        if self._handle:
            self._handle.cancel()

    def stalled_s(self, since_us: int) -> float:
        """Seconds the loop was blocked since a monotonic moment; 0.0 when it was not."""
        now = self._clock.monotonic_us()
        late = [(self._due, now)] if self._handle and now - self._due > STALL_US else []
        return sum(end - max(start, since_us) for start, end in (*self._stalls, *late) if end > since_us) / 1_000_000

    def _beat(self) -> None:
        now = self._clock.monotonic_us()
        if now - self._due > STALL_US:
            self._stalls.append((self._due, now))
        self.start()
