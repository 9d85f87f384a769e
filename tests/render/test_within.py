"""Markdown that fits where it goes."""

from __future__ import annotations

from functools import cache

import pytest
from attrs import evolve

from dfah_cli.metrics.measure import measure
from dfah_cli.render.markdown import BRIEF, markdown
from dfah_cli.render.within import LEAST_FIRST, markdown_within
from dfah_cli.report.diagnosis import diagnosis
from dfah_cli.report.view import ReportView, view_of
from dfah_cli.workflow.rendering import Rendered, render
from tests.metrics.build import a_table
from tests.report.build import FLAGS, a_report


@cache
def a_view() -> ReportView:
    table = a_table(FLAGS, keep_examples=True)
    return view_of(a_report(), diagnosis=diagnosis(table, measure(table, replays=3)).tables)


def test_what_fits_is_whole_and_says_nothing_of_room() -> None:
    assert markdown_within(a_view(), 100_000) == markdown(a_view())
    assert "Too long" not in markdown(a_view())


def test_a_smaller_room_loses_more_and_never_the_verdict() -> None:
    whole, least = markdown(a_view()), len(markdown(evolve(a_view(), diagnosis=(), tasks=(), attention=0)).encode())
    for room in range(least + 150, len(whole.encode()), 61):
        text = markdown_within(a_view(), room)
        assert text is not None
        assert len(text.encode()) <= room
        assert a_view().sentence in text
        assert "Too long for this place: the diagnosis" in text


def test_only_what_the_report_had_is_named_as_left_out() -> None:
    view = evolve(a_view(), diagnosis=(), checks=(), against=None)
    text = markdown_within(view, len(markdown(view).encode()) - 1)
    assert text is not None
    assert "Too long for this place: the tasks. " in text


def test_no_room_for_the_verdict_is_no_summary() -> None:
    assert markdown_within(a_view(), 200) is None
    assert LEAST_FIRST[-1][0] == "the comparison"


def test_in_brief_the_first_rows_stand_there_and_the_first_table_is_open() -> None:
    text = markdown(a_view(), brief=True)
    assert text.count("<details open>") == 1
    variants = text.partition("Paths by tool names")[2].partition("</details>")[0]
    assert variants.count("\n| ") - 2 == BRIEF
    assert "… 2 more" in variants


@pytest.mark.parametrize("brief", [True, False])
def test_numbers_of_a_diagnosis_are_plain_and_names_are_code(brief: bool) -> None:
    assert "| 1 | `tool` | `T` | 4 | 67 % |" in markdown(a_view(), brief=brief)


def test_a_report_of_thousands_of_tasks_can_still_be_a_comment() -> None:
    report = a_report()
    tasks = tuple(evolve(report.task_reports[0], task=f"task-{number:04}") for number in range(3000))
    report = evolve(report, task_reports=tasks)
    text = render(Rendered(report=report, result=None, details=(), ineligible=()), "md")
    assert len(text) < 65_536
    assert "Too long for this place: the tasks." in text
