"""What stands beside the headline numbers: partial order, time between replays, diagnosis."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.table import TableBuilder
from dfah_cli.render.html import html
from dfah_cli.render.inspection import case_document, case_facts, queue_row
from dfah_cli.render.json import report_document
from dfah_cli.render.markdown import markdown
from dfah_cli.report.companions import replay_spread
from dfah_cli.report.details import case_details
from dfah_cli.report.diagnosis import backends_sentence, diagnosis
from dfah_cli.report.record import Report
from dfah_cli.report.view import view_of
from dfah_cli.workflow.analyze import Analysis, analyze
from tests.builders import FIXED, a_scripted_agent, a_suite, replayed
from tests.metrics.build import a_table, add
from tests.report.build import a_report

SWAPPED = {"A": [("Y", "T U"), ("Y", "U T"), ("Y", "T U")], "B": [("Y", "T U"), ("Y", "T U"), ("Y", "T k U")]}


def a_swapping_run(folder: Path, parallel: Any = (("T", "U"),)) -> tuple[Report, Analysis]:
    suite = a_suite(tuple(SWAPPED), parallel=parallel)
    report = replayed(a_scripted_agent(SWAPPED, suite=suite), folder / "run")
    return report, analyze(folder / "run", keep_examples=True)


def test_a_declared_swap_counts_in_the_strict_number_only(tmp_path: Path) -> None:
    report, again = a_swapping_run(tmp_path)
    assert again.report == report
    assert report.partial_order is not None
    assert report.tar is not None
    assert report.partial_order.tar is not None
    assert (report.tar.seq, report.partial_order.tar.seq) == pytest.approx((2 / 3, 5 / 6))
    assert (report.flagged_groups, report.partial_order.flagged_groups) == (2, 1)
    beside = {case.case_id: case.tar_partial_order for case in report.case_reports}
    assert {case_id: tar and round(tar.seq, 3) for case_id, tar in beside.items()} == {"A": 1.0, "B": 0.667}
    (task,) = report.task_reports
    assert task.tar_partial_order == report.partial_order.tar
    assert "tar.seq.partial_order" in {interval.metric for interval in report.intervals}


def test_both_numbers_stand_side_by_side_in_every_form(tmp_path: Path) -> None:
    report, again = a_swapping_run(tmp_path)
    keys = [row.key for row in view_of(report).metrics]
    assert keys[1:3] == ["tar_seq", "tar_seq_partial_order"]
    shares = report_document(report)["tar_partial_order"]
    assert isinstance(shares, dict)
    assert shares["seq"] == pytest.approx(5 / 6)
    detail = next(iter(case_details(again.verified.table, ["A"])))
    case = report.case_reports[0]
    assert "tar_seq_partial_order=1.000 tar_strong_partial_order=1.000" in list(case_facts(detail, case))
    assert case_document(detail, case)["tar_partial_order"]["seq"] == 1.0


def test_tasks_and_the_review_queue_have_both_numbers(tmp_path: Path) -> None:
    report, _ = a_swapping_run(tmp_path)
    view = view_of(report)
    (task,) = view.tasks
    assert (task.tar_seq, task.seq_parallel) == ("0.667", "0.833")
    assert {case.case_id: (case.paths, case.paths_parallel) for case in view.cases} == {
        "A": ("2 of 3", "3 of 3"),
        "B": ("2 of 3", "2 of 3"),
    }
    assert [queue_row(case)["paths_partial_order"] for case in view.cases] == [c.paths_parallel for c in view.cases]


def test_tasks_and_the_review_queue_say_nothing_of_swaps_that_nobody_declared(tmp_path: Path) -> None:
    view = view_of(a_swapping_run(tmp_path, parallel=())[0])
    assert not view.parallel
    assert not any(task.seq_parallel for task in view.tasks)
    assert [queue_row(case)["paths_partial_order"] for case in view.cases] == [None, None]
    assert "parallel" not in markdown(view) + html(view).partition("<main>")[2].partition("<script>")[0]


def test_without_a_declaration_nothing_is_said_of_partial_order(tmp_path: Path) -> None:
    report, again = a_swapping_run(tmp_path, parallel=())
    assert report.partial_order is None
    assert "partial_order" not in report.content
    assert report_document(report)["tar_partial_order"] is None
    assert [row.key for row in view_of(report).metrics][1:3] == ["tar_seq", "gap"]
    detail = next(iter(case_details(again.verified.table, ["A"])))
    assert case_document(detail, report.case_reports[0])["tar_partial_order"] is None


def a_spread(*cases: list[float | None]) -> Any:
    builder = TableBuilder([("t", str(number)) for number in range(len(cases))])
    for group, starts in enumerate(cases):
        for index, second in enumerate(starts):
            add(builder, group, index, "Y", "a")
            if second is not None:
                builder.started(group, FIXED + timedelta(seconds=second))
    table = builder.build()
    return replay_spread(table, measure(table, replays=2))


def test_the_spread_is_from_the_first_to_the_last_start_of_a_case() -> None:
    found = a_spread([5.0, 1.5], [0.0, 10.0], [2.0, 3.0], [1.0, None])
    assert (found.cases, found.least_us, found.median_us, found.most_us) == (3, 1_000_000, 3_500_000, 10_000_000)


def test_unknown_starts_are_no_spread() -> None:
    assert a_spread([None, None]) is None
    assert view_of(a_report()).facts[7] == ("replays apart", "—")


def test_a_run_says_how_far_apart_its_replays_were(tmp_path: Path) -> None:
    report, _ = a_swapping_run(tmp_path)
    assert report.replay_spread is not None
    assert (report.replay_spread.cases, report.replay_spread.most_us) == (2, 0)


def test_the_diagnosis_names_causes_tools_and_paths() -> None:
    table = a_table({("t", "A"): [("Y", "T U"), ("Y", "U T"), ("Y", "T U")]}, keep_examples=True)
    found = diagnosis(table, measure(table, replays=3))
    assert [one.key for one in found.tables] == ["causes", "blame", "variants"]
    assert found.tables[0].rows[0] == ("1", "tool", "T", "2", "100 %")
    assert found.document["variants"][0] == {"path": ["T", "U"], "replays": 2, "cases": 1, "decisions": {"Y": 2}}
    assert found.document["backends"] is None


def test_the_diagnosis_says_whether_instability_comes_with_another_backend() -> None:
    builder = TableBuilder([("t", "A")], keep_examples=True)
    for index, (path, backend) in enumerate((("T", "m [a]"), ("T", "m [a]"), ("U", "m [b]"))):
        add(builder, 0, index, "Y", path)
        builder.served_by(backend)
    table = builder.build()
    found = diagnosis(table, measure(table, replays=3)).tables[-1]
    assert found.key == "backends"
    assert found.rows[-1] == ("pairs of two backends", "—", "1", "2 of 2", "0 of 2")
    assert "took one path in 1 of 1, pairs from two in 0 of 2" in found.title


def test_one_backend_for_each_case_says_that_nothing_can_coincide() -> None:
    none = {"pairs": 0, "decision": 0, "path": 0}
    assert "cannot coincide" in backends_sentence(same=none, different=none)
