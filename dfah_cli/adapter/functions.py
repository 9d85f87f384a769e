"""Calls a function of the user's, plain or async, without letting a plain one hold the event loop.

Threads are daemons of our own: those of `concurrent.futures` are joined when the interpreter exits, so one adapter that
never returns would keep the program from ending. As many exist as are busy at once; idle ones leave after a while.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from types import FunctionType, MethodType
from typing import Any

from attrs import frozen

IDLE_SECONDS = 2.0


@frozen
class Returned:
    """A function returned this value."""

    value: Any


@frozen
class Raised:
    """A function raised this; any BaseException."""

    problem: BaseException


Outcome = Returned | Raised


_PLAIN = (FunctionType, MethodType)


def is_async(function: Any) -> bool:
    """Whether a call gives a coroutine: an async function, a partial of one, an object with an async `__call__`."""
    # Asked twice an episode, so first the short way.
    code = getattr(function, "__code__", None) if type(function) in _PLAIN else None
    if code is not None and code.co_flags & inspect.CO_COROUTINE:
        return True
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def run(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Any:
    """What the function returns; a plain one runs in a worker thread, with a copy of the context variables.

    Raises: whatever it raises, unchanged.
    """
    if is_async(function):
        return await function(*arguments, **named)
    outcome = await in_thread(functools.partial(function, *arguments, **named))
    if isinstance(outcome, Raised):
        raise outcome.problem
    # A plain function that hands on a coroutine (a wrapper, a lambda) is as good as an async one.
    return await outcome.value if inspect.isawaitable(outcome.value) else outcome.value


async def in_thread(function: Callable[[], Any], patience: Patience | None = None) -> Outcome:
    """How a plain function ended, run in a worker thread; a cancelled caller leaves the thread to finish unheard."""
    ticket = _Ticket(functools.partial(copy_context().run, function))
    _WORKERS.submit(ticket)
    if patience is not None and patience.rewarded(ticket):
        return ticket.wait_no_longer()
    answer = ticket.expect(asyncio.get_running_loop())
    return ticket.wait_no_longer() if answer is None else await answer


def outcome_of(function: Callable[[], Any]) -> Outcome:
    """How a plain function ended; nothing it raises escapes."""
    try:
        return Returned(function())
    except BaseException as problem:  # noqa: BLE001 - SystemExit in user code is an outcome, not our end
        return Raised(problem)


class Patience:
    """How long the event loop itself waits for a function that has been quick so far.

    A wake-up through the loop costs several times what a no-op function takes. So the loop holds still for at most
    `SECONDS`, and only while most of the function's calls have come back within them.
    """

    SECONDS = 0.0003
    CREDIT = 8

    def __init__(self) -> None:
        self._credit = self.CREDIT

    def rewarded(self, ticket: _Ticket) -> bool:
        """Whether the answer is there already."""
        if not self._credit:
            return False
        came = ticket.done.acquire(timeout=self.SECONDS)
        self._credit = min(self.CREDIT, self._credit + 1) if came else self._credit - 1
        return came


class _Ticket:
    """One function on its way through a worker thread; answered exactly once, to a waiter or to a future."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.done = threading.Lock()
        self.done.acquire()
        self._outcome: Outcome | None = None
        self._expected: tuple[asyncio.AbstractEventLoop, asyncio.Future[Outcome]] | None = None
        self._lock = threading.Lock()

    def expect(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Outcome] | None:
        """A future for the answer; None when the answer is there."""
        with self._lock:
            if self._outcome is not None:
                return None
            answer: asyncio.Future[Outcome] = loop.create_future()
            self._expected = (loop, answer)
            return answer

    def wait_no_longer(self) -> Outcome:
        """The answer that is known to be there."""
        assert self._outcome is not None
        return self._outcome

    def answer(self, outcome: Outcome) -> None:
        """Hands the outcome over; called in the worker thread."""
        with self._lock:
            self._outcome = outcome
            expected = self._expected
        self.done.release()
        if expected is None:
            return
        loop, future = expected
        try:
            loop.call_soon_threadsafe(_deliver, future, outcome)
        except RuntimeError:
            return  # the loop is closed, so nobody waits any more


def _deliver(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


class _Workers:
    """Idle threads, the last one used first; each waits on a queue of its own."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[_Ticket]] = []
        self._lock = threading.Lock()

    def submit(self, ticket: _Ticket) -> None:
        """Starts the function at once in an idle or a new thread."""
        with self._lock:
            queue = self._idle.pop() if self._idle else None
        if queue is None:
            queue = SimpleQueue()
            threading.Thread(target=self._work, args=(queue,), name="dfah-worker", daemon=True).start()
        queue.put(ticket)

    def _work(self, queue: SimpleQueue[_Ticket]) -> None:
        while True:
            try:
                ticket = queue.get(timeout=IDLE_SECONDS)
            except Empty:
                if self._leave(queue):
                    return
                continue
            outcome = outcome_of(ticket.function)
            # Idle before the answer is handed over: the caller's next call then finds this thread.
            with self._lock:
                self._idle.append(queue)
            ticket.answer(outcome)
            del ticket, outcome

    def _leave(self, queue: SimpleQueue[_Ticket]) -> bool:
        """Whether the thread may end; not when work was handed to it meanwhile."""
        with self._lock:
            if queue not in self._idle:
                return False
            self._idle.remove(queue)
            return True


_WORKERS = _Workers()
if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork; work handed to one of them in the child would never be done.
    os.register_at_fork(after_in_child=_WORKERS.__init__)  # type: ignore[misc]
