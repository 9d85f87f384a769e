"""The engine of a request, chosen by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dfah_cli.adapter.contract import Agent
from dfah_cli.records.codec import plain
from dfah_cli.records.suite import Suite
from dfah_cli.workflow.request import RunRequest


def executed_by(request: RunRequest, agent: Agent, suite: Suite) -> Agent:
    """What the runner calls: the agent itself, or what stands for it where its episodes are executed.

    Raises: OptionalDependencyError with the install command when the engine's package is missing.
    """
    return ENGINES[request.engine.name](request, agent, suite)


def _local(request: RunRequest, agent: Agent, suite: Suite) -> Agent:
    """The agent itself, or workers of this machine when its episodes are to run in processes of their own."""
    if request.isolation is None:
        return agent
    from dfah_cli.engines.isolation.agent import IsolatedAgent
    from dfah_cli.engines.isolation.process import Load

    where = Load(adapter=request.adapter, agent=request.agent, suite=request.suite, memory_mb=request.worker_memory_mb)
    return IsolatedAgent(agent, suite, where, fresh=request.isolation == "fresh")


def _ray(request: RunRequest, agent: Agent, suite: Suite) -> Agent:
    from dfah_cli.engines.ray.agent import RayAgent

    # The nodes of a cluster need not have the file of the suite, so its content goes with it.
    content = None if request.suite is None else plain(suite)
    named = {"adapter": request.adapter, "agent": request.agent, "suite": None, "content": content, "memory_mb": None}
    return RayAgent(agent, suite, named, request.engine)


ENGINES: Mapping[str, Callable[[RunRequest, Agent, Suite], Agent]] = {"local": _local, "ray": _ray}
