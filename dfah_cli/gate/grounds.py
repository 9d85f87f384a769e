"""What a gate may look at beside the report: the cases themselves, a baseline, the day, the attempt. Pure."""

from __future__ import annotations

from datetime import date

import numpy as np
from attrs import field, frozen

from dfah_cli.metrics.case_values import CaseValues, Unknown, filled, ranges_at
from dfah_cli.metrics.paired import Measured
from dfah_cli.metrics.stopping import attempt_alpha
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.baseline import Baseline
from dfah_cli.report.cases import CaseReport
from dfah_cli.report.record import ReportColumns


@frozen(kw_only=True)
class Grounds:
    """measured: None for a report without its run. on: the day that waivers are held against; None: they all hold.

    tries: 1 for the first look at this gate that could have passed. prefix: (flagged, cases) counted in plan order,
    for `stop: anytime`; None: all cases of the report.
    """

    measured: Measured | None = None
    baseline: Baseline | None = None
    on: date | None = None
    tries: int = 1
    prefix: tuple[int, int] | None = field(default=None)


NONE = Grounds()


def alpha_spent(policy: GatePolicy, tries: int) -> float | None:
    """The error that this look may spend; None with point evidence, 0.0 when the attempts are used up.

    One attempt may spend everything; of several, attempt k spends the 2^k-th part.
    """
    if policy.evidence == "point":
        return None
    alpha, allowed = 1.0 - policy.confidence, policy.max_attempts or 1
    if tries > allowed:
        return 0.0
    return alpha if allowed == 1 else attempt_alpha(alpha, tries)


def level_at(policy: GatePolicy, tries: int) -> float | None:
    """Confidence of the bounds of this look; None when no bounds are asked for or no error is left to spend."""
    spent = alpha_spent(policy, tries)
    # Rounded: 1 − 0.05 must be the same level on every machine and in every text.
    return round(1.0 - spent, 12) if spent else None


def values_of(report: ReportColumns) -> CaseValues:
    """The counted cases of a report."""
    cases = report.case_reports
    return CaseValues(
        tasks=tuple(case.task for case in cases),
        cases=tuple(case.case_id for case in cases),
        numbers={
            "dar": np.array([case.dar for case in cases], dtype=np.float64),
            "tar_seq": np.array([case.tar.seq for case in cases], dtype=np.float64),
            "gap": np.array([case.gap for case in cases], dtype=np.float64),
            "flag": np.array([_may_be_flagged(case) for case in cases], dtype=np.float64),
        },
        ranges=ranges_at(report.replays_requested, len(report.manifest.decision_ontology)),
        replays=report.replays_requested,
    )


def _may_be_flagged(case: CaseReport) -> bool:
    # A path that was not captured in full proves no agreement of paths.
    return case.unanimous_with_path_change or (case.tar.strong is None and case.dar == 1.0)


def values_with(report: ReportColumns, measured: Measured, unknown: Unknown) -> CaseValues:
    """Every planned case of a run, with what could not be counted filled in."""
    return filled(measured.run, measured.table.groups, unknown, len(report.manifest.decision_ontology))
