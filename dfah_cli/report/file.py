"""The text of a report file, and back. The file carries the digest of everything else in it. Pure."""

from __future__ import annotations

from json import dumps

from dfah_cli.canonical import JSONValue, digest
from dfah_cli.errors import ArtifactError, DFAHError
from dfah_cli.records.codec import record
from dfah_cli.report.record import DetachedReport, ReportColumns

IDENTITY = ("report_id", "report_sha256")
DERIVED = ("total_cost_usd", "total_latency_ms")


def report_object(report: ReportColumns) -> dict[str, JSONValue]:
    """The report as it stands in files and in `--json`: its identity first, then every column."""
    return {"report_id": report.report_id, "report_sha256": report.report_sha256, **report.content}


def report_text(report: ReportColumns) -> str:
    """JSON a person can read: one key a line, one case a line, a final newline."""
    lines = [f"  {_compact(name)}: {_lines(value)}" for name, value in report_object(report).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: JSONValue) -> str:
    if isinstance(value, list) and value:
        return "[\n    " + ",\n    ".join(map(_compact, value)) + "\n  ]"
    return _compact(value)


def _compact(value: JSONValue) -> str:
    # Without indentation the encoder is the fast one; suites can have a hundred thousand cases.
    return dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_report(value: JSONValue, where: str) -> DetachedReport:
    """The report in a parsed file.

    Raises: ArtifactError when it is no report, or when any field was changed after it was stated.
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in IDENTITY):
        raise ArtifactError(f"{where}: found no report; expected the JSON of `dfah analyze RUN --json`")
    columns = {name: item for name, item in value.items() if name not in IDENTITY}
    found = digest(columns)
    if value["report_sha256"] != found or value["report_id"] != found[:32]:
        raise ArtifactError(f"{where}: the report does not match its digest. It was edited after it was stated")
    try:
        report = record(DetachedReport, {name: item for name, item in columns.items() if name not in DERIVED})
    except DFAHError as problem:
        raise ArtifactError(f"{where}: not a report of this format ({problem})") from None
    if report.report_sha256 != found:
        raise ArtifactError(f"{where}: the report's fields do not belong together")
    return report
