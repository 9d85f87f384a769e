"""The parts of a report: agreement of a case, of a task, and why a group was not counted."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

from attrs import Attribute, field, frozen

from dfah_cli.errors import ValidationError
from dfah_cli.records import fields
from dfah_cli.records.enums import ChannelState, PathVariationKind

SHARE = fields.real(0.0, 1.0)
SLACK = 1e-12  # shares are rounded to floats once; the order of path levels holds up to this
EXACT = re.compile(r"-?[0-9]+(/[1-9][0-9]*)?")


def _channel(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    fields.instance_of(ChannelState)(instance, attribute, value)


@frozen(kw_only=True)
class TARReport:
    """Trajectory agreement on each level of path identity, in [0, 1].

    args, strong: None where arguments or results were not captured.
    """

    seq: float = field(converter=fields.to_float, validator=SHARE)
    bag: float = field(converter=fields.to_float, validator=SHARE)
    set: float = field(converter=fields.to_float, validator=SHARE)
    args: float | None = field(default=None, converter=fields.to_float, validator=fields.optional(SHARE))
    strong: float | None = field(default=None, converter=fields.to_float, validator=fields.optional(SHARE))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        known = [("set", self.set), ("bag", self.bag), ("seq", self.seq)]
        known += [(name, value) for name, value in (("args", self.args), ("strong", self.strong)) if value is not None]
        for (coarse, upper), (fine, lower) in pairwise(known):
            if lower > upper + SLACK:
                raise ValidationError(f"TARReport: {fine} is above {coarse}; a finer path identity cannot agree more")


@frozen(kw_only=True)
class Eligibility:
    """Whether a replay group may be counted, and what is known of its channels."""

    eligible: bool = field(validator=fields.flag)
    decision: ChannelState = field(converter=fields.to_channel_state, validator=_channel)
    trajectory: ChannelState = field(converter=fields.to_channel_state, validator=_channel)
    evidence: ChannelState = field(
        default=ChannelState.UNAVAILABLE, converter=fields.to_channel_state, validator=_channel
    )
    reasons: tuple[str, ...] = field(default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.name))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class EligibilityReasonCount:
    """How many replay groups one reason keeps from being counted; a group counts once for each of its reasons."""

    reason: str = field(validator=fields.name)
    groups: int = field(validator=fields.integer(1))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class PartialOrder:
    """What agreement is when calls that the suite declares parallel may swap: beside the strict numbers, never instead.

    parallel: the declared sets of tools. gap: DAR − tar.seq. None and 0 when no group is eligible. flagged_groups: one
    decision, and paths that differ in more than allowed swaps.
    """

    parallel: tuple[tuple[str, ...], ...] = field(converter=fields.to_tuples, validator=fields.name_sets)
    tar: TARReport | None = field(default=None, validator=fields.optional(fields.instance_of(TARReport)))
    gap: float | None = field(default=None, validator=fields.optional(fields.real(-1.0, 1.0)))
    flagged_groups: int = field(validator=fields.count)
    sequence_flagged_groups: int = field(validator=fields.count)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class ReplaySpread:
    """How far apart in time the replays of an eligible case started, first to last, in microseconds, over the cases.

    Replays sent together can share a batch, a cache or a backend, and then agree more than later ones would.
    """

    cases: int = field(validator=fields.integer(1))
    least_us: int = field(validator=fields.count)
    median_us: int = field(validator=fields.count)
    most_us: int = field(validator=fields.count)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


PARTIAL = fields.optional(fields.instance_of(TARReport))


@frozen(kw_only=True)
class CaseReport:
    """Agreement of one eligible case.

    tar.*: modal agreement of its paths. pairwise_*: chance that two of its replays agree. tar_partial_order: as tar,
    where calls declared parallel may swap; None when the suite declares none.
    """

    case_id: str = field(validator=fields.public_name)
    task: str = field(validator=fields.public_name)
    replay_count: int = field(validator=fields.integer(1))
    decision_denominator: int = field(validator=fields.count)
    trajectory_denominator: int = field(validator=fields.count)
    dar: float = field(converter=fields.to_float, validator=SHARE)
    tar: TARReport = field(validator=fields.instance_of(TARReport))
    gap: float = field(converter=fields.to_float, validator=fields.real(-1.0, 1.0))
    pairwise_decision: float | None = field(default=None, validator=fields.optional(SHARE))
    pairwise_strong: float | None = field(default=None, validator=fields.optional(SHARE))
    eligibility: Eligibility = field(validator=fields.instance_of(Eligibility))
    unanimous_with_sequence_change: bool = field(validator=fields.flag)
    unanimous_with_path_change: bool = field(validator=fields.flag)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    tar_partial_order: TARReport | None = field(default=None, validator=PARTIAL, metadata=fields.LATE)

    @property
    def path_variation_kind(self) -> PathVariationKind:
        """The coarsest level on which the paths of this case differ."""
        return variation_kind(self.tar)


def variation_kind(tar: TARReport) -> PathVariationKind:
    """The coarsest level that is below 1; levels that were not captured are read as equal."""
    for share, kind in (
        (tar.set, PathVariationKind.TOOL_SET),
        (tar.bag, PathVariationKind.MULTIPLICITY),
        (tar.seq, PathVariationKind.ORDER_ONLY),
        (tar.strong, PathVariationKind.ARGUMENT_OR_RESULT),
        (tar.args, PathVariationKind.ARGUMENT_OR_RESULT),
    ):
        if share is not None and share < 1.0:
            return kind
    return PathVariationKind.NONE


@frozen(kw_only=True)
class ExactShares:
    """DAR and TAR.seq as exact fractions ("7/10"), for a gate that must not round; None when nothing is eligible."""

    dar: str | None = field(default=None, validator=fields.optional(fields.matching(EXACT, "a fraction such as 7/10")))
    tar_seq: str | None = field(
        default=None, validator=fields.optional(fields.matching(EXACT, "a fraction such as 7/10"))
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    @property
    def dar_share(self) -> Fraction | None:
        return None if self.dar is None else Fraction(self.dar)

    @property
    def tar_seq_share(self) -> Fraction | None:
        return None if self.tar_seq is None else Fraction(self.tar_seq)

    @property
    def gap(self) -> Fraction | None:
        """DAR − TAR.seq; may be negative."""
        if self.dar is None or self.tar_seq is None:
            return None
        return Fraction(self.dar) - Fraction(self.tar_seq)


@frozen(kw_only=True)
class Ladder:
    """Where the agreement of two replays is lost: chances that add up to 1 − strong agreement; None when not captured.

    results: same arguments, other result or state. That is the environment, not the agent.
    """

    tools: float = field(validator=SHARE)
    count: float = field(validator=SHARE)
    order: float = field(validator=SHARE)
    arguments: float | None = field(default=None, validator=fields.optional(SHARE))
    results: float | None = field(default=None, validator=fields.optional(SHARE))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class TaskReport:
    """Plain means over the eligible cases of one represented task."""

    task: str = field(validator=fields.public_name)
    cases: int = field(validator=fields.integer(1))
    dar: float = field(validator=SHARE)
    tar: TARReport = field(validator=fields.instance_of(TARReport))
    gap: float = field(validator=fields.real(-1.0, 1.0))
    flagged_groups: int = field(validator=fields.count)
    ladder: Ladder = field(validator=fields.instance_of(Ladder))
    exact: ExactShares = field(validator=fields.instance_of(ExactShares))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    tar_partial_order: TARReport | None = field(default=None, validator=PARTIAL, metadata=fields.LATE)


@frozen(kw_only=True)
class MetricInterval:
    """Uncertainty of one number.

    metric: dar, tar.seq, gap, flags_per_100, pairwise.decision, …; task: None for the whole run. n counts `unit`s.
    scope: `suite` or `population`, what the interval speaks about. low_support: some task has fewer than four cases.
    """

    metric: str = field(validator=fields.name)
    task: str | None = field(default=None, validator=fields.optional(fields.public_name))
    low: float = field(validator=fields.real())
    high: float = field(validator=fields.real())
    level: float = field(validator=SHARE)
    method: str = field(validator=fields.name)
    n: int = field(validator=fields.count)
    unit: str = field(default="cases", validator=fields.name)
    scope: str = field(default="population", validator=fields.one_of("suite", "population"))
    low_support: bool = field(default=False, validator=fields.flag)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
