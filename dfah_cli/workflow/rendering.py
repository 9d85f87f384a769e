"""A report as a file of some format; which renderer makes it is one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.evaluate import GateResult
from dfah_cli.gate.outcome import gate_view
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.render.json import json_text, report_document
from dfah_cli.render.junit import junit
from dfah_cli.render.markdown import markdown
from dfah_cli.render.within import COMMENT_BYTES, markdown_within
from dfah_cli.report.against import Against
from dfah_cli.report.details import CaseDetail, case_details
from dfah_cli.report.diagnosis import DiagnosisTable, diagnosis
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.view import ReportView, view_of

# Beyond this many cases a page holds the numbers of every case but not each replay's path.
MAX_DETAILED_CASES = 20_000


@frozen(kw_only=True)
class Rendered:
    """What a renderer may use. ineligible: (task, case id, reasons) of the cases that were not judged."""

    report: ReportColumns
    result: GateResult | None
    details: Sequence[CaseDetail]
    ineligible: Sequence[tuple[str, str, Sequence[str]]]
    against: Against | None = None
    diagnosis: tuple[DiagnosisTable, ...] = ()

    def view(self) -> ReportView:
        """The report as strings, with its gate."""
        return view_of(self.report, gate=gate_view(self.result), details=self.details, against=self.against,
                       diagnosis=self.diagnosis)  # fmt: skip


def _html(rendered: Rendered) -> str:
    from dfah_cli.render.html import html

    return html(rendered.view(), rendered.details)


def _markdown(rendered: Rendered) -> str:
    # The suite stays the same while an agent changes, so a later comment finds this one.
    key, view = rendered.report.suite_id, rendered.view()
    return markdown_within(view, COMMENT_BYTES, key=key) or markdown(view, key=key)


FORMATS: dict[str, Callable[[Rendered], str]] = {
    "html": _html,
    "md": _markdown,
    "junit": lambda rendered: junit(rendered.view(), rendered.ineligible),
    "json": lambda rendered: json_text(report_document(rendered.report, rendered.result, against=rendered.against)),
}

SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".xml": "junit", ".json": "json"}
FILE_NAMES = {"html": "report.html", "md": "report.md", "junit": "report.junit.xml", "json": "report.json"}


def format_of(path: Path) -> str:
    """The format a file name asks for.

    Raises: ConfigurationError naming the suffixes that are known.
    """
    found = SUFFIXES.get(path.suffix.lower())
    if found is None:
        raise ConfigurationError(f"{path}: no format for the suffix {path.suffix!r}; known: {', '.join(SUFFIXES)}")
    return found


def prepare(
    report: ReportColumns,
    result: GateResult | None,
    verified: VerifiedRun,
    measurement: RunMeasurement,
    against: Against | None = None,
) -> Rendered:
    """What the renderers need of a run; paths of single replays are there when verification kept examples."""
    details = tuple(case_details(verified.table)) if len(verified.table.groups) <= MAX_DETAILED_CASES else ()
    ineligible = [(group.task, group.case_id, group.reasons) for group in measurement.groups if not group.eligible]
    return Rendered(
        report=report,
        result=result,
        details=details,
        ineligible=ineligible,
        against=against,
        diagnosis=diagnosis(verified.table, measurement).tables if details and _has_paths(verified) else (),
    )


def _has_paths(verified: VerifiedRun) -> bool:
    return len(verified.table.examples) == len(verified.table.path_ids)


def render(rendered: Rendered, kind: str) -> str:
    """The text of one format."""
    return FORMATS[kind](rendered)
