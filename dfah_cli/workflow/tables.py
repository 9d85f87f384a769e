"""The case and episode tables of a run as CSV or Parquet. Rows are in order of task, case and replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from dfah_cli.errors import ConfigurationError, OptionalDependencyError, install_command
from dfah_cli.render.csv import csv_header, csv_line
from dfah_cli.report.details import case_details
from dfah_cli.report.tables import TABLES, Cell, Group, Kind, case_rows, episode_rows
from dfah_cli.workflow.analyze import Analysis, analyze, episodes
from dfah_cli.workflow.export import write_chunks, write_with
from dfah_cli.workflow.spool import in_key_order

BATCH = 16_384
INSTALL = f"Parquet needs pyarrow; run: {install_command('parquet')}, or use --format csv"


def table_csv(run: str | Path, table: str) -> Iterator[bytes]:
    """The lines of a table of a verified run, its header first.

    Raises: ConfigurationError for an unknown table; ArtifactError when the evidence does not hold.
    """
    columns = TABLES[_known(table)]
    analysis = analyze(run, keep_examples=True)
    yield csv_header(columns)
    yield from in_key_order((key, csv_line(cells)) for key, cells in _rows(analysis, table))


def export_csv(run: str | Path, out: str | Path, table: str) -> Path:
    """The table as a CSV file."""
    return write_chunks(out, table_csv(run, table))


def export_parquet(run: str | Path, out: str | Path, table: str) -> Path:
    """The table as a Parquet file: typed columns, null where a value is unavailable, digests in its metadata.

    Raises: OptionalDependencyError without pyarrow.
    """
    _known(table)
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise OptionalDependencyError(INSTALL) from None
    analysis = analyze(run, keep_examples=True)
    schema = _schema(arrow, table, analysis)

    def fill(file: IO[bytes]) -> None:
        parts = [
            arrow.record_batch(list(map(list, zip(*cells, strict=True))), schema=schema)
            for cells in _batches(_rows(analysis, table))
        ]
        found = arrow.Table.from_batches(parts, schema=schema)
        order = [(name, "ascending") for name in ("task", "case_id", "replay_index") if name in schema.names]
        parquet.write_table(found.sort_by(order), file, compression="zstd")

    return write_with(out, fill)


def _known(table: str) -> str:
    if table not in TABLES:
        raise ConfigurationError(f"no table of that name; there are {', '.join(TABLES)}")
    return table


def _schema(arrow: Any, table: str, analysis: Analysis) -> Any:
    types = {
        Kind.TEXT: arrow.string(),
        Kind.WHOLE: arrow.int64(),
        Kind.REAL: arrow.float64(),
        Kind.TRUTH: arrow.bool_(),
        Kind.TIME: arrow.timestamp("us", tz="UTC"),
    }
    fields = [
        arrow.field(column.name, types[column.kind], metadata={"description": column.says}) for column in TABLES[table]
    ]
    stated = {
        "dfah.format": f"dfah-{table}-1",
        "dfah.run_plan_sha256": analysis.report.run_plan_sha256,
        "dfah.report_sha256": analysis.report.report_sha256,
        "dfah.commitment": analysis.report.commitment,
    }
    return arrow.schema(fields, metadata=stated)


def _batches(rows: Iterator[tuple[Any, list[Cell]]]) -> Iterator[list[list[Cell]]]:
    held: list[list[Cell]] = []
    for _, cells in rows:
        held.append(cells)
        if len(held) == BATCH:
            yield held
            held = []
    if held:
        yield held


def _rows(analysis: Analysis, table: str) -> Iterator[tuple[Any, list[Cell]]]:
    cases = analysis.report.case_reports
    if table == "episodes":
        return episode_rows(episodes(analysis.path), frozenset((case.task, case.case_id) for case in cases))
    groups = analysis.measurement.groups
    reasons: dict[Group, Sequence[str]] = {
        (group.task, group.case_id): group.reasons for group in groups if not group.eligible
    }
    return case_rows(case_details(analysis.verified.table), cases, reasons)
