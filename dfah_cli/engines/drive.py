"""Drives a session's coroutine to its end: own loop, signals, and adapters that will not die.

The first Ctrl-C or SIGTERM asks for a drained stop, the second cancels what is in flight, and when even that does not
end within a few seconds the process leaves with the code of the signal; the store is safe at any of these points. A
terminal that is closed sends SIGHUP, often twice: it asks for a drained stop and for no more, and under nohup for none.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any

from dfah_cli.engines.staying import leave, staying
from dfah_cli.execution.call import hidden
from dfah_cli.execution.keeping import keep_until_done

REASONS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "terminated"}
LAST_WORD_S = 5.0
STRAGGLER_S = 0.2

Work = Coroutine[Any, Any, None]
Stop = Callable[[str], None]
Running = tuple[asyncio.AbstractEventLoop, "asyncio.Task[None]"]


class Halt:
    """Lets another thread ask a run to stop, before it begins as well as later."""

    def __init__(self) -> None:
        self._ask: Stop | None = None
        self._reason: str | None = None

    def bind(self, ask: Stop) -> None:
        """From now on `ask` hears the reason."""
        self._ask = ask
        if self._reason is not None:
            ask(self._reason)

    def __call__(self, reason: str) -> None:
        self._reason = reason
        if self._ask is not None:
            self._ask(reason)


def drive(work: Callable[[], Work], stop: Stop, halt: Halt | None = None) -> None:
    """Runs the coroutine on a loop of its own; inside a running loop (a notebook), in a thread of its own.

    Raises: what the coroutine raises; KeyboardInterrupt after a second signal.
    """
    if _loop_is_running():
        _in_thread(work, stop, halt)
    else:
        _on_own_loop(work, stop, halt)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(work: Callable[[], Work], stop: Stop, halt: Halt | None) -> None:
    failures: list[BaseException] = []
    begun: SimpleQueue[Running | None] = SimpleQueue()

    def body() -> None:
        try:
            _on_own_loop(work, stop, halt, begun.put)
        except BaseException as problem:  # noqa: BLE001 - carried over to the calling thread
            failures.append(problem)
            begun.put(None)

    thread = threading.Thread(target=body, name="dfah-run", daemon=True)
    thread.start()
    running = begun.get()
    if running is not None:
        # The caller's loop cannot hear a signal while it is blocked here.
        with _signals(*running, stop):
            thread.join()
    if failures:
        raise failures[0]


def _on_own_loop(
    work: Callable[[], Work], stop: Stop, halt: Halt | None, begun: Callable[[Running], None] = lambda _: None
) -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    task = hidden(loop.create_task(work()))
    begun((loop, task))
    if halt is not None:
        halt.bind(lambda reason: _soon(loop, stop, reason))
    try:
        with _signals(loop, task, stop), staying():
            _until_done(loop, task)
    finally:
        _abandon(loop)
    if task.cancelled():
        raise KeyboardInterrupt
    task.result()


def _until_done(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    while not task.done():
        try:
            loop.run_until_complete(asyncio.wait({task}))
        except (SystemExit, KeyboardInterrupt, asyncio.CancelledError):
            # Raised by a task an adapter started, or by one it cancelled: it never ends the schedule.
            continue
        except RuntimeError:
            # The adapter stopped the loop; it is started again.
            if loop.is_closed():
                raise


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None], stop: Stop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP and seen:
            return
        seen.append(number)
        _soon(loop, stop, REASONS[signal.Signals(number)])
        if len(seen) == 1:
            return
        _soon(loop, task.cancel)
        if len(seen) == 2:
            # An adapter that blocks the loop cannot be cancelled; the store is safe, so leaving is.
            timer = threading.Timer(LAST_WORD_S, leave, args=(128 + number,))
            timer.daemon = True
            timer.start()

    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heard = [number for number in REASONS if number != signal.SIGHUP or not nohup]
    previous = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _soon(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> None:
    # A loop that is closed has nothing left to stop.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *arguments)


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels what adapters left running and waits a moment; closing must not hang on one that ignores it."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        with suppress(SystemExit, KeyboardInterrupt, RuntimeError):
            loop.run_until_complete(asyncio.wait(left, timeout=STRAGGLER_S))
    for task in asyncio.all_tasks(loop):
        keep_until_done(task)
    if not asyncio.all_tasks(loop):
        _close(loop)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    closing = loop.create_task(loop.shutdown_asyncgens())
    loop.run_until_complete(asyncio.wait({closing}, timeout=STRAGGLER_S))
    if closing.done():
        loop.close()
    else:
        # An asynchronous generator of the adapter's does not end.
        keep_until_done(closing)
