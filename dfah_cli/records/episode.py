"""What an adapter returns, and the terminal record of one slot."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import field, frozen

from dfah_cli.records import fields
from dfah_cli.records.enums import DispatchState, EpisodeStatus
from dfah_cli.records.money import cost_nusd, usd
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.records.wire import WireRequest


@frozen(kw_only=True)
class Usage:
    """Token counts of one episode; each an integer of at least 0."""

    input_tokens: int = field(default=0, validator=fields.count)
    output_tokens: int = field(default=0, validator=fields.count)
    cached_input_tokens: int = field(default=0, validator=fields.count)
    reasoning_tokens: int = field(default=0, validator=fields.count)
    provider_usage: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.public_json_map)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


NO_USAGE = Usage()
# In `provider_usage`: requests whose answer never came or told no usage, so that nobody knows what they cost.
UNMETERED = "unmetered_requests"
# In `provider_usage`: requests that had an answer already and were asked again, word for word.
ASKED_AGAIN = "repeated_requests"


@frozen(kw_only=True)
class Spent:
    """What an episode has used when it ends without a result. cost_usd: dollars, finite, at least 0."""

    usage: Usage = field(default=NO_USAGE, validator=fields.instance_of(Usage))
    cost_usd: float = field(default=0.0, converter=fields.to_float, validator=fields.real(0.0, 9_000_000.0))
    provider_response_id: str | None = field(default=None, validator=fields.optional(fields.public_name))

    @property
    def cost_nusd(self) -> int:
        """The cost in nano-dollars."""
        return cost_nusd(self.cost_usd)


@frozen(kw_only=True)
class AgentResult:
    """What an adapter returns for one case.

    output_text: parsed for the decision, never persisted.
    cost_usd: dollars, finite, at least 0.
    refused: the provider declined to answer; the episode becomes `refusal`.
    """

    output_text: str = field(validator=fields.prose)
    trajectory: Trajectory = field(validator=fields.instance_of(Trajectory))
    wire_request: WireRequest = field(validator=fields.instance_of(WireRequest))
    usage: Usage = field(default=NO_USAGE, validator=fields.instance_of(Usage))
    cost_usd: float = field(default=0.0, converter=fields.to_float, validator=fields.real(0.0, 9_000_000.0))
    provider_response_id: str | None = field(default=None, validator=fields.optional(fields.public_name))
    raw_capture_hash: str | None = field(default=None, validator=fields.optional(fields.digest64))
    refused: bool = field(default=False, validator=fields.flag)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class Decision:
    """A normalized label and how sure its source was; None when the source does not say."""

    label: str = field(validator=fields.name)
    confidence: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1.0))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class ParseProvenance:
    """How the decision was read from the output.

    raw_span: the accepted marker in its normal spelling; None when nothing was accepted.
    reason: why nothing was accepted: no_marker, several_markers, unknown_label, not_parsed; None when accepted.
    """

    strategy: str = field(validator=fields.one_of("strict_marker", "typed_output", "none"))
    raw_span: str | None = field(default=None, validator=fields.optional(fields.name))
    confidence: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1.0))
    )
    fallback: bool = field(default=False, validator=fields.flag)
    accepted: bool = field(default=False, validator=fields.flag)
    reason: str | None = field(default=None, validator=fields.optional(fields.name))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


NOT_PARSED = ParseProvenance(strategy="none", reason="not_parsed")


@frozen(kw_only=True)
class EpisodeError:
    """Why an episode is not valid, without any text of the user's: a kind and a fixed sentence."""

    kind: str = field(validator=fields.name)
    message: str = field(validator=fields.name)
    retryable: bool = field(default=False, validator=fields.flag)
    dispatch_state: DispatchState = field(
        default=DispatchState.COMPLETE,
        converter=fields.to_dispatch_state,
        validator=fields.instance_of(DispatchState),
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class Episode:
    """Terminal record of one slot. Money is in nano-dollars and time in microseconds; both are integers."""

    episode_id: str
    manifest_hash: str
    suite_id: str
    suite_version: str
    case_id: str
    task: str
    replay_index: int
    status: EpisodeStatus
    dispatch_state: DispatchState = DispatchState.COMPLETE
    decision: Decision | None = None
    parse: ParseProvenance = NOT_PARSED
    trajectory: Trajectory
    wire_request: WireRequest | None = None
    usage: Usage = NO_USAGE
    cost_nusd: int = field(default=0, validator=fields.count)
    latency_us: int = field(default=0, validator=fields.count)
    started_at: datetime
    ended_at: datetime
    provider_response_id: str | None = None
    error: EpisodeError | None = None
    schema_version: str = fields.SCHEMA_VERSION

    @property
    def valid(self) -> bool:
        """Whether decision, observed trajectory and wire echo are all there and nothing went wrong."""
        return (
            self.status is EpisodeStatus.VALID
            and self.decision is not None
            and self.parse.accepted
            and self.trajectory.state.observed
            and self.wire_request is not None
            and self.error is None
        )

    @property
    def cost_usd(self) -> float:
        """Cost in dollars."""
        return usd(self.cost_nusd)

    @property
    def latency_ms(self) -> float:
        """Wall time of the adapter call in milliseconds."""
        return self.latency_us / 1000
