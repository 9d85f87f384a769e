"""Reports are spelled piece by piece and say exactly what the whole would."""

from __future__ import annotations

from json import dumps, loads

import pytest
from attrs import evolve

from dfah_cli.canonical import digest
from dfah_cli.report import spelling
from dfah_cli.report.file import report_object, report_text
from dfah_cli.report.spelling import readable, says
from tests.report.build import a_report


@pytest.mark.parametrize("at_once", [1, 2, 1024])
def test_a_report_in_pieces_has_the_digest_and_the_text_of_the_whole(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling, "AT_ONCE", at_once)
    report = a_report()
    first = report.case_reports[0]
    cases = (first, evolve(first, case_id='é"\\'), evolve(first, case_id="Z", gap=-0.0), *report.case_reports[1:])
    for stated in (report, evolve(report, case_reports=cases), evolve(report, case_reports=())):
        assert stated.report_sha256 == digest(stated.content)
        assert loads(report_text(stated)) == report_object(stated)
        lines = [dumps(case, ensure_ascii=False, separators=(",", ":")) for case in stated.content["case_reports"]]
        assert all(line in report_text(stated) for line in lines)


def test_one_other_byte_or_one_more_is_another_report() -> None:
    payload = report_text(a_report()).encode()
    assert says(payload, readable(a_report()))
    for other in (payload[:-1], payload + b"\n", payload.replace(b"gap", b"gab", 1)):
        assert not says(other, readable(a_report()))
