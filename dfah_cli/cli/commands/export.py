"""`dfah export`"""

from __future__ import annotations

from pathlib import Path

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError

FORMATS = ("every-eval-ever", "eee", "csv", "parquet", "otlp")
TABLES = ("cases", "episodes")


@click.command(name="export")
@click.argument("run", metavar="RUN")
@stacked(
    option("--format", "kind", type=click.Choice(FORMATS), default="every-eval-ever", show_default=True,
           help="Exchange record (eee is short for every-eval-ever), a table, or OpenTelemetry spans."),
    option("-o", "--out", "out", metavar="PATH", default=None,
           help="File of a table or of spans (CSV goes to standard output without it), or directory of the record."),
    option("--table", type=click.Choice(TABLES), default="cases", show_default=True, help="Which table."),
    option("--aggregate-only", is_flag=True, help="Record without single episodes."),
    option("--validate", is_flag=True, help="Check the record with the validator of the format."),
    option("--source-organization-name", metavar="NAME", default="unspecified", show_default=True,
           help="Who publishes the record."),
    option("--evaluator-relationship", type=click.Choice(("first_party", "third_party", "collaborative", "other")),
           default="other", show_default=True, help="How the evaluator stands to the model."),
    COMMON,
)  # fmt: skip
def command(run: str, kind: str, out: str | None, table: str, as_json: bool, **record: object) -> int:
    """Write a verified run for other tools. Digests and numbers only; nothing is uploaded.

    \b
    dfah export .dfah/runs/first --format csv --table episodes -o episodes.csv
    dfah export .dfah/runs/first --format every-eval-ever --out exports --validate
    dfah export .dfah/runs/first --format otlp -o spans.jsonl
    """
    screen = Screen(as_json=as_json)
    if kind == "otlp":
        _spans(screen, run, out)
    elif kind in ("csv", "parquet"):
        _table(screen, run, kind, out, table)
    else:
        _record(screen, run, out, record)
    screen.flush()
    return 0


def _table(screen: Screen, run: str, kind: str, out: str | None, table: str) -> None:
    from dfah_cli.workflow.tables import export_csv, export_parquet, table_csv

    if out is None:
        if kind == "parquet" or screen.json:
            raise ConfigurationError(f"export: {kind} needs a file here; name it with -o, such as -o {table}.{kind}")
        for line in table_csv(run, table):
            screen.line(line.decode().rstrip("\r\n"))
        return
    written = (export_csv if kind == "csv" else export_parquet)(run, out, table)
    if screen.json:
        screen.document({"format": "dfah-export-1", "kind": kind, "table": table, "written": [str(written)]})
    else:
        screen.fact(written=str(written), table=table)


def _spans(screen: Screen, run: str, out: str | None) -> None:
    from dfah_cli.workflow.telemetry import export_otlp

    if out is None:
        raise ConfigurationError("export: otlp needs a file; name it with -o, such as -o spans.jsonl")
    written = export_otlp(run, out)
    if screen.json:
        screen.document({"format": "dfah-export-1", "kind": "otlp", "written": [str(written)]})
    else:
        screen.fact(written=str(written))


def _record(screen: Screen, run: str, out: str | None, given: dict[str, object]) -> None:
    from dfah_cli.workflow.every_eval_ever import export_every_eval_ever

    place = Path(run) / "exports" / "every-eval-ever" if out is None else Path(out)
    found = export_every_eval_ever(
        run,
        place,
        include_instances=not given["aggregate_only"],
        validate=bool(given["validate"]),
        source_organization_name=str(given["source_organization_name"]),
        evaluator_relationship=str(given["evaluator_relationship"]),
    )
    written = [str(path) for path in (found.aggregate_path, found.instances_path) if path is not None]
    facts = {
        "evaluation_id": found.evaluation_id,
        "rows": found.instance_count,
        "sha256": found.instances_sha256,
        "validated": found.officially_validated,
    }
    if screen.json:
        screen.document({"format": "dfah-export-1", "kind": "every-eval-ever", "written": written, **facts})
        return
    for path in written:
        screen.fact(written=path)
    screen.fact(**facts)
