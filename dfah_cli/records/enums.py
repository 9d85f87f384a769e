"""Closed vocabularies of the records. Every value is the string that stands in artifacts."""

from __future__ import annotations

from enum import StrEnum


class ChannelState(StrEnum):
    """What is known about a channel; `unavailable` is never the same as `observed_empty`."""

    UNAVAILABLE = "unavailable"
    OBSERVED_EMPTY = "observed_empty"
    OBSERVED_NONEMPTY = "observed_nonempty"
    MALFORMED = "malformed"

    @property
    def observed(self) -> bool:
        return self in (ChannelState.OBSERVED_EMPTY, ChannelState.OBSERVED_NONEMPTY)


class EpisodeStatus(StrEnum):
    """How an episode ended; only `valid` ones can be eligible."""

    VALID = "valid"
    PARSE_FAILURE = "parse_failure"
    REFUSAL = "refusal"
    TOOL_ERROR = "tool_error"
    PROVIDER_ERROR = "provider_error"
    BUDGET_STOP = "budget_stop"
    INTERRUPTED = "interrupted"
    CONTRACT_ERROR = "contract_error"


class DispatchState(StrEnum):
    """How far an episode got towards the provider."""

    PLANNED = "planned"
    RESERVED = "reserved"
    DISPATCHING = "dispatching"
    RESPONDED = "responded"
    UNKNOWN_AFTER_DISPATCH = "unknown_after_dispatch"
    CAPTURED = "captured"
    COMPLETE = "complete"


class ReplayMode(StrEnum):
    """Whether a failing gate only reports (`shadow`) or also raises (`blocking`)."""

    SHADOW = "shadow"
    BLOCKING = "blocking"


class PathMode(StrEnum):
    """How much of a path takes part in its identity; each refines the one before it in `REFINEMENT`."""

    SET = "set"
    BAG = "bag"
    SEQ = "seq"
    ARGS = "args"
    STRONG = "strong"


REFINEMENT = (PathMode.SET, PathMode.BAG, PathMode.SEQ, PathMode.ARGS, PathMode.STRONG)


class PathVariationKind(StrEnum):
    """The coarsest level on which the paths of one case differ."""

    NONE = "none"
    ARGUMENT_OR_RESULT = "argument_or_result"
    ORDER_ONLY = "order_only"
    MULTIPLICITY = "multiplicity"
    TOOL_SET = "tool_set"


class ToolExecutionState(StrEnum):
    """What became of one requested tool call."""

    REQUESTED = "requested"
    REJECTED = "rejected"
    EXECUTED = "executed"
    ERROR = "error"


class ReportStatus(StrEnum):
    """`complete`: every planned episode is committed and eligible; `ineligible`: nothing was recorded."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    INELIGIBLE = "ineligible"


class ConformanceStatus(StrEnum):
    """Verdict of one conformance check; a skipped check is never a pass."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"
