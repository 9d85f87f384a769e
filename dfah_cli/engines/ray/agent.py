"""An agent whose episodes run in the actors of a Ray cluster."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Mapping
from typing import Any

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.canonical import canonical_bytes
from dfah_cli.engines.isolation.dialogue import answer, stand_ins, turns_of
from dfah_cli.engines.local import check_ready
from dfah_cli.engines.ray.cluster import Cluster
from dfah_cli.engines.ray.package import require
from dfah_cli.engines.ray.pool import Pool
from dfah_cli.engines.ray.worker import RayWorker
from dfah_cli.execution.ends import EndedElsewhereError, Lost
from dfah_cli.records.case import Case
from dfah_cli.records.engine import Engine
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite

GRACE_S = 1.0
INLINE = 90_000  # bytes; what is larger lies in the cluster once, for all actors


class RayAgent:
    """Stands for an agent that every actor loads by itself.

    The tool calls are recorded here; the functions behind the tools run in the actor. An actor that holds one episode
    is killed when that is cancelled (the time limit); one that holds several is asked to end it, and is not used again
    when it does not.
    """

    def __init__(self, agent: Agent, suite: Suite, load: Mapping[str, Any], engine: Engine) -> None:
        require()
        self._agent, self._manifest = agent, agent.manifest
        self._load, self._engine = load, engine
        self._pool: Pool[RayWorker] | None = None
        self._cluster: Cluster | None = None
        self._told: Any = None
        self._reserved: list[RayWorker] = []
        self._workers: set[RayWorker] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()
        self.suite = suite
        self.tools = stand_ins(agent)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the agent that was loaded for the run."""
        return self._manifest

    def check_ready(self) -> None:
        """Nothing, when the agent itself finds all that it needs here, as it will in a cluster of this run's."""
        if self._engine.address is None:
            check_ready(self._agent)

    async def aopen(self, workers: int) -> None:
        """Connects, asks for the actors that so many episodes at once need, and waits for the first.

        Raises: ConfigurationError when there is no cluster, or the first actor cannot load the agent.
        """
        size, patience_s = self._engine.workers_for(workers), self._engine.start_timeout_s
        cluster = self._cluster = Cluster(self._engine, size)
        await cluster.open()
        payload = canonical_bytes({"t": "load", **self._load, "workers": size})
        self._told = payload if len(payload) <= INLINE else cluster.put(payload)
        self._pool = Pool(
            self._start,
            lambda problem: cluster.missing(patience_s, problem),
            size=size,
            seats=self._engine.episodes_per_worker,
            patience_s=patience_s,
        )
        await self._pool.open()

    async def aready(self) -> None:
        """Keeps a place for the next episode.

        Raises: NoWorkersError when no actor is left and none comes.
        """
        assert self._pool is not None
        self._reserved.append(await self._pool.seat())

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One episode in an actor.

        Raises: what the agent raised there; EndedElsewhereError when its actor was lost.
        """
        assert self._pool is not None
        worker = self._reserved.pop(0) if self._reserved else await self._pool.seat()
        while worker.gone.done():
            # Nothing was sent to it.
            worker = await self._pool.seat()
        number = next(self._numbers)
        try:
            message, how = await worker.episode(number, case, context, turns_of(self._agent))
        except BaseException:
            self._later(self._end(worker, number))
            raise
        if message is None:
            raise EndedElsewhereError(Lost(f"the worker is gone: {how}"))
        self._free(worker)
        return answer(message, context)

    async def aclose(self) -> None:
        """Ends all actors, and the cluster when it was started for the run."""
        if self._pool is not None:
            await self._pool.close()
        for worker in self._workers:
            await worker.kill()
        if self._cluster is not None:
            await self._cluster.close()

    async def _start(self) -> RayWorker:
        assert self._cluster is not None
        worker = await RayWorker.start(self._cluster.make, self._told, self._manifest.hash)
        self._workers.add(worker)
        worker.gone.add_done_callback(lambda _: self._workers.discard(worker))
        return worker

    def _free(self, worker: RayWorker) -> None:
        assert self._pool is not None
        if worker.retired and not worker.holds:
            self._later(worker.kill())
        self._pool.leave(worker)

    async def _end(self, worker: RayWorker, number: int) -> None:
        """Ends a cancelled episode where it runs, so that it sends nothing more."""
        assert self._pool is not None
        if not worker.holds:
            self._pool.give_up(worker)
            await worker.kill()
        elif await worker.cancel(number, GRACE_S):
            self._pool.leave(worker)
        else:
            # It goes when the other episodes it holds have ended, by their time limit at the latest.
            worker.retired = True
            self._pool.give_up(worker)
            if not worker.holds:
                await worker.kill()

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
