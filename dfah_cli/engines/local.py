"""The default engine: asyncio on this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from dfah_cli.adapter.contract import Agent
from dfah_cli.engines.loop_alarm import loop_alarm
from dfah_cli.execution.call import hidden
from dfah_cli.execution.runner import Runner

CLOSE_S = 5.0


async def run_local(
    runner: Runner, concurrency: int, agent: Agent | None = None, *, limit_s: float | None = None
) -> None:
    """Works through what is left with that many workers, never more than there are slots; then closes the agent.

    limit_s: of an episode; whatever holds the loop longer is interrupted.
    Raises: the first error of a worker (StorageError); the others are stopped before it is passed on.
    """
    left = runner.settle()
    if not left:
        return
    count = min(concurrency, left)
    if agent is not None and not await _opened(agent, count, runner):
        runner.finish()
        return
    runner.watch().start()
    workers = [hidden(asyncio.ensure_future(runner.work())) for _ in range(count)]
    try:
        with loop_alarm(limit_s):
            await asyncio.gather(*workers)
    except BaseException:
        runner.stop_now()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    finally:
        runner.watch().stop()
        if agent is not None:
            await closing(agent)
    runner.finish()


def check_ready(agent: Agent) -> None:
    """Nothing, when an adapter with a `check_ready` finds all that an episode needs.

    Raises: what it raises; nothing was dispatched.
    """
    check = getattr(agent, "check_ready", None)
    if check is not None:
        check()


async def opening(agent: Agent, workers: int) -> None:
    """Lets an adapter with an `aopen` get ready for that many episodes at once, in nobody's time.

    Raises: what it raises, before anything is dispatched; what it had opened by then is closed.
    """
    check_ready(agent)
    ready = getattr(agent, "aopen", None)
    if ready is None:
        return
    try:
        await ready(workers)
    except BaseException:
        await closing(agent)
        raise


async def _opened(agent: Agent, workers: int, runner: Runner) -> bool:
    """Whether the adapter is ready; False when a stop was asked for before it was: a cluster may take minutes.

    Raises: what `opening` raises.
    """
    ready = hidden(asyncio.ensure_future(opening(agent, workers)))
    stopped = hidden(asyncio.ensure_future(runner.stopped.wait()))
    try:
        await asyncio.wait({ready, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
        return ready.done()
    finally:
        ready.cancel()
        stopped.cancel()
        await asyncio.wait({ready, stopped}, timeout=CLOSE_S)


async def closing(agent: Agent) -> None:
    """Lets an adapter with an `aclose` close what it holds open on this loop; what it raises is of no consequence."""
    close = getattr(agent, "aclose", None)
    if close is None:
        return
    # In a task: an adapter that never finishes closing must not hold the run.
    await asyncio.wait({asyncio.ensure_future(_quietly(close))}, timeout=CLOSE_S)


async def _quietly(close: Callable[[], Awaitable[object]]) -> None:
    # BaseException: the run is over and its records are durable, whatever closing does.
    with contextlib.suppress(BaseException):
        await close()
