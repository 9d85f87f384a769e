"""The loop is let in when something waits for it, and every now and then; not before every episode."""

from __future__ import annotations

import asyncio

from dfah_cli.execution.stalls import TURN_US, LoopWatch
from tests.builders import FixedClock


class MovedClock(FixedClock):
    """Stands where it is put."""

    def __init__(self) -> None:
        self.at_us = 1

    def monotonic_us(self) -> int:
        return self.at_us


def test_what_waits_for_the_loop_is_let_in_at_once_and_everything_else_after_a_while() -> None:
    clock = MovedClock()
    heard: list[str] = []
    turns: list[int] = []

    async def neighbour() -> None:
        while True:
            turns.append(clock.at_us)
            await asyncio.sleep(0.0001)

    async def main() -> None:
        watch = LoopWatch(clock)
        watch.start()
        beside = asyncio.ensure_future(neighbour())
        await watch.turn()
        before = len(turns)
        for _ in range(100):
            await watch.turn()
        assert len(turns) == before, "nothing was ready, and no time has passed"
        asyncio.get_running_loop().call_soon(heard.append, "signal")
        await watch.turn()
        assert heard == ["signal"]
        await asyncio.wait_for(passing(watch), 5)
        beside.cancel()
        watch.stop()

    async def passing(watch: LoopWatch) -> None:
        known = len(turns)
        while len(turns) == known:
            clock.at_us += TURN_US
            await watch.turn()

    asyncio.run(main())
