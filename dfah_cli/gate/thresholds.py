"""Every threshold of a policy on one screen: its check, its policy key, its direction, the exact number it looks at.

Pure. The order is the order of the checks.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from attrs import frozen

from dfah_cli.report.cases import TaskReport
from dfah_cli.report.record import ReportColumns

NUSD = 1_000_000_000


@frozen
class Threshold:
    """One number with a bound. observed: exact; None when nothing is eligible.

    per_case: the number of single cases behind it (`metrics.case_values`), times `scale`; None when it is no mean
    over cases, so that there is nothing to be confident about.
    """

    check: str
    key: str
    at_least: bool
    observed: Callable[[ReportColumns], Fraction | None]
    per_case: str | None = None
    scale: int = 1


@frozen
class TaskThreshold:
    """The same for one task."""

    check: str
    key: str
    at_least: bool
    observed: Callable[[TaskReport], Fraction | None]
    per_case: str | None = None
    scale: int = 1


def _per_group(count: int, report: ReportColumns) -> Fraction | None:
    return Fraction(count, report.observed_groups) if report.observed_groups else None


THRESHOLDS = (
    Threshold("dar", "min_dar", True, lambda r: r.exact.dar_share, "dar"),
    Threshold("tar_seq", "min_tar_seq", True, lambda r: r.exact.tar_seq_share, "tar_seq"),
    Threshold("gap", "max_gap", False, lambda r: r.exact.gap, "gap"),
    Threshold(
        "unanimous_with_path_change_rate",
        "max_unanimous_path_change_rate",
        False,
        lambda r: _per_group(r.flagged_groups, r),
        "flag",
    ),
    Threshold(
        "flags_per_100_cases",
        "max_flags_per_100_cases",
        False,
        lambda r: _per_group(100 * r.flagged_groups, r),
        "flag",
        100,
    ),
    Threshold(
        "cost_per_case_usd",
        "max_cost_per_case_usd",
        False,
        lambda r: Fraction(r.total_cost_nusd, NUSD * r.observed_groups) if r.observed_groups else None,
    ),
    Threshold(
        "eligible_fraction",
        "min_eligible_fraction",
        True,
        lambda r: Fraction(r.episodes_eligible, r.episodes_planned) if r.episodes_planned else Fraction(0),
    ),
)

TASK_THRESHOLDS = (
    TaskThreshold("dar", "min_dar", True, lambda t: t.exact.dar_share, "dar"),
    TaskThreshold("tar_seq", "min_tar_seq", True, lambda t: t.exact.tar_seq_share, "tar_seq"),
    TaskThreshold("gap", "max_gap", False, lambda t: t.exact.gap, "gap"),
    TaskThreshold(
        "unanimous_with_path_change_rate",
        "max_unanimous_path_change_rate",
        False,
        lambda t: Fraction(t.flagged_groups, t.cases),
        "flag",
    ),
)
