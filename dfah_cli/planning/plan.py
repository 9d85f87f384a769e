"""Suite, manifest and design -> the frozen run plan and its schedule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import digest, parse
from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.planning.schedule import BLOCKS, SHUFFLED, Schedule
from dfah_cli.planning.selection import sample, select
from dfah_cli.records import fields
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain, record
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_source import ToolSource

MAX_EPISODES = 100_000_000


@frozen(kw_only=True)
class Design:
    """How often, in which order and on which share of the cases; what the run plan hashes beside the manifest.

    only: pseudonyms to run; empty means all. limit: cut the selection after so many cases. schedule: `blocks` finishes
    whole cases early, as stopping early wants it. tools: where tool results come from, when not simply from the tools.
    digest_key_id: of the key that digests are recorded under; None for plain digests.
    """

    replays: int = field(default=3, validator=fields.integer(2, 1_000_000))
    seed: int = field(default=42, validator=fields.integer(-(2**63), 2**64 - 1))
    sample_rate: float = field(default=1.0, converter=fields.to_float, validator=fields.real(0.0, 1.0, above=True))
    episode_timeout_s: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1e7, above=True))
    )
    only: tuple[str, ...] = field(default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.name))
    limit: int | None = field(default=None, validator=fields.optional(fields.integer(1)))
    schedule: str = field(default=SHUFFLED, validator=fields.one_of(SHUFFLED, BLOCKS))
    tools: ToolSource | None = field(default=None, validator=fields.optional(fields.instance_of(ToolSource)))
    digest_key_id: str | None = field(default=None, validator=fields.optional(fields.name))

    def identity(self, manifest_hash: str) -> dict[str, Any]:
        """What the default directory name is derived from; a selection or another schedule only where there is one."""
        named: dict[str, Any] = {
            "manifest_hash": manifest_hash,
            "replays": self.replays,
            "seed": self.seed,
            "sample_rate": self.sample_rate,
            "episode_timeout_s": self.episode_timeout_s,
        }
        if self.only:
            named["only"] = sorted(set(self.only))
        if self.limit is not None:
            named["limit"] = self.limit
        if self.schedule != SHUFFLED:
            named["schedule"] = self.schedule
        if self.tools is not None:
            named["tools"] = plain(self.tools)
        if self.digest_key_id is not None:
            named["digest_key_id"] = self.digest_key_id
        return named


@frozen(kw_only=True)
class PlannedRun:
    """A run plan, its slots in dispatch order, and the selected cases by pseudonym."""

    plan: RunPlan
    schedule: Schedule
    cases: dict[str, Case]


def make_plan(suite: Suite, manifest: Manifest, design: Design) -> PlannedRun:
    """The frozen plan of one experiment.

    Raises: ManifestMismatchError when the manifest was made for another suite; ConfigurationError for a
    selection that names no case or a schedule beyond 100 million episodes.
    """
    manifest.check_suite(suite)
    chosen = select(sample(suite.cases, design.sample_rate, design.seed), design.only, design.limit)
    _check_size(chosen, design.replays)
    cases = {case.effective_case_id: case for case in chosen}
    case_tasks = {case_id: case.task for case_id, case in cases.items()}
    schedule = Schedule(case_tasks, design.replays, design.seed, design.schedule)
    plan = RunPlan(
        manifest_hash=manifest.hash,
        suite_id=suite.suite_id,
        suite_version=suite.suite_version,
        fixture_hash=suite.fixture_hash,
        tool_schema_hash=suite.tool_schema_hash,
        replays=design.replays,
        seed=design.seed,
        sample_rate=design.sample_rate,
        episode_timeout_s=design.episode_timeout_s,
        case_tasks=case_tasks,
        schedule_sha256=schedule.sha256(),
        suite_cases_total=len(suite.cases),
        episodes_planned=len(schedule),
        tools=design.tools,
        digest_key_id=design.digest_key_id,
        schedule=design.schedule,
        parallel=suite.parallel_sets,
    )
    return PlannedRun(plan=plan, schedule=schedule, cases=cases)


def _check_size(cases: Sequence[Case], replays: int) -> None:
    if len(cases) * replays > MAX_EPISODES:
        raise ConfigurationError(
            f"{len(cases)} cases x {replays} replays exceed {MAX_EPISODES} episodes; lower replays or sample_rate"
        )


def default_directory_name(manifest: Manifest, design: Design) -> str:
    """Name of the default run directory: slug of the suite id and 12 hex digits of the design."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", manifest.suite_id).strip("-.")[:48] or "run"
    return f"{slug}-{digest(design.identity(manifest.hash))[:12]}"


def plan_from_bytes(payload: bytes) -> RunPlan:
    """The run plan of a plan.json.

    Raises: ValidationError when the bytes are not the canonical form of a run plan.
    """
    plan = record(RunPlan, parse(payload, "plan.json"))
    if plan.encoded != payload:
        raise ValidationError("plan.json: not in canonical form")
    return plan


def differing_fields(one: RunPlan, other: RunPlan) -> list[str]:
    """Names of the identity fields in which two plans differ."""
    names = ("suite_id", "suite_version", "fixture_hash", "tool_schema_hash", "manifest_hash", "replays", "seed",
             "sample_rate", "episode_timeout_s", "tools", "digest_key_id", "case_tasks", "schedule", "parallel",
             "schedule_sha256", "suite_cases_total")  # fmt: skip
    return [name for name in names if getattr(one, name) != getattr(other, name)]
