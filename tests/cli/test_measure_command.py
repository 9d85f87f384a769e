from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from click.testing import CliRunner, Result

from dfah_cli.cli.commands.measure import _interval, measure
from tests.loading.replays.lines import a_file, a_line


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(measure, list(arguments), standalone_mode=False)


def replays(folder: Path) -> str:
    lines = [a_line(case_id=c, replay_index=r, decision=d) for c in "AB" for r, d in enumerate("yyn")]
    return str(a_file(folder, *lines, a_line(case_id="=C")))


def test_json_has_configurations_tasks_and_cases(tmp_path: Path) -> None:
    found = ran(replays(tmp_path), "--json")
    document = json.loads(found.stdout)
    assert found.return_value == 0
    assert {"configurations", "tasks", "cases", "evidence"} <= set(document)
    assert document["evidence"] == "external"
    (configuration,) = document["configurations"]
    assert (configuration["dar"], configuration["cases"], configuration["cases_ineligible"]) == (2 / 3, 2, 1)
    assert configuration["intervals"]["dar"]["low"] < 2 / 3 < configuration["intervals"]["dar"]["high"]
    case = document["cases"][0]
    assert (case["case_id"], case["replays"], case["tar"]["seq"], case["tar"]["strong"]) == ("A", 3, 1.0, 1.0)
    assert document["cases"][2]["dar"] is None


def test_csv_has_one_row_per_case_and_no_formula(tmp_path: Path) -> None:
    found = ran(replays(tmp_path), "--csv")
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [row["case_id"] for row in rows] == ["A", "B", "'=C"]
    assert (rows[0]["decisions"], rows[0]["tar.seq"], rows[2]["dar"]) == ("n=1;y=2", "1.0", "")


def test_a_file_with_nothing_to_compare_exits_4(tmp_path: Path) -> None:
    found = ran(str(a_file(tmp_path, a_line())))
    assert found.return_value == 4
    assert "dar=—" in found.stdout
    assert "single_replay_nothing_to_compare" in found.stderr


def test_numbers_come_with_intervals_and_the_warning_that_no_gate_takes_them(tmp_path: Path) -> None:
    found = ran(replays(tmp_path))
    assert 'dar="0.667 (' in found.stdout
    assert 'evidence=external gate="not accepted"' in found.stdout


def test_an_interval_with_signs_has_no_dash_between_its_limits() -> None:
    assert _interval({"value": 0.0, "low": -0.5, "high": 0.5}) == "0.000 (-0.500 to 0.500)"
    assert _interval({"value": 0.5, "low": 0.25, "high": 0.75}) == "0.500 (0.250 – 0.750)"
