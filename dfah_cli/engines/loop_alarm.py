"""Ends code of an adapter that holds the event loop past its time limit.

asyncio cannot: what does not await is never cancelled, and a run that waits for it waits for ever. So an alarm is set
that every beat of the loop puts off; when the beats stay away for longer than an episode may take, it goes off in the
main thread and raises there, in code of the adapter and nowhere else.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from dfah_cli.execution.call import Caller

BEAT_S = 0.25
GRACE_S = 1.0
"""Past the limit, for what comes back by itself; and between one alarm and the next, for what swallows it."""

_ADAPTER_CALL = Caller._guarded.__code__
_LOOP = ("asyncio.", "selectors")
_OURS = ("dfah_cli.engines.", "dfah_cli.execution.", "dfah_cli.workflow.", "dfah_cli.store.")
_UNTOUCHED = ("dfah_cli.store.", "dfah_cli.workflow.")
"""Never interrupted, not even under a call of the adapter: they write files."""


class LoopHeldError(BaseException):
    """Raised in code that held the event loop past the limit; no `except Exception` swallows it."""


@contextmanager
def loop_alarm(limit_s: float | None) -> Iterator[None]:
    """Inside, code of an adapter that does not let the running loop go for `limit_s` is interrupted.

    Nothing is set without a limit, outside the main thread (where no signal arrives), and when the program uses
    SIGALRM itself.
    """
    if limit_s is None or not _alarm_is_free():
        yield
        return
    alarm = _Alarm(limit_s + GRACE_S)
    before = signal.signal(signal.SIGALRM, alarm.rings)
    alarm.beat()
    try:
        yield
    finally:
        alarm.stop()
        if signal.getsignal(signal.SIGALRM) == alarm.rings:
            signal.signal(signal.SIGALRM, before)


def _alarm_is_free() -> bool:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return False
    return signal.getsignal(signal.SIGALRM) == signal.SIG_DFL and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


class _Alarm:
    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._handle: asyncio.TimerHandle | None = None

    def beat(self) -> None:
        # An adapter that has set an alarm of its own keeps it.
        if signal.getsignal(signal.SIGALRM) == self.rings:
            signal.setitimer(signal.ITIMER_REAL, self._patience_s, GRACE_S)
        self._handle = asyncio.get_running_loop().call_later(BEAT_S, self.beat)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if signal.getsignal(signal.SIGALRM) == self.rings:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def rings(self, _number: int, frame: FrameType | None) -> None:
        if holds_the_loop(frame):
            _interrupt()


def _interrupt() -> NoReturn:
    raise LoopHeldError("the adapter held the event loop past the time limit")


def holds_the_loop(frame: FrameType | None) -> bool:
    """Whether the code that runs in this frame is an adapter's, run by the loop, and may be interrupted."""
    stack = []
    while frame is not None:
        stack.append(frame)
        frame = frame.f_back
    modules = [str(one.f_globals.get("__name__")) for one in stack]
    inside = next((place for place, module in enumerate(modules) if module.startswith(_LOOP)), len(stack))
    # The loop itself is running, and waits; or nothing of a loop is.
    if inside in (0, len(stack)) or any(module.startswith(_UNTOUCHED) for module in modules[:inside]):
        return False
    return stack[inside - 1].f_code is _ADAPTER_CALL or not modules[inside - 1].startswith(_OURS)
