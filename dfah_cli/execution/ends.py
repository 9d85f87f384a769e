"""How a call can end, and what an engine tells of calls that it had made elsewhere. Pure."""

from __future__ import annotations

from attrs import frozen

from dfah_cli.records.episode import AgentResult


@frozen
class Returned:
    """The adapter returned a result in time."""

    result: AgentResult


@frozen
class Raised:
    """The adapter raised; any BaseException."""

    problem: BaseException


@frozen
class TimedOut:
    """The time limit passed, whatever the adapter did afterwards. stalled_s: how long it blocked the event loop."""

    stalled_s: float = 0.0


@frozen
class ManifestChanged:
    """The agent's manifest is not the one read at the start."""


@frozen
class Lost:
    """The machine or process that held the call is gone; what became of the request is not known. how: for the log."""

    how: str


Outcome = Returned | Raised | TimedOut | ManifestChanged | Lost


class EndedElsewhereError(Exception):
    """Raised by what stands for an agent on another machine: the call has ended there, and this is how."""

    def __init__(self, outcome: ManifestChanged | Lost) -> None:
        super().__init__("the call ended elsewhere")
        self.outcome = outcome


class NoWorkersError(Exception):
    """Raised by what stands for an agent when nothing is left that could take an episode; the text says what is."""
