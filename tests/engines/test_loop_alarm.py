"""Code of an adapter that never lets the loop go is interrupted; nothing else is, and nothing stays behind."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, ModuleType

import pytest

from dfah_cli.engines.loop_alarm import LoopHeldError, holds_the_loop, loop_alarm


def code_in(module: str, source: str) -> dict[str, object]:
    """Functions as if they were of a module of that name."""
    space = vars(ModuleType(module))
    exec(compile(source, module, "exec"), space)
    return space


def seen_by(module: str) -> bool:
    """What is told of a coroutine of that module, run by a loop."""
    told: list[bool] = []

    def look() -> None:
        told.append(holds_the_loop(sys._getframe()))

    space = code_in(module, "async def work(look):\n    look()\n")
    asyncio.run(space["work"](look))  # type: ignore[operator]
    return told[0]


@pytest.mark.parametrize("module", ["my.agent", "httpx", "dfah_cli.adapter.session", "dfah_cli.integrations.seam"])
def test_what_an_episode_runs_may_be_interrupted(module: str) -> None:
    assert seen_by(module)


@pytest.mark.parametrize("module", ["dfah_cli.execution.runner", "dfah_cli.engines.local", "dfah_cli.workflow.parts"])
def test_the_harness_is_never_interrupted(module: str) -> None:
    assert not seen_by(module)


def test_the_store_is_never_interrupted_not_even_under_an_adapter() -> None:
    told: list[bool] = []
    store = code_in("dfah_cli.store.writer", "def write(look):\n    look()\n")["write"]

    async def adapter() -> None:
        store(lambda: told.append(holds_the_loop(sys._getframe())))  # type: ignore[operator]

    asyncio.run(adapter())
    assert told == [False]


def test_a_loop_that_waits_and_code_without_a_loop_are_not_interrupted() -> None:
    told: list[bool] = []

    def rings(_number: int, frame: FrameType | None) -> None:
        told.append(holds_the_loop(frame))

    before = signal.signal(signal.SIGALRM, rings)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        asyncio.run(asyncio.sleep(0.2))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert told == [False]
    assert not holds_the_loop(sys._getframe())


def held(limit_s: float, hold: Callable[[], None]) -> BaseException | None:
    """What came out of code that holds the loop under an alarm."""

    async def adapter() -> None:
        hold()

    async def main() -> BaseException | None:
        with loop_alarm(limit_s):
            done, _ = await asyncio.wait({asyncio.ensure_future(adapter())})
        return done.pop().exception()

    return asyncio.run(main())


def test_code_that_swallows_the_first_interruption_is_interrupted_again() -> None:
    swallowed: list[float] = []

    def hold() -> None:
        try:
            time.sleep(60)
        except LoopHeldError:
            swallowed.append(time.monotonic())
            time.sleep(60)

    started = time.monotonic()
    assert isinstance(held(0.01, hold), LoopHeldError)
    assert len(swallowed) == 1
    assert time.monotonic() - started < 30


def test_the_handler_and_the_timer_are_as_before() -> None:
    assert held(5.0, lambda: None) is None
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_alarm_that_the_program_uses_itself_stays_its_own() -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert held(0.01, lambda: time.sleep(0.2)) is None
        assert rang == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_that_the_adapter_sets_is_not_put_off() -> None:
    rang: list[int] = []

    async def main() -> None:
        with loop_alarm(60.0):
            signal.signal(signal.SIGALRM, lambda number, _frame: rang.append(number))
            signal.setitimer(signal.ITIMER_REAL, 0.4)
            await asyncio.sleep(0.8)

    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert rang == [signal.SIGALRM]


def test_in_another_thread_nothing_is_set() -> None:
    ended: list[BaseException | None] = []
    thread = threading.Thread(target=lambda: ended.append(held(0.01, lambda: None)))
    thread.start()
    thread.join()
    assert ended == [None]
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
