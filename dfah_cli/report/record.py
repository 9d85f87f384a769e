"""The statement of a run. `report.state.state_report` makes a `Report`; a file alone gives a `DetachedReport`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from attrs import Attribute, define, field
from attrs import fields as fields_of

from dfah_cli.canonical import JSONValue
from dfah_cli.errors import ValidationError
from dfah_cli.records import fields
from dfah_cli.records.codec import plain
from dfah_cli.records.enums import PathVariationKind, ReplayMode, ReportStatus
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.tool_source import ToolSource
from dfah_cli.report.cases import (
    CaseReport,
    EligibilityReasonCount,
    ExactShares,
    MetricInterval,
    PartialOrder,
    ReplaySpread,
    TARReport,
    TaskReport,
)
from dfah_cli.report.conversion import to_mode, to_status
from dfah_cli.report.explain import CaseExplanation
from dfah_cli.report.spelling import report_digest
from dfah_cli.report.versions import CURRENT, VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

QUEUE_KINDS = (
    PathVariationKind.ARGUMENT_OR_RESULT,
    PathVariationKind.ORDER_ONLY,
    PathVariationKind.MULTIPLICITY,
    PathVariationKind.TOOL_SET,
)
SHARE = fields.optional(fields.real(0.0, 1.0))


def _tuple(kind: type) -> Any:
    return field(default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.instance_of(kind)))


def _nothing(instance: Any, attribute: Attribute[Any], value: Any) -> None:
    # A path would make equal evidence state different reports on two machines.
    if value is not None:
        raise fields.refuse(instance, attribute, fields.kind_of(value), "null: a report names no place")


@define(kw_only=True, frozen=True, slots=False)
class ReportColumns:
    """Everything a report says. Aggregates are None, never 0, when no replay group is eligible.

    dar, tar, gap: task-weighted, unitless. exact: DAR and TAR.seq unrounded. commitment: over the set of episodes,
    independent of the order in which they ended. created_at: time of the last recorded episode (None when there is
    none), so that equal evidence gives equal reports. tools: where tool results came from; None: the tools were called.
    digest_key_id: of the key that digests were recorded under. episodes_not_recorded: those that failed because a
    replayed recording had no result for a call. total_cost_nusd, total_latency_us: exact integers behind
    the floats. partial_order: None when the suite declares no calls parallel.
    """

    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    manifest: Manifest = field(validator=fields.instance_of(Manifest))
    status: ReportStatus = field(converter=to_status, validator=fields.instance_of(ReportStatus))
    replays_requested: int = field(validator=fields.integer(1))
    schedule_seed: int = field(validator=fields.integer(-(2**63), 2**64 - 1))
    sample_rate: float = field(converter=fields.to_float, validator=fields.real(0.0, 1.0, above=True))
    episode_timeout_s: float | None = field(default=None, validator=fields.optional(fields.real(0.0)))
    suite_cases_total: int = field(validator=fields.integer(1))
    cases_selected: int = field(validator=fields.integer(1))
    mode: ReplayMode = field(converter=to_mode, validator=fields.instance_of(ReplayMode))
    episodes_planned: int = field(validator=fields.count)
    episodes_completed: int = field(validator=fields.count)
    episodes_eligible: int = field(validator=fields.count)
    case_reports: tuple[CaseReport, ...] = _tuple(CaseReport)
    task_reports: tuple[TaskReport, ...] = _tuple(TaskReport)
    dar: float | None = field(default=None, validator=SHARE)
    tar: TARReport | None = field(default=None, validator=fields.optional(fields.instance_of(TARReport)))
    gap: float | None = field(default=None, validator=fields.optional(fields.real(-1.0, 1.0)))
    pairwise_decision: float | None = field(default=None, validator=SHARE)
    pairwise_path: TARReport | None = field(default=None, validator=fields.optional(fields.instance_of(TARReport)))
    exact: ExactShares = field(factory=ExactShares, validator=fields.instance_of(ExactShares))
    intervals: tuple[MetricInterval, ...] = _tuple(MetricInterval)
    total_cost_nusd: int = field(validator=fields.count)
    total_latency_us: int = field(validator=fields.count)
    budget_exceeded: bool = field(default=False, validator=fields.flag)
    flagged_groups: int = field(validator=fields.count)
    sequence_flagged_groups: int = field(validator=fields.count)
    observed_groups: int = field(validator=fields.count)
    ineligible_groups: int = field(validator=fields.count)
    ineligibility_reasons: tuple[EligibilityReasonCount, ...] = _tuple(EligibilityReasonCount)
    partial_reason: str | None = field(default=None, validator=fields.optional(fields.name))
    run_dir: str | None = field(default=None, validator=_nothing)
    commitment: str = field(validator=fields.digest64)
    episode_artifact_root_sha256: str = field(validator=fields.digest64)
    episode_artifact_count: int = field(validator=fields.count)
    run_plan_sha256: str = field(validator=fields.digest64)
    created_at: datetime | None = field(default=None, validator=fields.optional(fields.instance_of(datetime)))
    schema_version: str = field(default=CURRENT, validator=fields.one_of(*VERSIONS))
    tools: ToolSource | None = field(
        default=None, validator=fields.optional(fields.instance_of(ToolSource)), metadata=fields.LATE
    )
    digest_key_id: str | None = field(default=None, validator=fields.optional(fields.key_id), metadata=fields.LATE)
    episodes_not_recorded: int = field(default=0, validator=fields.count, metadata=fields.LATE)
    partial_order: PartialOrder | None = field(
        default=None, validator=fields.optional(fields.instance_of(PartialOrder)), metadata=fields.LATE
    )
    replay_spread: ReplaySpread | None = field(
        default=None, validator=fields.optional(fields.instance_of(ReplaySpread)), metadata=fields.LATE
    )

    def __attrs_post_init__(self) -> None:
        for name, value, exact in (
            ("dar", self.dar, self.exact.dar_share),
            ("tar.seq", None if self.tar is None else self.tar.seq, self.exact.tar_seq_share),
            ("gap", self.gap, self.exact.gap),
        ):
            if value != (None if exact is None else float(exact)):
                raise ValidationError(f"{type(self).__name__}.{name}: differs from its exact share")

    @cached_property
    def content(self) -> dict[str, JSONValue]:
        """All columns as a JSON object, without the report's own identity."""
        written: dict[str, JSONValue] = plain(self)
        written["total_cost_usd"], written["total_latency_ms"] = self.total_cost_usd, self.total_latency_ms
        return written

    @cached_property
    def report_sha256(self) -> str:
        """Digest of everything the report says; the file carries it."""
        return report_digest(self)

    @property
    def report_id(self) -> str:
        """The first 32 hex digits of the digest: equal evidence, equal id."""
        return self.report_sha256[:32]

    @property
    def total_cost_usd(self) -> float:
        """Dollars spent by all recorded episodes."""
        return self.total_cost_nusd / 1_000_000_000

    @property
    def total_latency_ms(self) -> float:
        """Milliseconds in all recorded adapter calls together."""
        return self.total_latency_us / 1000

    @property
    def metrics_available(self) -> bool:
        """Whether any replay group is eligible."""
        return self.observed_groups > 0

    @property
    def unanimous_with_path_change_rate(self) -> float | None:
        """Share of eligible groups, pooled over tasks, with one decision and more than one path."""
        return self.flagged_groups / self.observed_groups if self.observed_groups else None

    @property
    def flags_per_100_cases(self) -> float | None:
        """100 × flagged / eligible groups, pooled over tasks; a review load, not a correctness score."""
        return 100 * self.flagged_groups / self.observed_groups if self.observed_groups else None

    @property
    def sequence_flags_per_100_cases(self) -> float | None:
        """The same for the narrower trigger that sees only the sequence of tool names."""
        return 100 * self.sequence_flagged_groups / self.observed_groups if self.observed_groups else None

    @property
    def review_queue_breakdown(self) -> Mapping[PathVariationKind, int]:
        """Flagged cases by the kind of their variation; all four kinds, in a fixed order."""
        flagged = [case.path_variation_kind for case in self.case_reports if case.unanimous_with_path_change]
        return {kind: flagged.count(kind) for kind in QUEUE_KINDS}

    @property
    def eligible_fraction(self) -> float:
        """Eligible share of the planned episodes."""
        return self.episodes_eligible / self.episodes_planned if self.episodes_planned else 0.0

    @property
    def case_sampling_fraction(self) -> float:
        """Share of the suite's cases that was drawn."""
        return self.cases_selected / self.suite_cases_total

    @property
    def artifacts_verified(self) -> bool:
        """Whether this statement was made from verified evidence; decided by the class, not by a flag."""
        return False

    def compare(
        self,
        other: ReportColumns,
        *,
        allow_cross_manifest: bool = False,
        allow_cross_version: bool = False,
        allow_cross_tools: bool = False,
        allow_partial: bool = False,
        allow_unverified: bool = False,
    ) -> Mapping[str, float]:
        """dar, tar_seq, gap and flags_per_100_cases of this report minus the other's.

        Raises: SuiteVersionMismatchError, ManifestMismatchError, ArtifactError, EligibilityError.
        """
        from dfah_cli.report.compare import Allowances, difference

        allowed = Allowances(
            cross_manifest=allow_cross_manifest,
            cross_version=allow_cross_version,
            cross_tools=allow_cross_tools,
            partial=allow_partial,
            unverified=allow_unverified,
        )
        return difference(self, other, allowed)

    def to_json(self, path: str | Path | None = None) -> str:
        """The report file's text; also written to `path` when one is given."""
        from dfah_cli.report.file import report_text

        text = report_text(self)
        if path is not None:
            from dfah_cli.workflow.export import write_export

            write_export(path, text)
        return text

    def to_html(self, path: str | Path) -> None:
        """One self-contained page at `path`."""
        from dfah_cli.workflow.export import write_html

        write_html(path, self)

    def explain_case(self, run_dir: str | Path, case_id: str) -> CaseExplanation:
        """All replays of one case of a verified run directory, side by side, as hashes.

        Raises: ConfigurationError for a case this run does not have; ArtifactError.
        """
        from dfah_cli.workflow.analyze import explain_case

        return explain_case(run_dir, case_id, expected=self)

    def verify_artifacts(self, run_dir: str | Path) -> Report:
        """The report stated afresh from a run directory, when it equals this one in every field.

        Raises: ArtifactError naming the fields that differ.
        """
        from dfah_cli.report.compare import same_statement
        from dfah_cli.workflow.analyze import analyze

        return same_statement(self, analyze(run_dir, mode=self.mode).report)

    @classmethod
    def from_json(cls, path: str | Path, *, allow_unverified: bool = False) -> ReportColumns:
        """A run directory's report, stated afresh; or, with `allow_unverified`, a `DetachedReport` from a file.

        Raises: ArtifactError for a file without `allow_unverified`, or one whose digest does not match.
        """
        from dfah_cli.workflow.analyze import load_report

        return load_report(path, allow_unverified=allow_unverified)


@define(kw_only=True, frozen=True, slots=False)
class Report(ReportColumns):
    """The statement of a verified run; made by `report.state.state_report` only."""

    @property
    def artifacts_verified(self) -> bool:
        return True


@define(kw_only=True, frozen=True, slots=False)
class DetachedReport(ReportColumns):
    """The same columns read from a file alone: for looking at; a gate fails it by default."""

    @classmethod
    def of(cls, report: ReportColumns) -> Self:
        """A report without its evidence."""
        return cls(**{a.name: getattr(report, a.name) for a in fields_of(ReportColumns)})
