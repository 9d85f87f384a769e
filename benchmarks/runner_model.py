"""One runner as a discrete-event simulation: who waits for which write, and how many share it.

The rules are those of the store: a worker makes the record of one episode durable together with the intent of the
next, one write is in flight, and whoever arrives meanwhile shares the next one. No artificial delay.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from random import Random

OPENING_PUTS = 7
"""Probe (2), claim, release: once a session. Number of logs, manifest, plan: once a run."""


@dataclass(frozen=True, kw_only=True)
class Storage:
    """put_s: median of a PUT. spread: sigma of its logarithm. cpu_s: of this machine for one episode, everything."""

    put_s: float
    cpu_s: float
    spread: float = 0.3


@dataclass(frozen=True, kw_only=True)
class Load:
    """call_s: median of a call. call_spread: sigma of its logarithm; 0 for calls that all take the same."""

    episodes: int
    concurrency: int
    call_s: float
    call_spread: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a runner came to. puts: of the log alone, without the opening."""

    seconds: float
    puts: int

    def puts_an_episode(self, load: Load) -> float:
        return self.puts / load.episodes

    def episodes_a_second(self, load: Load) -> float:
        return load.episodes / self.seconds


def simulate(load: Load, storage: Storage, seed: int = 0) -> Outcome:
    """The whole schedule of one runner."""
    random = Random(seed)
    waiting, left, puts, now = min(load.concurrency, load.episodes), load.episodes, 0, 0.0
    calls: list[float] = []
    while waiting or calls:
        if not waiting:
            now, waiting = heapq.heappop(calls), 1
        # Who comes at the same moment shares the write; who comes while it runs shares the next one.
        waiting += _ended(calls, now)
        puts += 1
        now += storage.put_s * random.lognormvariate(0.0, storage.spread) + waiting * storage.cpu_s
        # The others have stored their last record: nothing is left for them to begin.
        started = min(waiting, left)
        left -= started
        for _ in range(started):
            spread = random.lognormvariate(0.0, load.call_spread) if load.call_spread else 1.0
            heapq.heappush(calls, now + load.call_s * spread)
        waiting = _ended(calls, now)
    return Outcome(seconds=now, puts=puts)


def _ended(calls: list[float], now: float) -> int:
    """How many calls are back by now; they are taken from the heap."""
    count = 0
    while calls and calls[0] <= now:
        heapq.heappop(calls)
        count += 1
    return count
