"""What a run tells whoever watches it. Facts only; what is shown of them is the watcher's business.

An observer is called from the event loop and must return at once; whatever it raises ends the run, so a watcher
that can fail must catch. Order: PlanReady, RunStarted, any mix of EpisodeStarted, EpisodeFinished and Stopping,
RunFinished.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen


@frozen(kw_only=True)
class PlanReady:
    """The plan is frozen and bound to `out`; nothing was dispatched yet.

    cost_ceiling_nusd: the most this run may spend; None when no estimate was given.
    raw_case_ids: cases whose own id would be persisted because they have no pseudonym.
    """

    plan_sha256: str
    suite_id: str
    suite_version: str
    cases: int
    replays: int
    episodes_planned: int
    out: str
    cost_ceiling_nusd: int | None = None
    raw_case_ids: int = 0


@frozen(kw_only=True)
class RunStarted:
    """The lease is held and every recorded slot is settled. spent_nusd: by the reused episodes."""

    planned: int
    reused: int
    spent_nusd: int = 0


@frozen(kw_only=True)
class EpisodeStarted:
    """The intent is durable and the adapter is being called. reserved_nusd: held back from the budget for it."""

    case_id: str
    replay_index: int
    reserved_nusd: int = 0


@frozen(kw_only=True)
class EpisodeFinished:
    """The terminal record is durable.

    status: an `EpisodeStatus` value. error_kind: None when valid. error_text: redacted text of why it
    failed, for the log only; never persisted.
    """

    case_id: str
    replay_index: int
    status: str
    cost_nusd: int
    latency_us: int
    tool_calls: int
    reserved_nusd: int = 0
    error_kind: str | None = None
    error_text: str | None = None


@frozen(kw_only=True)
class Stopping:
    """No further episode is dispatched; what is in flight is drained.

    reason: `budget_stop`, `interrupted`, … why: what the reason alone does not say, for people.
    """

    reason: str
    in_flight: int = 0
    why: str | None = None


@frozen(kw_only=True)
class RunFinished:
    """The lease is released. failed: committed episodes that are not valid."""

    committed: int
    reused: int
    failed: int
    spent_nusd: int
    stop_reason: str | None = None


@frozen(kw_only=True)
class TracesExported:
    """Spans were written or sent after the run. where: a file, or the endpoint. problem: class of what failed."""

    where: str
    problem: str | None = None


Event = PlanReady | RunStarted | EpisodeStarted | EpisodeFinished | Stopping | RunFinished | TracesExported
Observer = Callable[[Event], None]


def silent(event: Event) -> None:
    """The observer that shows nothing."""
