"""What a session is told, what it did, and what it tells its watcher of each episode. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import define, frozen

from dfah_cli.execution.budget import taken_nusd
from dfah_cli.execution.ends import Lost, Raised, Returned
from dfah_cli.execution.events import EpisodeFinished
from dfah_cli.execution.outcome import Attempt
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.records.episode import NO_USAGE, Episode
from dfah_cli.records.keyed import DigestKey
from dfah_cli.redaction import MAX_ERROR_TEXT, redact, text_of

if TYPE_CHECKING:
    from dfah_cli.adapter.tape import Tapes


@frozen(kw_only=True)
class Settings:
    """Operational choices; none of them is part of the run's identity.

    budget_nusd: None means no limit. estimate_nusd: what an episode is expected to cost at most. parent: commitment of
    the run that this one succeeds. tapes: where tool results are recorded or come from; digest_key: under which digests
    are recorded; what both do to the records is identity, and stands in the plan.
    """

    concurrency: int = 1
    budget_nusd: int | None = None
    estimate_nusd: int = 0
    capture_arguments: bool = False
    parent: str | None = None
    tapes: Tapes | None = None
    digest_key: DigestKey | None = None


@define(kw_only=True)
class Tally:
    """What one session did. stop_reason: None when the schedule was worked through."""

    reused: int = 0
    calls: int = 0
    failed: int = 0
    interrupted: int = 0
    spent_nusd: int = 0
    stop_reason: str | None = None


@frozen
class Judged:
    """A judged episode whose terminal record is not durable yet. error_text: redacted, for the log only."""

    episode: Episode
    body: dict[str, Any]
    reserved_nusd: int
    error_text: str | None

    def finished(self) -> EpisodeFinished:
        """What the watcher is told once the record is durable."""
        episode = self.episode
        return EpisodeFinished(
            case_id=episode.case_id,
            replay_index=episode.replay_index,
            status=episode.status.value,
            cost_nusd=episode.cost_nusd,
            latency_us=episode.latency_us,
            tool_calls=len(episode.trajectory.tool_calls),
            reserved_nusd=self.reserved_nusd,
            error_kind=None if episode.error is None else episode.error.kind,
            error_text=self.error_text,
        )


def charged_nusd(attempt: Attempt, episode: Episode, reserved_nusd: int) -> int:
    """What an episode takes from the budget."""
    told = None if attempt.spent is None or episode.usage == NO_USAGE else episode.usage.provider_usage
    return taken_nusd(reserved_nusd, episode.cost_nusd, told, has_result=isinstance(attempt.outcome, Returned))


def error_text(attempt: Attempt, episode: Episode) -> str | None:
    """Redacted text of why an episode failed, for the log only; None when it did not.

    What was raised, where something was; for a tool the text of its failure, also when the agent has swallowed it.
    """
    if episode.error is None:
        return None
    outcome = attempt.outcome
    if isinstance(outcome, Lost):
        return outcome.how
    raised = text_of(outcome.problem) if isinstance(outcome, Raised) else ""
    if episode.status is EpisodeStatus.TOOL_ERROR and attempt.troubles:
        told = dict.fromkeys(attempt.troubles)
        # Most often it is the failure of the tool itself that the agent let through.
        others = () if not raised or any(one.startswith(raised) for one in told) else (raised,)
        return redact("; ".join((*told, *others)))[:MAX_ERROR_TEXT]
    return raised if isinstance(outcome, Raised) else episode.error.message
