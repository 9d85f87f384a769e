"""Differences between two reports, after checking that they may be compared at all. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from dfah_cli.errors import (
    ArtifactError,
    ConfigurationError,
    EligibilityError,
    ManifestMismatchError,
    SuiteVersionMismatchError,
)
from dfah_cli.records.enums import ReportStatus
from dfah_cli.records.tool_source import ToolSource, answering, told
from dfah_cli.report.versions import as_of, forms_of

if TYPE_CHECKING:
    from dfah_cli.report.record import Report, ReportColumns


TOOL_RESULTS, DIGEST_KEY = "tool results", "digest key"


@frozen(kw_only=True)
class Allowances:
    """What a caller of `compare` explicitly accepts. cross_tools: tool results that come from different places."""

    cross_manifest: bool = False
    cross_version: bool = False
    cross_tools: bool = False
    partial: bool = False
    unverified: bool = False


class Seen(Protocol):
    """Anything that says how its episodes were observed."""

    @property
    def tools(self) -> ToolSource | None: ...
    @property
    def digest_key_id(self) -> str | None: ...


def check_seen_alike(one: Seen, other: Seen, *, cross_tools: bool) -> None:
    """Nothing, when both were observed in the same way.

    Raises: ManifestMismatchError. Digests under different keys can never be compared.
    """
    if one.digest_key_id != other.digest_key_id:
        ids = " and ".join(seen.digest_key_id or "no key" for seen in (one, other))
        raise ManifestMismatchError(
            f"the digests were recorded under different keys ({ids}): equal paths look different; use runs of one key"
        )
    if answering(one.tools) != answering(other.tools) and not cross_tools:
        places = f"one run: {told(one.tools)}; the other: {told(other.tools)}"
        raise ManifestMismatchError(
            f"the tool results come from different places ({places}), which alone changes every number; "
            "compare them all the same with --allow-cross-tools"
        )


def check_comparable(one: ReportColumns, other: ReportColumns, allowed: Allowances) -> None:
    """Nothing, when a difference of the two means something.

    Raises: ArtifactError, SuiteVersionMismatchError, ManifestMismatchError, ConfigurationError, EligibilityError.
    """
    if not allowed.unverified and not (one.artifacts_verified and other.artifacts_verified):
        raise ArtifactError("a report without its run directory is not evidence; compare the run directories")
    if one.suite_id != other.suite_id:
        raise ManifestMismatchError(f"the reports measure different suites: {one.suite_id} and {other.suite_id}")
    if one.suite_version != other.suite_version and not allowed.cross_version:
        raise SuiteVersionMismatchError(
            f"the reports measure suite versions {one.suite_version} and {other.suite_version}"
        )
    if one.manifest.hash != other.manifest.hash and not allowed.cross_manifest:
        raise ManifestMismatchError("the reports have different manifests: they measure two different agents")
    check_seen_alike(one, other, cross_tools=allowed.cross_tools)
    # Every number here moves when only the number of replays changes.
    if one.replays_requested != other.replays_requested:
        raise ManifestMismatchError(
            f"the reports have {one.replays_requested} and {other.replays_requested} replays; "
            "DAR, TAR, gap and flags are comparable only at equal replays"
        )
    if not allowed.partial and ReportStatus.COMPLETE not in (one.status, other.status):
        raise EligibilityError("neither report is complete; a comparison needs complete runs")
    if not allowed.partial and one.status is not other.status:
        raise EligibilityError("one report is not complete; a comparison needs complete runs")
    if not (one.metrics_available and other.metrics_available):
        raise EligibilityError("a report has no eligible replay group, so there is nothing to compare")


def difference(one: ReportColumns, other: ReportColumns, allowed: Allowances) -> Mapping[str, float]:
    """dar, tar_seq, gap and flags_per_100_cases, one minus other; exact until the last step."""
    check_comparable(one, other, allowed)
    pairs = {
        "dar": (one.exact.dar_share, other.exact.dar_share),
        "tar_seq": (one.exact.tar_seq_share, other.exact.tar_seq_share),
        "gap": (one.exact.gap, other.exact.gap),
    }
    found: dict[str, float] = {}
    for name, (mine, theirs) in pairs.items():
        assert mine is not None  # metrics are available
        assert theirs is not None
        found[name] = float(mine - theirs)
    mine_flags, their_flags = one.flags_per_100_cases, other.flags_per_100_cases
    assert mine_flags is not None
    assert their_flags is not None
    return found | {"flags_per_100_cases": mine_flags - their_flags}


def differing(stated: ReportColumns, fresh: ReportColumns) -> list[str]:
    """Names of the columns in which two reports differ, in their order."""
    one, other = stated.content, fresh.content
    return [name for name in {**other, **one} if one.get(name) != other.get(name)]


def same_statement(stated: ReportColumns, fresh: Report) -> Report:
    """The fresh report, when both say the same in the words of the version of `stated`.

    Raises: ArtifactError naming the fields that differ, never their values.
    """
    expected = [as_of(fresh, form) for form in forms_of(stated.schema_version, "the report")]
    if any(stated.report_sha256 == report.report_sha256 for report in expected):
        return fresh
    if stated.run_plan_sha256 != fresh.run_plan_sha256:
        raise ConfigurationError("the report belongs to another run plan than this run directory")
    fewest = min((differing(stated, report) for report in expected), key=len)
    raise ArtifactError(f"the report does not say what the evidence says: {', '.join(sorted(fewest))} differ")
