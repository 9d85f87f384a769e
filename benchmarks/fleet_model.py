"""A thousand runners and a hundred million episodes, with failures, as a discrete-event simulation over shards.

Each runner takes one part of the schedule after the other; how fast it works and how many writes it makes follow from
`runner_model`. It dies at random; a supervisor starts it again with the explicit word, it reads its part again, and
what was in flight is interrupted. Events: a part is finished, a runner dies, a runner is back.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from random import Random

from benchmarks.runner_model import OPENING_PUTS, Load, Storage, simulate

SAMPLE = 40_000
"""Episodes of the runner whose steady state stands for all."""
PARALLEL_GETS = 16


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """mtbf_s: mean time between failures of one runner. back_s: until it is started again. get_s: one GET."""

    runners: int
    shards: int
    episodes: int
    concurrency: int
    call_s: float
    call_spread: float
    mtbf_s: float
    back_s: float
    storage: Storage
    get_s: float = 0.03


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What the fleet came to. busy: share of the ideal, in which no runner ever waits or dies."""

    seconds: float
    puts: int
    gets: int
    interrupted: int
    deaths: int
    busy: float


@dataclass
class _Part:
    left: float
    written: int = 0


def run_fleet(fleet: Fleet, seed: int = 0) -> Totals:
    """The whole run, up to the last record of the last part."""
    random = Random(seed)
    rate, puts_each = _steady(fleet)
    size = fleet.episodes / fleet.shards
    free = [_Part(size) for _ in range(fleet.shards)]
    puts, gets, interrupted, deaths, last = 0.0, 0, 0, 0, 0.0
    events: list[tuple[float, int, str, _Part | None]] = []
    for runner in range(fleet.runners):
        heapq.heappush(events, (0.0, runner, "back", None))
    while events:
        now, runner, what, part = heapq.heappop(events)
        if what == "dead":
            assert part is not None
            deaths, interrupted = deaths + 1, interrupted + fleet.concurrency
            heapq.heappush(events, (now + fleet.back_s, runner, "back", part))
            continue
        if part is None:
            if not free:
                continue
            part = free.pop()
        # Back from the dead: the part is read before anything is sent.
        gets += part.written
        begin = now + part.written * fleet.get_s / PARALLEL_GETS + OPENING_PUTS * fleet.storage.put_s
        dies = begin + random.expovariate(1 / fleet.mtbf_s)
        ends = begin + part.left / rate
        worked = max(0.0, min(dies, ends) - begin) * rate
        part.left, part.written = part.left - worked, part.written + round(worked * puts_each) + OPENING_PUTS
        puts += worked * puts_each + OPENING_PUTS
        last = max(last, min(dies, ends))
        if dies < ends:
            heapq.heappush(events, (dies, runner, "dead", part))
        else:
            heapq.heappush(events, (ends, runner, "done", None))
    ideal = fleet.episodes * _mean_call(fleet) / (fleet.runners * fleet.concurrency)
    return Totals(seconds=last, puts=round(puts), gets=gets, interrupted=interrupted, deaths=deaths, busy=ideal / last)


def _steady(fleet: Fleet) -> tuple[float, float]:
    """Episodes a second of one runner, and writes an episode."""
    load = Load(
        episodes=max(SAMPLE, 40 * fleet.concurrency),
        concurrency=fleet.concurrency,
        call_s=fleet.call_s,
        call_spread=fleet.call_spread,
    )
    found = simulate(load, fleet.storage)
    return found.episodes_a_second(load), found.puts_an_episode(load)


def _mean_call(fleet: Fleet) -> float:
    return float(fleet.call_s * 2.718281828459045 ** (fleet.call_spread**2 / 2))
