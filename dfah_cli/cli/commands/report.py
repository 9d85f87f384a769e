"""`dfah report`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfah_cli.cli.commands.analyze import named, write_outputs
from dfah_cli.cli.options import COMMON, REPORT_FILES, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError, ExitCode, most_serious

if TYPE_CHECKING:
    from dfah_cli.gate.evaluate import Gate, GateResult
    from dfah_cli.workflow.analyze import Analysis


@click.command(name="report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@stacked(
    REPORT_FILES,
    option("--policy", metavar="NAME|FILE", default=None, help="Show the verdict of this policy in the report."),
    COMMON,
)
def command(runs: tuple[str, ...], outputs: tuple[str, ...], policy: str | None, as_json: bool) -> int:
    """Write a run's report; the format follows the suffix: .html, .md, .json, .xml (JUnit).

    Several runs give one page (.html) with all of them, oldest first, so that drift is seen.

    \b
    dfah report .dfah/runs/first -o report.html -o results.junit.xml
    dfah report .dfah/runs/* -o index.html
    """
    from dfah_cli.gate.evaluate import Gate
    from dfah_cli.loading.policies import load_policy

    if not outputs:
        raise ConfigurationError("report: nothing to write; name a file with -o, such as -o report.html")
    files = named(outputs)
    if len(runs) > 1 and any(kind != "html" for kind, _ in files):
        raise ConfigurationError("report: several runs go on one page; name a file that ends in .html")
    gate = None if policy is None else Gate(load_policy(policy))
    written, code = _one(runs[0], files, gate) if len(runs) == 1 else _several(runs, files, gate)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-written-1", "written": written, "exit_code": int(code)})
    else:
        for place in written:
            screen.fact(written=place)
    screen.flush()
    return int(code)


def _one(run: str, files: list[tuple[str, str]], gate: Gate | None) -> tuple[list[str], ExitCode]:
    from dfah_cli.gate.outcome import judge
    from dfah_cli.workflow.analyze import analyze

    found = analyze(run, keep_examples=True)
    result = _judged(found, gate)
    return write_outputs(found, files, result), judge(found.report, result, mode=found.report.mode).code


def _several(runs: tuple[str, ...], files: list[tuple[str, str]], gate: Gate | None) -> tuple[list[str], ExitCode]:
    from dfah_cli.gate.outcome import judge
    from dfah_cli.render.html import overview_html
    from dfah_cli.report.overview import overview
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.export import write_export

    told, codes = [], []
    for run in runs:
        found = analyze(run)
        report, result = found.report, _judged(found, gate)
        told.append((Path(run).name, report, None if result is None else str(result.verdict)))
        codes.append(judge(report, result, mode=report.mode).code)
    page = overview_html(overview(told))
    return [str(write_export(name, page)) for _, name in files], most_serious(codes)


def _judged(found: Analysis, gate: Gate | None) -> GateResult | None:
    from dfah_cli.execution.clock import SystemClock
    from dfah_cli.workflow.grounds import grounds_for

    if gate is None:
        return None
    today = SystemClock().now().date()
    return gate.evaluate(found.report, grounds_for(gate.policy, found.verified, found.measurement, on=today))
