"""`Replay(isolation=…, engine=…)`: workers for an agent that is there as an object, found again by its name."""

from __future__ import annotations

import sys

from dfah_cli.adapter.contract import Agent
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.codec import plain
from dfah_cli.records.engine import ENGINES, Engine
from dfah_cli.records.suite import Suite
from dfah_cli.workflow.request import ISOLATIONS


def isolation_of(value: str | None, memory_mb: int | None) -> str | None:
    """The checked choice; None for none.

    Raises: ConfigurationError for another value, or a memory limit without worker processes.
    """
    if value is not None and value not in ISOLATIONS:
        raise ConfigurationError(f"isolation: found {value!r}; expected {' or '.join(ISOLATIONS)}, or None")
    if memory_mb is not None and (value is None or type(memory_mb) is not int or memory_mb < 16):
        raise ConfigurationError("worker_memory_mb: expected a whole number of at least 16, with isolation='process'")
    return value


def engine_of(value: Engine | str, isolation: str | None) -> Engine:
    """The checked engine, from itself or its name.

    Raises: ConfigurationError for another value, or for worker processes beside a cluster.
    """
    if isinstance(value, str) and value in ENGINES:
        value = Engine(name=value)
    if not isinstance(value, Engine):
        raise ConfigurationError(f"engine: found {value!r:.40}; expected {' or '.join(ENGINES)}, or an Engine")
    if isolation is not None and value.name != "local":
        raise ConfigurationError(f"isolation needs engine='local'; {value.name} has processes of its own")
    return value


def placed(agent: Agent, suite: Suite, engine: Engine, isolation: str | None, memory_mb: int | None) -> Agent:
    """The agent itself, or what stands for it where its episodes run elsewhere: in processes or on a cluster.

    Raises: ConfigurationError when no worker could load the agent by a name; OptionalDependencyError with the install
    command when the engine's package is missing.
    """
    if isolation is None and engine.name == "local":
        return agent
    named = {"adapter": reference_of(agent), "agent": {}, "suite": None, "content": plain(suite)}
    if engine.name == "ray":
        from dfah_cli.engines.ray.agent import RayAgent

        return RayAgent(agent, suite, {**named, "memory_mb": None}, engine)
    from dfah_cli.engines.isolation.agent import IsolatedAgent
    from dfah_cli.engines.isolation.process import Load

    return IsolatedAgent(agent, suite, Load(**named, memory_mb=memory_mb), fresh=isolation == "fresh")


def reference_of(agent: Agent) -> str:
    """`module:name` under which a module that was imported has the agent.

    Raises: ConfigurationError when none has it.
    """
    for module_name, module in sorted(sys.modules.items(), key=lambda item: item[0]):
        if module is None or module_name == "__main__":
            continue
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is agent and not name.startswith("_"):
                return f"{module_name}:{name}"
    raise ConfigurationError(
        "isolation, engine: a worker loads the agent by its name, and no imported module has it under one; put it into "
        "a module of its own as a global (`agent = …`), import it from there, and run that"
    )
