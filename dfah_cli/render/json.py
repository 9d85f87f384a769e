"""One JSON document on stdout. Pure."""

from __future__ import annotations

import json

from dfah_cli.canonical import JSONValue
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.records.codec import plain
from dfah_cli.render.comparison import against_object
from dfah_cli.report.against import Against
from dfah_cli.report.file import report_object
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.schema import FORMAT


def report_document(
    report: ReportColumns,
    result: GateResult | None = None,
    extra: dict[str, JSONValue] | None = None,
    against: Against | None = None,
) -> dict[str, JSONValue]:
    """The report as its file has it, with the gate, the comparison (null without one) and what a command adds."""
    return {
        "format": FORMAT,
        "report": report_object(report),
        "artifacts_verified": report.artifacts_verified,
        "flags_per_100_cases": report.flags_per_100_cases,
        "sequence_flags_per_100_cases": report.sequence_flags_per_100_cases,
        "tar_partial_order": None if report.partial_order is None else plain(report.partial_order.tar),
        "gate": None if result is None else plain(result) | {"verdict": str(result.verdict)},
        "comparison": None if against is None else against_object(against),
        **(extra or {}),
    }


def json_text(value: JSONValue) -> str:
    """Indented JSON with a final newline; ASCII only, so that every locale can write it."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
