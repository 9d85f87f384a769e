"""JUnit XML: one test case a suite case, never one a replay. Pure.

failure: the case is flagged or its decision changed; error: the case could not be judged. Gate checks are a suite of
their own. Validates against the schema that CI servers share (junit-10.xsd).
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from dfah_cli.render.text import escape
from dfah_cli.report.rows import CaseRow, GateRow
from dfah_cli.report.view import ReportView

Ineligible = Sequence[tuple[str, str, Sequence[str]]]


def junit(view: ReportView, ineligible: Ineligible = ()) -> str:
    """The document.

    ineligible: (task, case id, reasons) of the cases that were not judged.
    """
    root = Element("testsuites", name=f"dfah {xml_text(view.title)}")
    suites = [_cases(view, ineligible)] + ([_gate(view)] if view.checks else [])
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.extend(suites)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """User text without the characters XML 1.0 cannot hold: they are written as escapes."""
    return "".join(c if c in "\ufffd" or _allowed(c) else f"\\u{ord(c):04x}" for c in escape(text))


def _allowed(character: str) -> bool:
    point = ord(character)
    return 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000


def _suite(name: str, tests: int, failures: int, errors: int) -> Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    return Element("testsuite", {"name": name, **counts, "skipped": "0", "time": "0"})


def _cases(view: ReportView, ineligible: Ineligible) -> Element:
    failed = [case for case in view.cases if case.status != "stable"]
    suite = _suite(xml_text(view.title), len(view.cases) + len(ineligible), len(failed), len(ineligible))
    for case in view.cases:
        _case(suite, case)
    for task, case_id, reasons in ineligible:
        test = SubElement(suite, "testcase", _name(task, case_id))
        problem = SubElement(test, "error", message="not judged", type="ineligible")
        problem.text = ", ".join(map(xml_text, reasons))
    return suite


def _name(task: str, case_id: str) -> dict[str, str]:
    return {"classname": xml_text(task), "name": xml_text(case_id), "time": "0"}


def _case(suite: Element, case: CaseRow) -> None:
    test = SubElement(suite, "testcase", _name(case.task, case.case_id))
    if case.status == "stable":
        return
    failure = SubElement(
        test, "failure", message=f"{case.status}: {xml_text(case.decision)}", type=case.status.replace(" ", "_")
    )
    loose = f" ({case.paths_parallel} where parallel calls may swap)" if case.paths_parallel else ""
    failure.text = (
        f"DAR {case.dar}, TAR.seq {case.tar_seq}, TAR.strong {case.tar_strong}; {case.paths} replays on the most "
        f"frequent path{loose}; kind of variation: {case.kind}; parts at {xml_text(case.parts_at)}"
    )


def _gate(view: ReportView) -> Element:
    failed = [check for check in view.checks if check.verdict != "pass"]
    suite = _suite("gate", len(view.checks), len(failed), 0)
    for check in view.checks:
        test = SubElement(suite, "testcase", _name("gate", check.name))
        if check.verdict != "pass":
            failure = SubElement(test, "failure", message=_told(check), type=check.verdict)
            failure.text = _told(check)
    return suite


def _told(check: GateRow) -> str:
    return xml_text(f"{check.found} against {check.bound}")
