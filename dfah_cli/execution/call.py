"""One adapter call under its time limit. Whatever the adapter does, an outcome comes back.

The clock decides: a result that arrives after the limit is a timeout, also when cancellation was swallowed or the
event loop was blocked. An adapter that ignores cancellation is left behind after a grace period.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.invoke import invoke
from dfah_cli.adapter.meter import Meter
from dfah_cli.execution.clock import Clock
from dfah_cli.execution.ends import (
    EndedElsewhereError,
    ManifestChanged,
    NoWorkersError,
    Outcome,
    Raised,
    Returned,
    TimedOut,
)
from dfah_cli.execution.keeping import keep_until_done
from dfah_cli.execution.stalls import LoopWatch
from dfah_cli.records.case import Case
from dfah_cli.records.manifest import Manifest

GRACE_S = 1.0
# How often to look again at an episode that waits for its turn.
SHORTEST_S = 0.05


class Caller:
    """Calls one agent, and leaves behind the calls that do not end."""

    def __init__(self, agent: Agent, manifest: Manifest, limit_s: float | None, clock: Clock, watch: LoopWatch) -> None:
        self._agent = agent
        self._aready = getattr(agent, "aready", None)
        self._manifest = manifest
        self._limit_s = limit_s
        self._limit_us = None if limit_s is None else int(limit_s * 1_000_000)
        self._clock = clock
        self._watch = watch
        self.stopping = False  # set before the run itself cancels calls, which is no act of the adapter

    @property
    def prepares(self) -> bool:
        """Whether the adapter has to be asked before each episode."""
        return self._aready is not None

    async def ready(self) -> None:
        """Lets an adapter with an `aready` prepare for one more episode, before its intent and in nobody's time.

        Raises: NoWorkersError when nothing could take the episode.
        """
        if self._aready is None:
            return
        try:
            await self._aready()
        except NoWorkersError:
            raise
        except Exception:  # noqa: BLE001 - what cannot prepare fails in the episode
            return

    async def call(self, case: Case, context: RunContext) -> tuple[Outcome, int]:
        """The outcome and the microseconds it took, without those in which its requests waited for their turn.

        Raises: asyncio.CancelledError only when the run itself is being stopped.
        """
        started = self._clock.monotonic_us()
        outcome = await self._limited(case, context)
        elapsed = max(0, self._clock.monotonic_us() - started - int(context.meter.waited_s() * 1_000_000))
        if self._limit_us is not None and elapsed > self._limit_us:
            outcome = TimedOut(self._watch.stalled_s(since_us=started))
        elif not self._same_manifest():
            outcome = ManifestChanged()
        return outcome, elapsed

    async def _limited(self, case: Case, context: RunContext) -> Outcome:
        if self._limit_s is None:
            return await self._guarded(case, context)
        task = hidden(asyncio.get_running_loop().create_task(self._guarded(case, context)))
        try:
            in_time = await _in_time(task, self._limit_s, context.meter)
        except asyncio.CancelledError:
            # The run is being stopped, not the adapter: pass it on.
            task.cancel()
            keep_until_done(task)
            raise
        if in_time:
            return task.result()
        task.cancel()
        await asyncio.wait({task}, timeout=min(GRACE_S, self._limit_s))
        if not task.done():
            keep_until_done(task)
        return TimedOut()

    async def _guarded(self, case: Case, context: RunContext) -> Outcome:
        # BaseException: SystemExit inside a task would otherwise end the event loop with it.
        try:
            return Returned(await invoke(self._agent, case, context))
        except EndedElsewhereError as told:
            return told.outcome
        except BaseException as problem:
            if isinstance(problem, asyncio.CancelledError):
                if self.stopping:
                    raise
                _take_back_cancellation()
            return Raised(problem)

    def _same_manifest(self) -> bool:
        try:
            manifest = self._agent.manifest
        except BaseException:  # noqa: BLE001 - the property is the user's code
            return False
        return manifest is self._manifest or manifest == self._manifest


async def _in_time(task: asyncio.Task[Outcome], limit_s: float, meter: Meter) -> bool:
    """Whether the task ends within the limit, which grows by the time it waits for its turn."""
    granted, left = 0.0, limit_s
    while left > 0:
        done, _ = await asyncio.wait({task}, timeout=max(left, SHORTEST_S) if granted else left)
        if done:
            return True
        waited = meter.waited_s()
        granted, left = waited, waited - granted
    return False


T = TypeVar("T")


def hidden(task: asyncio.Task[T]) -> asyncio.Task[T]:
    """The task, no longer listed by `asyncio.all_tasks`: an adapter that cancels everything there means its own."""
    asyncio.tasks._unregister_task(task)
    return task


def _take_back_cancellation() -> None:
    """An adapter may cancel the task it runs in; that ends its episode, not the worker."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
