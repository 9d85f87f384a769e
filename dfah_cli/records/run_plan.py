"""The frozen experiment: manifest, design, cases, schedule digest."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from attrs import Attribute, define, field, frozen

from dfah_cli.canonical import canonical_bytes, digest, digest_bytes
from dfah_cli.records import fields
from dfah_cli.records.codec import plain
from dfah_cli.records.tool_source import ToolSource


@frozen
class Slot:
    """One (case, replay index) of the schedule; `case_id` is the pseudonym."""

    case_id: str
    task: str
    replay_index: int


def episode_key(manifest_hash: str, case_id: str, replay_index: int) -> str:
    """Identity of an episode: 64 hex digits; its first 32 are the episode id."""
    return digest({"manifest_hash": manifest_hash, "case_id": case_id, "replay_index": replay_index})


def idempotency_key(manifest_hash: str, case_id: str, replay_index: int) -> str:
    """The key an adapter may hand to its provider; 64 hex digits."""
    return digest({"manifest": manifest_hash, "case": case_id, "replay": replay_index})


def _case_tasks(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    fields.json_map(instance, attribute, value)
    if not value:
        raise fields.refuse(instance, attribute, "no case", "at least one")
    for name in (*value, *value.values()):
        fields.name(instance, attribute, name)


@define(kw_only=True, frozen=True, slots=False)
class RunPlan:
    """What will be run; its digest is the identity of the experiment and never contains a machine, path or price.

    case_tasks: pseudonym to task, of the selected cases only.
    sample_rate: share of the suite's cases that was drawn, above 0 and at most 1.
    episode_timeout_s: seconds; None means no limit.
    schedule: how the slots were mixed. tools: where tool results come from; None when the tools are simply called.
    digest_key_id: of the key that digests are recorded under. These three stand in the plan only where they are not
    the default.
    parallel: sets of tools whose calls may swap, as the suite declares them, sorted; stands there only when declared.
    """

    event: str = field(default="run_plan", validator=fields.one_of("run_plan"))
    manifest_hash: str = field(validator=fields.digest64)
    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    fixture_hash: str = field(validator=fields.digest64)
    tool_schema_hash: str = field(validator=fields.digest64)
    replays: int = field(validator=fields.integer(2, 1_000_000))
    seed: int = field(validator=fields.integer(-(2**63), 2**64 - 1))
    sample_rate: float = field(converter=fields.to_float, validator=fields.real(0.0, 1.0, above=True))
    episode_timeout_s: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1e7, above=True))
    )
    case_tasks: dict[str, Any] = field(converter=fields.to_json, validator=_case_tasks)
    schedule_sha256: str = field(validator=fields.digest64)
    suite_cases_total: int = field(validator=fields.integer(1))
    episodes_planned: int = field(validator=fields.integer(1))
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    schedule: str = field(default="shuffled", validator=fields.one_of("shuffled", "blocks"), metadata=fields.LATE)
    tools: ToolSource | None = field(
        default=None, validator=fields.optional(fields.instance_of(ToolSource)), metadata=fields.LATE
    )
    digest_key_id: str | None = field(default=None, validator=fields.optional(fields.key_id), metadata=fields.LATE)
    parallel: tuple[tuple[str, ...], ...] = field(
        default=(), converter=fields.to_tuples, validator=fields.name_sets, metadata=fields.LATE
    )

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of plan.json."""
        return canonical_bytes(plain(self))

    @cached_property
    def sha256(self) -> str:
        """The run plan digest."""
        return digest_bytes(self.encoded)
