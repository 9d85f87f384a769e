"""`Replay(isolation=…)`: worker processes for an agent that is there as an object, found again by its name."""

from __future__ import annotations

import sys

from dfah_cli.adapter.contract import Agent
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.codec import plain
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


def isolated(agent: Agent, suite: Suite, isolation: str | None, memory_mb: int | None) -> Agent:
    """The agent itself, or what stands for it where its episodes run in processes of their own.

    Raises: ConfigurationError when no process could load the agent by a name.
    """
    if isolation is None:
        return agent
    from dfah_cli.engines.isolation.agent import IsolatedAgent
    from dfah_cli.engines.isolation.process import Load

    reference = reference_of(agent)
    where = Load(adapter=reference, agent={}, suite=None, content=plain(suite), memory_mb=memory_mb)
    return IsolatedAgent(agent, suite, where, fresh=isolation == "fresh")


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
        "isolation: a worker process loads the agent by its name, and no imported module has it under one; put it into "
        "a module of its own as a global (`agent = …`), import it from there, and run that"
    )
