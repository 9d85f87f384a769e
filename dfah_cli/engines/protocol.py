"""What an engine is: something that stands for the agent of a run and has its episodes executed where it likes.

The run itself never leaves the process that holds the lease: it plans, makes the intent durable, judges and commits.
An engine only answers `arun`. So there is one order of writing, whatever the engine:

    aready    a place for one more episode is kept; nothing is recorded yet, and no time limit runs
    (intent)  durable in the store of the run
    arun      the episode is sent, at most once, and its end is told; or it is lost
    (commit)  judged and durable

`local` is the agent itself. What is set aside by `aready` is used by the next `arun`.
"""

from __future__ import annotations

from typing import Protocol

from dfah_cli.adapter.contract import RunContext
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.manifest import Manifest


class Engine(Protocol):
    """Stands for an agent whose episodes are executed elsewhere."""

    @property
    def manifest(self) -> Manifest:
        """The manifest of the agent that was loaded for the run; whoever executes an episode must have the same."""
        ...

    async def aopen(self, workers: int) -> None:
        """Ready for the first of that many episodes at once.

        Raises: ConfigurationError, before anything is dispatched, when the agent cannot be executed there.
        """
        ...

    async def aready(self) -> None:
        """Keeps a place for one more episode.

        Raises: NoWorkersError when nothing is left that could take one; its text says exactly what is missing.
        """
        ...

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One episode, sent at most once.

        Raises: what the agent raised; EndedElsewhereError with `Lost` when it is not known what became of it.
        """
        ...

    async def aclose(self) -> None:
        """Ends whatever still executes an episode, and what was started for the run."""
        ...
