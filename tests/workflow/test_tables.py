"""The case and episode tables, as CSV and as Parquet."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ArtifactError, ConfigurationError, OptionalDependencyError
from dfah_cli.records.case import Case
from dfah_cli.report.tables import TABLES, Kind
from dfah_cli.workflow.analyze import analyze
from dfah_cli.workflow.tables import export_csv, export_parquet
from tests.builders import ROOT, a_scripted_agent, a_suite, replayed

NO_PYARROW = "no pyarrow; run: python -m pip install 'dfah-cli[parquet]'"


def failing(case: Any, context: Any) -> Any:
    raise RuntimeError("no")


MIXED = {
    "A": [("Y", "T U"), ("Y", "U T"), ("Y", "T U")],
    "B": [("N", "T"), ("Y", "T"), ("N", "T k=x")],
    "C": [("Y", "T"), failing, ("Y", "T")],
}


@pytest.fixture
def run(out: Path) -> Path:
    replayed(a_scripted_agent(MIXED), out)
    return out


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_case_table_has_the_numbers_of_the_report(run: Path, tmp_path: Path) -> None:
    rows = {row["case_id"]: row for row in rows_of(export_csv(run, tmp_path / "cases.csv", "cases"))}
    for case in analyze(run).report.case_reports:
        row = rows[case.case_id]
        assert [float(row[f"tar_{level}"]) for level in ("set", "bag", "seq", "strong")] == [
            case.tar.set, case.tar.bag, case.tar.seq, case.tar.strong
        ]  # fmt: skip
        assert (float(row["dar"]), float(row["gap"])) == (case.dar, case.gap)
        assert row["flagged"] == str(case.unanimous_with_path_change).lower()
        assert row["path_variation_kind"] == case.path_variation_kind


def test_what_is_unavailable_is_an_empty_cell_and_never_a_zero(run: Path, tmp_path: Path) -> None:
    lost = rows_of(export_csv(run, tmp_path / "cases.csv", "cases"))[2]
    assert (lost["case_id"], lost["judged"]) == ("C", "false")
    assert "terminal_status_provider_error" in lost["reasons"]
    numbers = [c.name for c in TABLES["cases"] if c.kind is Kind.REAL] + ["flagged", "sequence_flagged"]
    assert {lost[name] for name in numbers} == {""}
    failed = rows_of(export_csv(run, tmp_path / "episodes.csv", "episodes"))[7]
    assert (failed["status"], failed["decision"], failed["model"], failed["input_tokens"]) == (
        "provider_error", "", "", ""
    )  # fmt: skip


def test_the_episode_table_has_one_row_a_replay_in_order(run: Path, tmp_path: Path) -> None:
    rows = rows_of(export_csv(run, tmp_path / "episodes.csv", "episodes"))
    assert [(row["case_id"], row["replay_index"]) for row in rows] == [(c, str(i)) for c in "ABC" for i in range(3)]
    assert [row["tools"] for row in rows[:3]] == ['["T","U"]', '["U","T"]', '["T","U"]']
    assert {row["judged"] for row in rows[:6]} == {"true"}
    assert {row["started_at"] for row in rows} == {"2026-01-31T09:00:00.000000Z"}


def test_hostile_ids_are_one_harmless_cell(out: Path, tmp_path: Path) -> None:
    names = ['=HYPERLINK("http://x.invalid")', 'a,"b";c', "@SUM(1)"]
    suite = a_suite([Case(case_id=name, input=None) for name in names])
    replayed(a_scripted_agent({name: [("Y", "T")] for name in names}, suite=suite), out)
    found = [row["case_id"] for row in rows_of(export_csv(out, tmp_path / "cases.csv", "cases"))]
    assert sorted(found) == sorted(["'" + names[0], names[1], "'" + names[2]])


def test_an_unknown_table_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cases, episodes"):
        export_csv(run, tmp_path / "x.csv", "tools")
    assert not (tmp_path / "x.csv").exists()


def test_altered_evidence_gives_no_table_and_leaves_the_old_file(run: Path, tmp_path: Path) -> None:
    place = export_csv(run, tmp_path / "cases.csv", "cases")
    before = place.read_bytes()
    segment = run / "segments" / "00000000.jsonl"
    segment.write_bytes(segment.read_bytes().replace(b'"replay_index":1', b'"replay_index":2', 1))
    with pytest.raises(ArtifactError):
        export_csv(run, place, "cases")
    assert place.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["cases.csv"]


@pytest.mark.parametrize("table", TABLES)
def test_parquet_holds_the_same_cells_as_csv(run: Path, tmp_path: Path, table: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason=NO_PYARROW)
    found = parquet.read_table(export_parquet(run, tmp_path / "t.parquet", table))
    rows = rows_of(export_csv(run, tmp_path / "t.csv", table))
    assert found.column_names == [column.name for column in TABLES[table]]
    assert found.num_rows == len(rows)
    for mine, theirs in zip(found.to_pylist(), rows, strict=True):
        assert {name: _text(value) for name, value in mine.items()} == theirs
    assert found.schema.metadata[b"dfah.report_sha256"].decode() == analyze(run).report.report_sha256


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value if isinstance(value, str) else repr(value)


def test_without_pyarrow_the_install_command_is_said(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(OptionalDependencyError, match=r"pip install 'dfah-cli\[parquet\]'"):
        export_parquet(run, tmp_path / "t.parquet", "cases")
    assert not (tmp_path / "t.parquet").exists()


def test_every_column_is_documented() -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    for columns in TABLES.values():
        for column in columns:
            assert f"| `{column.name}` | {column.kind} | {column.says} |" in text, column.name
