"""Puts reports and gate records into a run, once each: what says the same is found again instead."""

from __future__ import annotations

from dfah_cli.canonical import canonical_bytes, digest_bytes
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.record import GateRecord
from dfah_cli.records.codec import plain
from dfah_cli.report.file import recorded_text, report_text
from dfah_cli.report.record import Report
from dfah_cli.store.protocol import RunWriter


def published_report(verified: VerifiedRun, report: Report) -> int | None:
    """Ordinal of the newest report that says the same, the mode included."""
    for spelled in (recorded_text, report_text) if verified.reports else ():
        told = digest_bytes(spelled(report).encode())
        for body in reversed(verified.reports):
            if body["sha256"] == told:
                ordinal: int = body["ordinal"]
                return ordinal
    return None


def publish_report(writer: RunWriter, verified: VerifiedRun, report: Report) -> int:
    """Ordinal of the report, written when none says the same."""
    known = published_report(verified, report)
    if known is not None:
        return known
    tail = writer.reader().tail()
    body = {"log_n": tail.n, "log_root": tail.root, "commitment": verified.commitment}
    return writer.publish_report(recorded_text(report).encode(), body)


def publish_gate(writer: RunWriter, verified: VerifiedRun, gate: GateRecord, report_ordinal: int) -> int:
    """Ordinal of the gate record, written when none says the same."""
    known = known_gate(verified, gate, report_ordinal)
    if known is not None:
        return known
    body = {
        "report": report_ordinal,
        "policy_sha256": gate.policy_sha256,
        "verdict": gate.result.verdict.value,
        "attempt": gate.attempt,
    }
    return writer.publish_gate(canonical_bytes(plain(gate)), body)


def known_gate(verified: VerifiedRun, gate: GateRecord, report_ordinal: int) -> int | None:
    """Ordinal of the record that says the same already; a waiver that expired meanwhile makes it say something else."""
    same = {"policy_sha256": gate.policy_sha256, "report": report_ordinal, "verdict": gate.result.verdict.value}
    for body in reversed(verified.gates):
        if all(body[key] == value for key, value in same.items()):
            return int(body["ordinal"])
    return None
