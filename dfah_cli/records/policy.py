"""Thresholds of a gate."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import Attribute, define, field, frozen

from dfah_cli.canonical import digest
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


def _by_task(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    fields.tuple_of(fields.instance_of(TaskGatePolicy))(instance, attribute, value)
    if len({rule.task for rule in value}) != len(value):
        raise fields.refuse(instance, attribute, "a task that stands more than once", "one entry a task")


@define(kw_only=True, frozen=True, slots=False)
class GatePolicy:
    """Thresholds; None means that the metric is not asked for."""

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
    by_task: tuple[TaskGatePolicy, ...] = field(default=(), converter=fields.to_tuple, validator=_by_task)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    @cached_property
    def sha256(self) -> str:
        """The policy digest: of all fields, nulls included."""
        return digest(plain(self))

    @classmethod
    def load(cls, path: str | Path) -> GatePolicy:
        """A policy from a YAML or JSON file.

        Raises: ConfigurationError naming file, line and column.
        """
        from dfah_cli.loading.policies import load_policy

        return load_policy(path)
