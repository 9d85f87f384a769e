"""`dfah export` as people call it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.cli.command import dfah, documents


def test_a_table_goes_to_standard_output_without_a_file(unstable_run: Path, tmp_path: Path) -> None:
    done = dfah("export", unstable_run, "--format", "csv", cwd=tmp_path)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert (done.returncode, done.stderr) == (0, "")
    report = documents(dfah("analyze", unstable_run, "--json", cwd=tmp_path))["report"]
    stated = {case["case_id"]: case["dar"] for case in report["case_reports"]}
    assert {row["case_id"]: float(row["dar"]) for row in rows} == stated


def test_a_file_is_written_and_named(stable_run: Path, tmp_path: Path) -> None:
    done = dfah("export", stable_run, "--format=csv", "--table=episodes", "-o", "e.csv", "--json", cwd=tmp_path)
    assert documents(done) == {"format": "dfah-export-1", "kind": "csv", "table": "episodes", "written": ["e.csv"]}
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 7


def test_a_record_is_written_below_the_named_directory(stable_run: Path, tmp_path: Path) -> None:
    done = dfah("export", stable_run, "--format", "eee", "--out", "x", "--aggregate-only", "--json", cwd=tmp_path)
    found = documents(done)
    assert (done.returncode, len(found["written"]), found["rows"], found["validated"]) == (0, 1, 0, False)
    assert json.loads((tmp_path / found["written"][0]).read_text())["evaluation_id"] == found["evaluation_id"]


def test_a_record_lies_in_the_run_directory_by_default_and_the_run_stays_valid(
    stable_run: Path, tmp_path: Path
) -> None:
    import shutil

    copy = Path(shutil.copytree(stable_run, tmp_path / "copy"))
    assert dfah("export", copy, cwd=tmp_path).returncode == 0
    assert len(list((copy / "exports" / "every-eval-ever").rglob("*.json*"))) == 2
    assert dfah("verify", copy, cwd=tmp_path).returncode == 0


def test_wrong_requests_exit_two_in_one_line(stable_run: Path, tmp_path: Path) -> None:
    for arguments in (("--format", "xlsx"), ("--format", "parquet"), ("--table", "tools"), ("--format=csv", "--json")):
        done = dfah("export", stable_run, *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert dfah("export", "nowhere", cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_not_complete_is_exported_with_what_it_has(partial_run: Path, tmp_path: Path) -> None:
    done = dfah("export", partial_run, "--format", "csv", cwd=tmp_path)
    judged = [row["judged"] for row in csv.DictReader(done.stdout.splitlines())]
    assert (done.returncode, sorted(judged)) == (0, ["false", "true"])
