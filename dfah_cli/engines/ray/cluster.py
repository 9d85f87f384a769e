"""The Ray cluster of a run: one that is there, or one that is started for the run and ended with it.

Ray is used for the process of an actor and the way to it, and for nothing that repeats work: an actor is not
restarted and a call to it is not sent again.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from dfah_cli.engines.ray.actor import EpisodeActor
from dfah_cli.engines.ray.package import ray, silence
from dfah_cli.engines.ray.worker import first_line
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.engine import Engine

T = TypeVar("T")
OBJECTS = 256 * 1024 * 1024  # bytes of shared memory; cases and results are small
CALLS_PER_EPISODE = 64  # an episode, what it says meanwhile and the tool calls it makes at the same time
ASK_S = 10.0
# Ray does not say so when that was the reason.
TOKENS = "; for a cluster that asks for a token, set RAY_AUTH_MODE=token here too"
# Resources that Ray takes under names of their own.
NAMED = {"GPU": "num_gpus", "memory": "memory"}


class Cluster:
    """Connected between `open` and `close`."""

    def __init__(self, engine: Engine, workers: int) -> None:
        self._engine, self._workers = engine, workers
        # A cluster of our own ends with the thread that started it, so one thread does all that may block.
        self._thread = ThreadPoolExecutor(1, "dfah-ray")
        self._home: str | None = None
        self._is_ours = False
        self._make: Callable[[], Any] | None = None

    async def open(self) -> None:
        """Connects, or starts a cluster.

        Raises: ConfigurationError when that fails.
        """
        try:
            await self._do(self._connect)
        except ConfigurationError:
            raise
        except Exception as problem:
            where = self._engine.address or "a cluster of its own"
            told = f"engine ray: {where} cannot be reached: {first_line(problem)}"
            raise ConfigurationError(told + ("" if self._engine.address is None else TOKENS)) from problem

    async def close(self) -> None:
        """Disconnects; ends the cluster when it was started here, and removes what it wrote."""
        await self._do(self._disconnect)
        self._thread.shutdown(wait=False)

    def make(self) -> Any:
        """A new actor, which may have to wait for a place in the cluster."""
        assert self._make is not None
        return self._make()

    def put(self, payload: bytes) -> Any:
        """Where in the cluster something large lies."""
        return ray().put(payload)

    async def missing(self, patience_s: float, problem: str | None) -> str:
        """In one line: what the workers need and the cluster has."""
        try:
            has = await asyncio.wait_for(self._do(_resources), ASK_S)
        except Exception as told:  # noqa: BLE001 - the cluster is gone, in whatever way
            has = f"the cluster does not answer ({first_line(told)})"
        needs = {"CPU": self._engine.cpus_per_worker, **self._engine.resources_per_worker}
        needed = ", ".join(f"{amount:g} {name}" for name, amount in needs.items())
        last = "" if problem is None else f"; the last one: {problem}"
        return f"no worker for {patience_s:g} s: each needs {needed}; {has}{last}"

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _connect(self) -> None:
        module = ray()
        if not module.is_initialized():
            self._is_ours = True
            where = self._own() if self._engine.address is None else {"address": self._engine.address}
            silence()
            module.init(**where, log_to_driver=False, configure_logging=False)
        options: dict[str, Any] = {
            "num_cpus": self._engine.cpus_per_worker,
            "max_restarts": 0,
            "max_task_retries": 0,
            "max_concurrency": CALLS_PER_EPISODE * self._engine.episodes_per_worker + CALLS_PER_EPISODE,
        }
        resources = self._engine.resources_per_worker
        options |= {option: resources.pop(name) for name, option in NAMED.items() if name in resources}
        if resources:
            options["resources"] = resources
        if self._engine.runtime_env:
            options["runtime_env"] = self._engine.runtime_env
        self._make = module.remote(**options)(EpisodeActor).remote

    def _own(self) -> dict[str, Any]:
        """Options of a cluster of our own, whose files nobody else can read."""
        cpus = self._engine.cpus or max(os.cpu_count() or 1, self._asked())
        if self._engine.cpus_per_worker > cpus:
            raise ConfigurationError(
                f"engine ray: a worker needs {self._engine.cpus_per_worker:g} CPUs and the cluster has {cpus}; lower "
                "engine.cpus_per_episode or engine.episodes_per_worker, or set engine.cpus"
            )
        self._home = tempfile.mkdtemp(prefix="dfah-")
        # Ray opens its directory to everybody; the one around it stays ours.
        inner = str(Path(self._home) / "ray")
        return {"num_cpus": cpus, "include_dashboard": False, "_temp_dir": inner, "object_store_memory": OBJECTS}

    def _asked(self) -> int:
        """Processors that the workers somebody asked for by number need."""
        workers = min(self._workers, self._engine.workers or 0)
        return int(-(-workers * self._engine.cpus_per_worker // 1))

    def _disconnect(self) -> None:
        if self._is_ours:
            ray().shutdown()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)


def _resources() -> str:
    has, free = ray().cluster_resources(), ray().available_resources()
    shown = ", ".join(
        f"{free.get(name, 0.0):g} of {amount:g} {name}"
        for name, amount in sorted(has.items())
        if ":" not in name and "memory" not in name
    )
    nodes = sum(bool(node.get("Alive")) for node in ray().nodes())
    return f"the cluster has {shown or 'nothing'} free on {nodes} {'node' if nodes == 1 else 'nodes'}"
