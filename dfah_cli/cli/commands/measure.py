"""`dfah measure`"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ExitCode

if TYPE_CHECKING:
    from dfah_cli.workflow.measure import ExternalMeasurement


@click.command(name="measure", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@stacked(
    option(
        "--format",
        "format_name",
        default="auto",
        help="auto, jsonl, dfah-bench, inspect, tau-bench, otlp or jaeger.",
    ),
    option("--by", default="configuration_id", help="What is measured together: configuration_id, model or provider."),
    option("--only", multiple=True, metavar="FIELD=VALUE", help="Keep these; repeat it. FIELD also: task, case_id."),
    option("--exclude", multiple=True, metavar="FIELD=VALUE", help="Drop these; repeat it."),
    option("--csv", "as_csv", is_flag=True, help="One CSV row per case on standard output."),
    COMMON,
)
def measure(files: tuple[str, ...], as_csv: bool, as_json: bool, **reading: Any) -> int:
    """Measure replays that were recorded elsewhere, without running anything.

    Such evidence is external and satisfies no gate. Exits 4 when no case has two comparable replays.

    \b
    dfah measure replays.jsonl
    dfah measure run-of-dfah-bench/ log.eval --json
    """
    from dfah_cli.workflow.measure import document

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    result = document(_read(files, **reading))
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document(result)
    elif as_csv:
        screen.lines(_csv_lines(result["cases"]))
    else:
        _show(result, screen)
    screen.flush()
    measured = any(row["cases"] for row in result["configurations"])
    return int(ExitCode.OK if measured else ExitCode.UNDECIDED)


command = measure


def _read(
    files: tuple[str, ...], *, format_name: str, by: str, only: tuple[str, ...], exclude: tuple[str, ...]
) -> ExternalMeasurement:
    from pathlib import Path

    from dfah_cli.loading.replays.collect import selection
    from dfah_cli.workflow.measure import measure_files

    paths = [Path(name) for name in files]
    return measure_files(paths, format_name=format_name, by=by, wanted=selection(only, exclude))


def _show(result: Mapping[str, Any], screen: Screen) -> None:
    from dfah_cli.report.words import UNAVAILABLE, rate

    columns = ("configuration", "cases", "not_counted", "replays", "dar", "tar_seq", "gap", "seq_flags_per_100")
    screen.table(
        columns,
        (
            (
                row["configuration_id"],
                str(row["cases"]),
                str(row["cases_ineligible"]),
                ",".join(row["replays"]) or UNAVAILABLE,
                *(_interval(row["intervals"].get(metric)) for metric in ("dar", "tar.seq", "gap")),
                rate(row["sequence_flags_per_100"]),
            )
            for row in result["configurations"]
        ),
    )
    for row in result["configurations"]:
        for told in _beside(row):
            screen.note(f"{row['configuration_id']}: {told}")
    for source in result["sources"]:
        for note in source["notes"]:
            screen.note(f"{source['source']}: {note}")
    for notice in result["notices"]:
        screen.note(notice)
    screen.fact(evidence=result["evidence"], gate="not accepted")


def _beside(row: Mapping[str, Any]) -> Iterator[str]:
    """Partial order and backends in words, where the data have them."""
    if row["tar_partial_order"] is not None:
        loose = _interval(row["intervals"].get("tar.seq.partial_order"))
        yield f"TAR.seq is {loose} where calls declared parallel may swap"
    if row["backends"] is not None:
        from dfah_cli.report.diagnosis import backends_sentence

        yield backends_sentence(**{name: row["backends"][name] for name in ("same", "different")})


def _interval(found: Mapping[str, Any] | None) -> str:
    from dfah_cli.report.words import UNAVAILABLE, between, share

    return UNAVAILABLE if found is None else f"{share(found['value'])} ({between((found['low'], found['high']))})"


def _csv_lines(cases: list[dict[str, Any]]) -> Iterator[str]:
    """A header and one line per case; nested values are flattened with dots, lists and maps joined by `;`."""
    rows = [dict(_flat(case)) for case in cases]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    yield from buffer.getvalue().removesuffix("\n").split("\n")


def _flat(case: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in case.items():
        if key == "decisions":
            yield prefix + key, ";".join(f"{label}={count}" for label, count in value.items())
        elif key == "tar_partial_order" and value is None:
            # The same columns in every row, whichever configurations declare parallel calls.
            yield from ((f"{prefix}{key}.{level}", None) for level in case["tar"])
        elif isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, ";".join(map(str, value)) if isinstance(value, list) else _spelled(value)


def _spelled(value: object) -> object:
    """A cell that no spreadsheet takes for a formula; an unavailable number is an empty cell, never a zero."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
