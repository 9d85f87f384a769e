"""An agent whose episodes run in worker processes, at most one in each at a time."""

from __future__ import annotations

import asyncio

from attrs import evolve

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.engines.isolation.dialogue import answer, stand_ins, turns_of
from dfah_cli.engines.isolation.process import Load, WorkerProcess
from dfah_cli.engines.local import check_ready
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite


class IsolatedAgent:
    """Stands for an agent that every worker loads by itself.

    The tool calls are recorded here, where nothing the agent does can reach them; the functions behind the tools run
    in the worker. A worker is killed when its episode is cancelled (the time limit) and replaced when it dies.
    fresh: a new process for each episode; otherwise processes are used again.
    """

    def __init__(self, agent: Agent, suite: Suite, load: Load, *, fresh: bool = False) -> None:
        self._agent, self._manifest = agent, agent.manifest
        self._load, self._fresh = load, fresh
        # Started or starting, and among them those set aside for episodes that are about to begin.
        self._waiting: list[asyncio.Task[WorkerProcess]] = []
        self._reserved: list[asyncio.Task[WorkerProcess]] = []
        self.suite = suite
        self.tools = stand_ins(agent)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the agent that was loaded for the run."""
        return self._manifest

    def check_ready(self) -> None:
        """Nothing, when the agent itself, which has the environment of its workers, finds all that it needs."""
        check_ready(self._agent)

    async def aopen(self, workers: int) -> None:
        """Starts that many workers, so that loading takes no episode's time.

        Raises: ConfigurationError when one cannot load the agent.
        """
        self._load = evolve(self._load, workers=workers)
        starting = [self._start() for _ in range(workers)]
        self._waiting += starting
        await asyncio.gather(*starting)

    async def aready(self) -> None:
        """Sets a worker aside for the next episode; one that cannot be started fails in that episode."""
        starting = self._next()
        await asyncio.wait({starting})
        self._reserved.append(starting)

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One episode in a worker.

        Raises: what the agent raised there; WorkerDiedError when its process ended.
        """
        worker = await (self._reserved.pop() if self._reserved else self._next())
        try:
            message = await worker.episode(case, context)
        except BaseException:
            # Cancelled by the time limit, or dead: either way it is not used again.
            await worker.kill()
            raise
        if self._fresh:
            await worker.kill()
        else:
            self._waiting.append(_is(worker))
        return answer(message, context)

    async def aclose(self) -> None:
        """Ends all workers."""
        waiting = [*self._waiting, *self._reserved]
        self._waiting, self._reserved = [], []
        for result in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(result, WorkerProcess):
                await result.kill()

    def _next(self) -> asyncio.Task[WorkerProcess]:
        return self._waiting.pop() if self._waiting else self._start()

    def _start(self) -> asyncio.Task[WorkerProcess]:
        return asyncio.ensure_future(WorkerProcess.start(self._load, turns_of(self._agent)))


def _is(worker: WorkerProcess) -> asyncio.Task[WorkerProcess]:
    async def itself() -> WorkerProcess:
        return worker

    return asyncio.ensure_future(itself())
