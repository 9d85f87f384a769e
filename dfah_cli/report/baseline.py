"""A pinned baseline: what a later run is held against, small enough to be reviewed, without private data. Pure.

Paths stand there as digests: two runs have equal ones exactly where their paths are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

from attrs import Attribute, define, field, frozen

from dfah_cli.canonical import digest
from dfah_cli.errors import EligibilityError
from dfah_cli.metrics.paired import Joint, Joints, Measured, decisions, joints
from dfah_cli.metrics.table import GroupKey
from dfah_cli.records import fields
from dfah_cli.records.codec import plain
from dfah_cli.records.tool_source import ToolSource, answering
from dfah_cli.report.compare import DIGEST_KEY, TOOL_RESULTS
from dfah_cli.report.record import ReportColumns

FORMAT = "dfah-baseline-1"
SHORT = 32


@frozen(kw_only=True)
class BaselineReplays:
    """How many replays reached one decision by one path. sequence, path: digests; path None = not captured."""

    decision: str = field(validator=fields.public_name)
    sequence: str = field(validator=fields.name)
    path: str | None = field(validator=fields.optional(fields.name))
    replays: int = field(validator=fields.integer(1))


@frozen(kw_only=True)
class BaselineCase:
    """One case. decision: its most frequent decisions, joined by ` | ` where they tie."""

    task: str = field(validator=fields.public_name)
    case_id: str = field(validator=fields.public_name)
    decision: str = field(validator=fields.public_name)
    seen: tuple[BaselineReplays, ...] = field(
        converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(BaselineReplays), 1)
    )


def _cases(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    fields.tuple_of(fields.instance_of(BaselineCase), 1)(instance, attribute, value)
    if len({(case.task, case.case_id) for case in value}) != len(value):
        raise fields.refuse(instance, attribute, "a case that stands more than once", "one entry a case")


@define(kw_only=True, frozen=True, slots=False)
class Baseline:
    """A run as far as another is compared with it. metrics: None where nothing was eligible or captured."""

    format: str = field(default=FORMAT, validator=fields.one_of(FORMAT))
    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    fixture_hash: str = field(validator=fields.digest64)
    tool_schema_hash: str = field(validator=fields.digest64)
    manifest_hash: str = field(validator=fields.digest64)
    run_plan_sha256: str = field(validator=fields.digest64)
    report_sha256: str = field(validator=fields.digest64)
    commitment: str = field(validator=fields.digest64)
    status: str = field(validator=fields.name)
    replays: int = field(validator=fields.integer(2))
    metrics: dict[str, Any] = field(converter=fields.to_json, validator=fields.json_map)
    cases: tuple[BaselineCase, ...] = field(converter=fields.to_tuple, validator=_cases)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    tools: ToolSource | None = field(
        default=None, validator=fields.optional(fields.instance_of(ToolSource)), metadata=fields.LATE
    )
    digest_key_id: str | None = field(default=None, validator=fields.optional(fields.key_id), metadata=fields.LATE)

    @cached_property
    def sha256(self) -> str:
        """Digest of everything it says; its file carries it."""
        return digest(plain(self))

    @cached_property
    def joints(self) -> Joints:
        """The cases in the form that is compared."""
        return {
            GroupKey(case.task, case.case_id): Counter(
                {(one.decision, one.sequence, one.path): one.replays for one in case.seen}
            )
            for case in self.cases
        }


def baseline_of(report: ReportColumns, measured: Measured) -> Baseline:
    """The baseline that a run is.

    Raises: EligibilityError when no case of it is eligible.
    """
    if not report.metrics_available:
        raise EligibilityError("the run has no eligible case, so there is nothing to hold another run against")
    return Baseline(
        suite_id=report.suite_id,
        suite_version=report.suite_version,
        fixture_hash=report.manifest.fixture_hash,
        tool_schema_hash=report.manifest.tool_schema_hash,
        manifest_hash=report.manifest.hash,
        run_plan_sha256=report.run_plan_sha256,
        report_sha256=report.report_sha256,
        commitment=report.commitment,
        status=str(report.status),
        replays=report.replays_requested,
        metrics={
            "dar": report.dar,
            "tar_seq": None if report.tar is None else report.tar.seq,
            "gap": report.gap,
            "flags_per_100_cases": report.flags_per_100_cases,
            "cases": report.observed_groups,
        },
        cases=tuple(_case(key, joint) for key, joint in sorted(named(measured).items())),
        tools=report.tools,
        digest_key_id=report.digest_key_id,
    )


def named(measured: Measured) -> Joints:
    """Replays per value in each eligible case, with paths as digests."""
    known: dict[Hashable, str] = {}
    return {key: _named(joint, known) for key, joint in joints(measured).items()}


def _named(joint: Joint, known: dict[Hashable, str]) -> Joint:
    counts: Joint = Counter()
    for (decision, sequence, path), count in joint.items():
        counts[decision, _digest(sequence, known), _digest(path, known)] += count
    return counts


def _digest(key: Hashable, known: dict[Hashable, str]) -> str | None:
    if key is None:
        return None
    if key not in known:
        # The finest identity is a digest already; a sequence is the tool names.
        known[key] = key.hex() if isinstance(key, bytes) else digest(plain(key))[:SHORT]
    return known[key]


def _case(key: GroupKey, joint: Joint) -> BaselineCase:
    counts = decisions(joint)
    top = max(counts.values())
    seen = sorted(joint.items(), key=lambda item: (-item[1], str(item[0])))
    return BaselineCase(
        task=key.task,
        case_id=key.case_id,
        decision=" | ".join(sorted(label for label, count in counts.items() if count == top)),
        seen=tuple(
            BaselineReplays(decision=value[0], sequence=str(value[1]), path=_text(value[2]), replays=count)
            for value, count in seen
        ),
    )


def _text(path: Hashable) -> str | None:
    return None if path is None else str(path)


def contract_problems(baseline: Baseline, report: ReportColumns) -> tuple[str, ...]:
    """In what a run and a baseline are not about the same cases, seen in the same way; empty when they are."""
    pairs: Mapping[str, tuple[object, object]] = {
        "suite": (baseline.suite_id, report.suite_id),
        "suite version": (baseline.suite_version, report.suite_version),
        "cases of the suite": (baseline.fixture_hash, report.manifest.fixture_hash),
        "tools": (baseline.tool_schema_hash, report.manifest.tool_schema_hash),
        TOOL_RESULTS: (answering(baseline.tools), answering(report.tools)),
        DIGEST_KEY: (baseline.digest_key_id, report.digest_key_id),
    }
    return tuple(name for name, (one, other) in pairs.items() if one != other)
