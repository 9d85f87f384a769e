"""Whether a recorded verdict follows from its policy and its report: the gate is applied again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import DFAHError, NewerVersionError
from dfah_cli.evidence.claims import Claim, Findings
from dfah_cli.gate.evaluate import Gate
from dfah_cli.gate.grounds import NONE, Grounds
from dfah_cli.gate.record import GateRecord, read_gate_record
from dfah_cli.records.codec import plain
from dfah_cli.report.record import Report


def recheck_gate(
    body: Mapping[str, Any],
    payload: bytes,
    reports: Mapping[int, Report],
    findings: Findings,
    grounds: Grounds = NONE,
) -> GateRecord | None:
    """The gate record; None when anything about it is wrong.

    body: the log record that announces it; payload: its file; reports: those that were stated afresh, by ordinal.
    grounds: what the log and the evidence at that time say; the day and the baseline are those of the record.
    """
    findings.checked(Claim.GATE)
    name = f"gates/{body['ordinal']}.json"
    try:
        recorded = read_gate_record(parse(payload, name), name)
    except NewerVersionError as problem:
        findings.refused(problem)
        return None
    except DFAHError as problem:
        findings.fail(Claim.GATE, f"{name}: {problem}")
        return None
    if canonical_bytes(plain(recorded)) != payload:
        findings.fail(Claim.GATE, f"{name}: not in canonical form")
        return None
    report = reports.get(body["report"])
    if report is None:
        findings.fail(Claim.GATE, f"{name}: judges report {body['report']}, which cannot be believed or is not there")
        return None
    broken = [field for field, same in _comparisons(body, recorded, report, grounds) if not same]
    if broken:
        findings.fail(Claim.GATE, f"{name}: {', '.join(broken)} cannot be derived from policy, report and log record")
    return None if broken else recorded


def _comparisons(
    body: Mapping[str, Any], recorded: GateRecord, report: Report, grounds: Grounds
) -> Iterator[tuple[str, bool]]:
    known = evolve(
        grounds,
        baseline=recorded.baseline,
        on=recorded.evaluated_at.date(),
        tries=recorded.tries,
        prefix=grounds.prefix if recorded.prefix else None,
    )
    yield "report_sha256", recorded.report_sha256 == report.report_sha256
    yield "manifest_hash", recorded.manifest_hash == report.manifest.hash
    yield "mode", recorded.mode is report.mode
    yield "policy_sha256", recorded.policy_sha256 == body["policy_sha256"]
    yield "attempt", recorded.attempt == body["attempt"]
    # More tries than the log shows only make the gate stricter.
    yield "tries", recorded.tries >= (1 if recorded.policy.require_complete else grounds.tries)
    yield "prefix", recorded.prefix == (known.prefix or ())
    yield "result", recorded.result == Gate(recorded.policy).evaluate(report, known)
    yield "verdict", recorded.result.verdict.value == body["verdict"]
