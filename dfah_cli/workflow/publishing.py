"""Puts reports and gate records into a run, once each: what says the same is found again instead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dfah_cli.canonical import canonical_bytes, digest_bytes
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.record import GateRecord
from dfah_cli.records.codec import plain
from dfah_cli.report.file import recorded_text, report_text
from dfah_cli.report.record import Report
from dfah_cli.report.versions import FORMS, Form, as_of
from dfah_cli.store.protocol import RunWriter


def published_report(verified: VerifiedRun, report: Report, forms: Sequence[Form] = FORMS) -> int | None:
    """Ordinal of the newest report that says the same, the mode included, in any of the versions."""
    recorded = {body["sha256"]: body for body in verified.reports if body["commitment"] == verified.commitment}
    for form, spelled in product(forms, (recorded_text, report_text)) if recorded else ():
        body = recorded.get(digest_bytes(spelled(as_of(report, form)).encode()))
        if body is not None:
            ordinal: int = body["ordinal"]
            return ordinal
    return None


def publish(
    writer: RunWriter, verified: VerifiedRun, report: Report, gate: GateRecord | None
) -> tuple[int, int | None]:
    """Ordinals of report and gate record, each written when none says the same."""
    ordinal = published_report(verified, report)
    known = None if ordinal is None or gate is None else known_gate(verified, gate, ordinal)
    if ordinal is not None and (gate is None or known is not None):
        return ordinal, known
    # A new verdict names the digest of its report, so it needs the one of this version.
    ordinal = published_report(verified, report, FORMS[:1])
    if ordinal is None:
        ordinal = _publish_report(writer, verified, report)
    return ordinal, None if gate is None else _publish_gate(writer, gate, ordinal)


def _publish_report(writer: RunWriter, verified: VerifiedRun, report: Report) -> int:
    tail = writer.reader().tail()
    body = {"log_n": tail.n, "log_root": tail.root, "commitment": verified.commitment}
    return writer.publish_report(recorded_text(report).encode(), body)


def _publish_gate(writer: RunWriter, gate: GateRecord, report_ordinal: int) -> int:
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
