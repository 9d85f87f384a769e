"""Whether a recorded report says what the evidence says: it is stated again and compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import Any

from attrs import evolve

from dfah_cli.canonical import parse
from dfah_cli.errors import ArtifactError, DFAHError
from dfah_cli.evidence.claims import Claim, Findings
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.versions import version_order
from dfah_cli.report.compare import differing
from dfah_cli.report.file import read_report, recorded
from dfah_cli.report.record import DetachedReport, Report
from dfah_cli.report.spelling import readable, says
from dfah_cli.report.versions import as_of, forms_of, stated_version

METRICS = (
    *("case_reports", "task_reports", "dar", "tar", "gap", "pairwise_decision", "pairwise_path", "exact", "intervals"),
    *("flagged_groups", "sequence_flagged_groups", "observed_groups", "ineligible_groups"),
    *("ineligibility_reasons", "episodes_eligible", "partial_order", "replay_spread"),
)
CLAIMS = {
    "run_plan_sha256": Claim.RUN_PLAN,
    "manifest": Claim.MANIFEST,
    "commitment": Claim.COMMITMENT,
    "episode_artifact_root_sha256": Claim.COMMITMENT,
    "episode_artifact_count": Claim.COMMITMENT,
    "total_cost_nusd": Claim.COST,
    "total_cost_usd": Claim.COST,
    "budget_exceeded": Claim.COST,
    "total_latency_us": Claim.LATENCY,
    "total_latency_ms": Claim.LATENCY,
    **dict.fromkeys(METRICS, Claim.METRICS),
}
"""The claim that a differing field of a report breaks; every other field breaks the claim `report`."""


def in_mode(report: Report, mode: ReplayMode) -> Report:
    """The same statement for another mode, which is no part of the evidence."""
    return report if report.mode is mode else evolve(report, mode=mode)


def recheck_report(body: Mapping[str, Any], payload: bytes, fresh: Report, findings: Findings) -> Report | None:
    """The report as stated afresh, in the mode and the version of the recorded one; None when they differ.

    body: the log record that announces the report; payload: its file; fresh: stated from the same evidence.
    """
    ordinal, name = body["ordinal"], f"reports/{body['ordinal']}.json"
    findings.checked(Claim.REPORT)
    findings.checked(Claim.METRICS, len(fresh.case_reports))
    findings.checked(Claim.COMMITMENT)
    if body["commitment"] != fresh.commitment:
        findings.fail(Claim.COMMITMENT, f"report {ordinal} is announced with another commitment than the episodes have")
    try:
        forms = forms_of(stated_version(payload), name)
    except ArtifactError as problem:
        findings.refused(problem)
        return None
    for form, mode in product(forms, ReplayMode):
        restated = in_mode(as_of(fresh, form), mode)
        for spelled in (recorded, readable):  # in full is how they were recorded at first
            if says(payload, spelled(restated)):
                return restated
    _tell_difference(ordinal, payload, [as_of(fresh, form) for form in forms], findings)
    return None


def check_order(reports: Mapping[int, Report], findings: Findings) -> None:
    """No report is of an earlier version than one before it: who wrote it could not have read that one."""
    for before, ordinal in pairwise(sorted(reports)):
        earlier, later = reports[before].schema_version, reports[ordinal].schema_version
        if version_order(later) < version_order(earlier):
            told = f"report {ordinal} has version {later}, and report {before} before it {earlier} already"
            findings.fail(Claim.REPORT, told)


def _tell_difference(ordinal: int, payload: bytes, expected: Sequence[Report], findings: Findings) -> None:
    name = f"reports/{ordinal}.json"
    try:
        told: DetachedReport = read_report(parse(payload, name), name)
    except DFAHError as problem:
        findings.fail(Claim.REPORT, str(problem))
        return
    for field in min((differing(told, report) for report in expected), key=len):
        if field != "mode":
            findings.fail(CLAIMS.get(field, Claim.REPORT), f"report {ordinal} and the evidence differ in {field}")
    findings.fail(Claim.REPORT, f"report {ordinal} does not say what the evidence says")
