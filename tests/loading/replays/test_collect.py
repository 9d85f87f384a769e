from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.loading.replays import formats
from dfah_cli.loading.replays.collect import Configuration, collect, selection
from dfah_cli.metrics.measure import measure
from tests.loading.replays.lines import a_file, a_line


def collected(
    folder: Path, *lines: dict, by: str = "configuration_id", exclude: tuple[str, ...] = ()
) -> list[Configuration]:
    return list(collect([formats.read(a_file(folder, *lines))], by=by, wanted=selection([], exclude)))


def test_configurations_are_measured_apart(tmp_path: Path) -> None:
    lines = [a_line(configuration_id=c, model=c, replay_index=r) for c in ("y", "x") for r in (0, 1)]
    found = collected(tmp_path, *lines)
    assert [(c.configuration_id, c.models, len(c.table)) for c in found] == [("x", ("x",), 2), ("y", ("y",), 2)]


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
