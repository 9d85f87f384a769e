"""Workers that start together pass a few at a time where the agent is slow, and all at once where it is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dfah_cli.execution.turnstile import FEWEST, Turnstile, width


class CountingClock:
    """Every look is one microsecond later."""

    def __init__(self) -> None:
        self._now = 0

    def monotonic_us(self) -> int:
        self._now += 1
        return self._now

    def now(self) -> Any:
        raise AssertionError("only durations count here")


@pytest.mark.parametrize(
    ("concurrency", "call_us", "passage_us", "expected"),
    [
        (64, 100_000, 1_500, FEWEST),
        (256, 1_000_000, 5_000, FEWEST),
        (256, 100_000, 6_000, 64),  # a slow disk: fewer, larger groups
        (256, 20, 5_000, 256),  # an agent that does nothing waits for nobody
        (256, 0.0, 0.0, 256),
        (4, 100_000, 100, 4),
        (1, 100_000, 100, 1),
    ],
)
def test_groups_are_small_where_the_agent_is_slow_and_whole_where_the_disk_is(
    concurrency: int, call_us: float, passage_us: float, expected: int
) -> None:
    assert width(concurrency, call_us, passage_us) == expected


def groups(turnstile: Turnstile, workers: int) -> list[int]:
    """Sizes of the groups that so many workers form who come at once."""
    sizes: list[int] = []

    async def main() -> None:
        inside = 0

        async def commit(_bodies: list[dict[str, Any]]) -> None:
            nonlocal inside
            inside += 1
            await asyncio.sleep(0)
            if inside:
                sizes.append(inside)
                inside = 0

        await asyncio.gather(*(turnstile.passed(commit, []) for _ in range(workers)))

    asyncio.run(main())
    return sizes


def test_the_first_round_passes_in_groups_and_nobody_is_left_behind() -> None:
    assert groups(Turnstile(64, CountingClock()), 64) == [8] * 8


def test_after_calls_that_took_no_time_all_pass_together() -> None:
    turnstile = Turnstile(64, CountingClock())
    groups(turnstile, 64)
    turnstile.learn(0)
    assert groups(turnstile, 64) == [64]


def test_a_failed_commit_and_a_cancelled_waiter_leave_their_places_to_others() -> None:
    turnstile = Turnstile(8, CountingClock())

    async def fail(_bodies: list[dict[str, Any]]) -> None:
        await asyncio.sleep(0)
        raise OSError

    async def main() -> list[Any]:
        work = [asyncio.ensure_future(turnstile.passed(fail, [])) for _ in range(24)]
        await asyncio.sleep(0)
        for waiter in work[8:20]:
            waiter.cancel()
        return await asyncio.wait_for(asyncio.gather(*work, return_exceptions=True), 5)

    ended = [type(problem) for problem in asyncio.run(main())]
    assert ended == [OSError] * 8 + [asyncio.CancelledError] * 12 + [OSError] * 4
    assert groups(turnstile, 8) == [8]
