"""What is signed: an in-toto statement about a sealed run, in the words of the test-result predicate. Pure.

It says which checks of one policy passed on one set of episodes, and no more: nothing about correctness, and nothing
about runs that were not made. Source: in-toto attestation framework, Statement v1 and predicate test-result v0.1.
"""

from __future__ import annotations

from typing import Any

from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ConfigurationError
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.evaluate import GateCheck, Verdict
from dfah_cli.gate.record import GateRecord
from dfah_cli.report.record import Report

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
SCOPE = "repeatability of decisions and observable paths under this plan; not correctness"


def statement(run: VerifiedRun, report: Report, record: GateRecord, *, seal_sha256: str) -> bytes:
    """The statement about a sealed run and the verdict recorded on its final report; equal evidence gives equal bytes.

    Raises: ConfigurationError for a verdict that the predicate has no word for.
    """
    return canonical_bytes(
        {
            "_type": STATEMENT,
            "subject": subjects(run, report, seal_sha256),
            "predicateType": PREDICATE,
            "predicate": _predicate(run, report, record),
        }
    )


def subjects(run: VerifiedRun, report: Report, seal_sha256: str) -> list[dict[str, Any]]:
    """What the statement is about: the commitment over all episodes, the seal that publishes it, and the report."""
    return [
        {"name": f"dfah-cli/run/{run.plan.sha256}/commitment", "digest": {"sha256": run.commitment}},
        {"name": "seal.json", "digest": {"sha256": seal_sha256}},
        {"name": "report", "digest": {"sha256": report.report_sha256}},
    ]


def _predicate(run: VerifiedRun, report: Report, record: GateRecord) -> dict[str, Any]:
    checks, verdict = record.result.checks, record.result.verdict
    if verdict is Verdict.INCONCLUSIVE:
        raise ConfigurationError(
            "the gate is inconclusive, and a test result has only passed, warned and failed. Replay more, or gate the "
            "run with a policy that it decides"
        )
    return {
        "result": "PASSED" if verdict is Verdict.PASS else "FAILED",
        "configuration": [
            {"name": "run plan", "digest": {"sha256": run.plan.sha256}},
            {"name": "manifest", "digest": {"sha256": run.plan.manifest_hash}},
            {"name": "gate policy", "digest": {"sha256": record.policy_sha256}},
        ],
        "passedTests": [_told(check) for check in checks if check.passed],
        "warnedTests": [],
        "failedTests": [_told(check) for check in checks if not check.passed],
        "measured": {
            "scope": SCOPE,
            "episodes": run.episodes,
            "cases": report.cases_selected,
            "suite_cases_total": report.suite_cases_total,
            "replays": report.replays_requested,
            "status": str(report.status),
        },
    }


def _told(check: GateCheck) -> str:
    return f"gate/{check.name}"
