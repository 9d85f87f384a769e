from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.loading.replays import formats
from dfah_cli.loading.replays.collect import Configuration, collect, selection
from dfah_cli.metrics.measure import measure
from dfah_cli.records.enums import PathMode
from dfah_cli.workflow.measure import document, measure_files
from tests.loading.replays.lines import a_file, a_line


def collected(
    folder: Path, *lines: dict, by: str = "configuration_id", exclude: tuple[str, ...] = ()
) -> list[Configuration]:
    return list(collect([formats.read(a_file(folder, *lines))], by=by, wanted=selection([], exclude)))


def test_configurations_are_measured_apart(tmp_path: Path) -> None:
    lines = [a_line(configuration_id=c, model=c, replay_index=r) for c in ("y", "x") for r in (0, 1)]
    found = collected(tmp_path, *lines)
    assert [(c.configuration_id, c.models, len(c.table)) for c in found] == [("x", ("x",), 2), ("y", ("y",), 2)]


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for name in ("auto", "jsonl", "otlp"):
            with pytest.raises(ConfigurationError, match="no regular file"):
                formats.read(path, name)


@pytest.mark.parametrize("change", [{"model": "other"}, {"provider": "q"}, {"agent_version": "2"}])
def test_runs_of_different_agents_are_no_replays_of_one_case(tmp_path: Path, change: dict) -> None:
    with pytest.raises(ValidationError, match=r"line 2: another agent or model .* line 1"):
        collected(tmp_path, a_line(), a_line(replay_index=1, **change))


def test_a_repeated_replay_is_named_and_its_case_not_counted(tmp_path: Path) -> None:
    (found,) = collected(tmp_path, a_line(), a_line(), a_line(case_id="B"), a_line(case_id="B", replay_index=1))
    run = measure(found.table, replays=found.expected)
    assert run.reasons == (("duplicate_replay_index", 1),)
    assert [case.case_id for case in run.cases] == ["B"]


def test_order_of_lines_changes_no_number(tmp_path: Path) -> None:
    lines = [a_line(case_id=c, replay_index=r, decision=d) for c in "AB" for r, d in enumerate("xyx")]
    rows = []
    for order in (lines, lines[::-1]):
        (found,) = collected(tmp_path, *order)
        rows.append(sorted((case.case_id, case.dar, case.gap) for case in measure(found.table, replays=None).cases))
    assert rows[0] == rows[1]


def test_replays_can_be_kept_out_by_field(tmp_path: Path) -> None:
    lines = [a_line(task=task, replay_index=r) for task in ("a", "b") for r in (0, 1)]
    (found,) = collected(tmp_path, *lines, exclude=("task=b",))
    assert [key.task for key in found.table.groups] == ["a"]
    with pytest.raises(ConfigurationError, match="no replay is left"):
        collected(tmp_path, *lines, exclude=("task=a", "task=b"))


@pytest.mark.parametrize("word", ["task", "colour=red"])
def test_an_unknown_condition_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError, match="expected FIELD=VALUE"):
        selection([word], [])


def test_an_unknown_grouping_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected one of configuration_id"):
        collected(tmp_path, a_line(), by="colour")


def test_grouping_by_model_joins_files(tmp_path: Path) -> None:
    one = formats.read(a_file(tmp_path, a_line(), name="1.jsonl"))
    two = formats.read(a_file(tmp_path, a_line(replay_index=1), name="2.jsonl"))
    (found,) = collect([one, two], by="model")
    assert (found.configuration_id, len(found.table)) == ("m", 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "hello", "of no format that is recognised"),
        ("x.json", "[]", "of no format"),
        ("x.json", '{"a": 1}', "of no format"),
    ],
)
def test_an_unknown_file_is_refused_with_the_formats(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message) as caught:
        formats.read(path)
    assert "tau-bench" in str(caught.value)


def test_a_missing_file_and_a_foreign_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such file"):
        formats.read(tmp_path / "none")
    with pytest.raises(ConfigurationError, match="dfah analyze"):
        formats.read(tmp_path)
    with pytest.raises(ConfigurationError, match="did you mean 'jaeger'"):
        formats.read(a_file(tmp_path, a_line()), "jager")


SWAPS = [("T", "U"), ("U", "T")]


def swapping(**more: Any) -> list[dict]:
    return [a_line(replay_index=r, tool_calls=[{"name": n} for n in path], **more) for r, path in enumerate(SWAPS)]


def test_calls_that_the_data_declare_parallel_may_swap_beside_the_strict_number(tmp_path: Path) -> None:
    (found,) = measure_files([a_file(tmp_path, *swapping(parallel=[["U", "T"]]))]).configurations
    assert found.configuration.parallel == (("T", "U"),)
    assert found.loose is not None
    assert (found.run.tar[PathMode.SEQ], found.loose.tar[PathMode.SEQ]) == (Fraction(1, 2), 1)
    (bare,) = measure_files([a_file(tmp_path, *swapping())]).configurations
    assert bare.loose is None


@pytest.mark.parametrize("other", [None, [["T"]]])
def test_one_configuration_declares_one_set_of_parallel_calls(tmp_path: Path, other: Any) -> None:
    lines = swapping(parallel=[["T", "U"]])
    lines[1]["parallel"] = other
    with pytest.raises(ValidationError, match="line 2: parallel: other sets"):
        collected(tmp_path, *lines)


@pytest.mark.parametrize("wrong", [[[]], [["T", 3]], ["T"], "T", [[" "]]])
def test_parallel_is_arrays_of_tool_names(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(ValidationError, match="line 1: parallel"):
        collected(tmp_path, a_line(parallel=wrong))


def test_backends_and_starts_are_taken_where_they_are_recorded(tmp_path: Path) -> None:
    told = {"served_model": "m-1", "system_fingerprint": "fp"}
    lines = [a_line(replay_index=r, started_at=f"2026-01-31T09:00:0{r}Z", **told) for r in (0, 3)]
    (found,) = document(measure_files([a_file(tmp_path, *lines)]))["configurations"]
    assert found["replay_spread"] == {"cases": 1, "least_us": 3_000_000, "median_us": 3_000_000, "most_us": 3_000_000}
    assert [row["name"] for row in found["backends"]["rows"]] == ["m-1 [fp]"]
    (bare,) = document(measure_files([a_file(tmp_path, a_line(), a_line(replay_index=1))]))["configurations"]
    assert (bare["replay_spread"], bare["backends"], bare["tar_partial_order"]) == (None, None, None)


@pytest.mark.parametrize("wrong", ["yesterday", "2026-01-31T09:00:00"])
def test_a_start_without_an_offset_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ValidationError, match="line 1: started_at: expected a time with its offset"):
        collected(tmp_path, a_line(started_at=wrong))
