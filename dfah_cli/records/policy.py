"""Thresholds of a gate, and how much must be proven."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import Attribute, define, field, frozen

from dfah_cli.canonical import digest
from dfah_cli.errors import ValidationError
from dfah_cli.records import fields
from dfah_cli.records.codec import plain

if TYPE_CHECKING:
    from pathlib import Path

SHARE = fields.optional(fields.real(0.0, 1.0))
GAP = fields.optional(fields.real(-1.0, 1.0))


@frozen(kw_only=True)
class TaskGatePolicy:
    """Thresholds of one task; None means that the metric is not asked for."""

    task: str = field(validator=fields.public_name)
    min_dar: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    min_tar_seq: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    max_gap: float | None = field(default=None, converter=fields.to_float, validator=GAP)
    max_unanimous_path_change_rate: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    min_observed_groups: int = field(default=1, validator=fields.integer(1))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)


@frozen(kw_only=True)
class CaseGatePolicy:
    """What single cases must show. case: a pseudonym, or `*` for every case that has no rule of its own."""

    case: str = field(validator=fields.public_name)
    min_dar: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    min_tar_seq: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    max_gap: float | None = field(default=None, converter=fields.to_float, validator=GAP)
    allow_path_change: bool = field(default=True, validator=fields.flag)


def _day(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    try:
        known = type(value) is str and date.fromisoformat(value).isoformat() == value
    except ValueError:
        known = False
    if not known:
        raise fields.refuse(instance, attribute, fields.kind_of(value), 'a day such as "2026-12-31"')


@frozen(kw_only=True)
class Waiver:
    """Lifts the rules of one case, for a reason, up to and including a day. It changes no number."""

    case: str = field(validator=fields.public_name)
    reason: str = field(validator=fields.public_name)
    expires: str = field(validator=_day)

    def holds(self, on: date) -> bool:
        """Whether it has not expired."""
        return on <= date.fromisoformat(self.expires)


@frozen(kw_only=True)
class NonInferiorityPolicy:
    """The candidate must be proven not worse than a baseline by the margins or more.

    baseline: a run directory or a file of `dfah baseline accept`. dar, tar_seq: largest tolerated loss, as a share;
    flags_per_100: largest tolerated rise.
    """

    baseline: str = field(validator=fields.name)
    dar: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    tar_seq: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    flags_per_100: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 100.0))
    )

    def __attrs_post_init__(self) -> None:
        if not self.margins:
            raise ValidationError("NonInferiorityPolicy: found no margin; expected dar, tar_seq or flags_per_100")

    @property
    def margins(self) -> dict[str, float]:
        """Metric → margin as a share, of those that are asked for."""
        flags = None if self.flags_per_100 is None else self.flags_per_100 / 100
        named = {"dar": self.dar, "tar.seq": self.tar_seq, "flags": flags}
        return {name: margin for name, margin in named.items() if margin is not None}


def _unique(kind: type, key: str) -> Callable[[Any, Attribute[Any], Any], None]:
    def check(instance: Any, attribute: Attribute[Any], value: Any) -> None:
        fields.tuple_of(fields.instance_of(kind))(instance, attribute, value)
        names = [getattr(rule, key) for rule in value]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            found = f"a {key} that stands more than once ({twice!r})"
            raise fields.refuse(instance, attribute, found, f"one entry a {key}")

    return check


@define(kw_only=True, frozen=True, slots=False)
class GatePolicy:
    """Thresholds; None means that the metric is not asked for.

    evidence: `point` holds the measured number against a threshold, `confident` a one-sided bound of it.
    confidence: of that bound. at_replays: judge the numbers that so many replays would show (rarefaction).
    max_attempts: how often the gate may be tried; None is any number of times with point evidence and once with
    confident evidence. stop: whether a run may end before its plan does.
    """

    min_dar: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    min_tar_seq: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    max_gap: float | None = field(default=None, converter=fields.to_float, validator=GAP)
    max_unanimous_path_change_rate: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    max_flags_per_100_cases: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 100.0))
    )
    max_cost_per_case_usd: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0))
    )
    required_replays: int | None = field(default=None, validator=fields.optional(fields.integer(2)))
    min_eligible_fraction: float | None = field(default=None, converter=fields.to_float, validator=SHARE)
    min_observed_groups: int | None = field(default=None, validator=fields.optional(fields.integer(1)))
    require_complete: bool = field(default=True, validator=fields.flag)
    require_artifact_verification: bool = field(default=True, validator=fields.flag)
    by_task: tuple[TaskGatePolicy, ...] = field(
        default=(), converter=fields.to_tuple, validator=_unique(TaskGatePolicy, "task")
    )
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    evidence: str = field(default="point", validator=fields.one_of("point", "confident"), metadata=fields.LATE)
    confidence: float = field(
        default=0.95, converter=fields.to_float, validator=fields.real(0.5, 0.999999), metadata=fields.LATE
    )
    at_replays: int | None = field(
        default=None, validator=fields.optional(fields.integer(2, 1_000_000)), metadata=fields.LATE
    )
    non_inferiority: NonInferiorityPolicy | None = field(
        default=None, validator=fields.optional(fields.instance_of(NonInferiorityPolicy)), metadata=fields.LATE
    )
    by_case: tuple[CaseGatePolicy, ...] = field(
        default=(), converter=fields.to_tuple, validator=_unique(CaseGatePolicy, "case"), metadata=fields.LATE
    )
    waivers: tuple[Waiver, ...] = field(
        default=(), converter=fields.to_tuple, validator=_unique(Waiver, "case"), metadata=fields.LATE
    )
    max_attempts: int | None = field(
        default=None, validator=fields.optional(fields.integer(1, 1000)), metadata=fields.LATE
    )
    stop: str = field(
        default="never", validator=fields.one_of("never", "when-settled", "anytime"), metadata=fields.LATE
    )

    def __attrs_post_init__(self) -> None:
        if self.stop == "anytime" and (self.evidence != "confident" or not self._flag_rates_only):
            raise ValidationError(
                'GatePolicy.stop: "anytime" needs evidence: confident and a limit on flags alone '
                "(max_flags_per_100_cases or max_unanimous_path_change_rate); other bounds do not hold under peeking"
            )
        if self.stop == "when-settled" and (self.non_inferiority is not None or self.at_replays is not None):
            raise ValidationError(
                'GatePolicy.stop: "when-settled" cannot foresee non_inferiority or at_replays; use never'
            )

    @property
    def _flag_rates_only(self) -> bool:
        limits = (self.max_flags_per_100_cases, self.max_unanimous_path_change_rate)
        others = (self.min_dar, self.min_tar_seq, self.max_gap, self.non_inferiority, self.at_replays)
        return any(limit is not None for limit in limits) and not (
            self.by_task or self.by_case or any(other is not None for other in others)
        )

    @cached_property
    def sha256(self) -> str:
        """The policy digest: of all fields, nulls included; a field that came later only when it is not its default."""
        return digest(plain(self))

    @classmethod
    def load(cls, path: str | Path) -> GatePolicy:
        """A policy from a YAML or JSON file.

        Raises: ConfigurationError naming file, line and column.
        """
        from dfah_cli.loading.policies import load_policy

        return load_policy(path)
