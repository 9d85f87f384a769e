"""The text of a report file, and back. The file carries the digest of everything else in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dfah_cli.canonical import JSONValue, digest
from dfah_cli.errors import ArtifactError, DFAHError
from dfah_cli.records.codec import plain, record
from dfah_cli.records.enums import ChannelState
from dfah_cli.records.fields import SCHEMA_VERSION
from dfah_cli.records.versions import known_version
from dfah_cli.report.cases import Eligibility
from dfah_cli.report.record import DetachedReport, ReportColumns
from dfah_cli.report.spelling import readable
from dfah_cli.report.versions import VERSIONS

IDENTITY = ("report_id", "report_sha256")
DERIVED = ("total_cost_usd", "total_latency_ms")
USUAL: Mapping[str, JSONValue] = {
    "eligibility": plain(
        Eligibility(eligible=True, decision=ChannelState.OBSERVED_NONEMPTY, trajectory=ChannelState.OBSERVED_NONEMPTY)
    ),
    "unanimous_with_sequence_change": False,
    "unanimous_with_path_change": False,
    "schema_version": SCHEMA_VERSION,
}
"""What a case says of itself where a recorded report leaves it out; so does the schema version of its `tar`."""


def report_object(report: ReportColumns) -> dict[str, JSONValue]:
    """The report as it stands in files and in `--json`: its identity first, then every column."""
    return {"report_id": report.report_id, "report_sha256": report.report_sha256, **report.content}


def report_text(report: ReportColumns) -> str:
    """JSON a person can read: one key a line, one case a line, a final newline."""
    return "".join(readable(report))


def recorded_text(report: ReportColumns) -> str:
    """The same for a run directory: a case leaves out what is `USUAL`, which is half of its line."""
    return "".join(recorded(report))


def recorded(report: ReportColumns) -> Iterator[str]:
    """`recorded_text` in pieces."""
    return readable(report, _shortened)


def _shortened(case: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    kept = {name: value for name, value in case.items() if name not in USUAL or value != USUAL[name]}
    tar: dict[str, JSONValue] = dict(case["tar"])
    del tar["schema_version"]
    return {**kept, "tar": tar}


def _completed(case: JSONValue) -> JSONValue:
    """The case of a file with what it left out; what is no case is left for its record to refuse."""
    if not isinstance(case, dict) or not isinstance(case.get("tar"), dict):
        return case
    return {**USUAL, **case, "tar": {"schema_version": SCHEMA_VERSION, **case["tar"]}}


def read_report(value: JSONValue, where: str) -> DetachedReport:
    """The report in a parsed file.

    Raises: ArtifactError when it is no report, or when any field was changed after it was stated; NewerVersionError.
    """
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in IDENTITY):
        raise ArtifactError(f"{where}: found no report; expected the JSON of `dfah analyze RUN --json`")
    known_version(value.get("schema_version"), VERSIONS, where)
    columns = {name: item for name, item in value.items() if name not in IDENTITY}
    if isinstance(columns.get("case_reports"), list):
        columns["case_reports"] = list(map(_completed, columns["case_reports"]))
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
