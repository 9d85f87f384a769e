"""What verification found, as rows for a screen and as one JSON value. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dfah_cli.evidence.claims import CheckResult
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.report.record import Report

COLUMNS = ("claim", "status", "detail")


def check_rows(checks: Sequence[CheckResult]) -> list[tuple[str, str, str]]:
    """One row a claim, in the order of the table."""
    return [(check.claim.value, check.status.value, check.detail) for check in checks]


def check_objects(checks: Sequence[CheckResult]) -> list[dict[str, str]]:
    """The same as JSON."""
    return [dict(zip(COLUMNS, row, strict=True)) for row in check_rows(checks)]


def run_facts(run: VerifiedRun, report: Report) -> dict[str, Any]:
    """What a believed run is known by."""
    return {
        "run_plan_sha256": run.plan.sha256,
        "manifest_hash": run.plan.manifest_hash,
        "suite": f"{run.plan.suite_id} {run.plan.suite_version}",
        "status": str(report.status),
        "episodes": run.episodes,
        "episodes_planned": run.plan.episodes_planned,
        "episode_root": run.episode_root,
        "commitment": run.commitment,
        "closed": run.closed,
        "report_sha256": report.report_sha256,
    }
