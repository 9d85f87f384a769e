import json
from collections.abc import Callable
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError
from dfah_cli.evidence.claims import Findings
from dfah_cli.report.file import read_report, recorded_text, report_text
from dfah_cli.report.recheck import recheck_report
from dfah_cli.report.record import DetachedReport, Report
from tests.report.build import a_report


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, (*path, key))] or [path]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*path, index))] or [path]
    return [path]


def edited(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return "x"


def test_a_report_comes_back_as_the_same_statement_of_another_class() -> None:
    report = a_report()
    back = read_report(json.loads(report_text(report)), "report.json")
    assert back.report_sha256 == report.report_sha256
    assert back.case_reports == report.case_reports
    assert isinstance(back, DetachedReport)
    assert not isinstance(back, Report)
    assert (report.artifacts_verified, back.artifacts_verified) == (True, False)


def test_a_recorded_report_is_the_same_statement_in_fewer_bytes() -> None:
    report = a_report()
    recorded = recorded_text(report)
    assert read_report(json.loads(recorded), "1.json") == read_report(json.loads(report_text(report)), "report.json")
    assert len(recorded) < len(report_text(report))
    cases = zip(json.loads(recorded)["case_reports"], report.case_reports, strict=True)
    told = [("unanimous_with_path_change" in written, case.unanimous_with_path_change) for written, case in cases]
    assert {written is flagged for written, flagged in told} == {True}
    assert {flagged for _, flagged in told} == {True, False}


@pytest.mark.parametrize("spelled", [recorded_text, report_text])
def test_a_report_recorded_in_either_spelling_is_believed(spelled: Callable[[Report], str]) -> None:
    report, findings = a_report(), Findings()
    body = {"ordinal": 1, "commitment": report.commitment}
    assert recheck_report(body, spelled(report).encode(), report, findings) == report
    assert not findings.failed


@pytest.mark.parametrize("spelled", [recorded_text, report_text])
def test_no_field_of_the_file_can_be_edited(spelled: Callable[[Report], str]) -> None:
    text = spelled(a_report())
    survivors = []
    for path in leaves(json.loads(text)):
        value = json.loads(text)
        holder = value
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = edited(holder[path[-1]])
        try:
            read_report(value, "report.json")
        except ArtifactError:
            continue
        survivors.append(path)
    assert survivors == []


@pytest.mark.parametrize("value", [None, [], {}, {"report_id": "x"}, {"report_id": 1, "report_sha256": 2}])
def test_what_is_no_report_is_refused(value: Any) -> None:
    with pytest.raises(ArtifactError, match="found no report"):
        read_report(value, "report.json")


def test_a_missing_key_is_refused() -> None:
    value = json.loads(report_text(a_report()))
    del value["dar"]
    with pytest.raises(ArtifactError, match="does not match its digest"):
        read_report(value, "report.json")
