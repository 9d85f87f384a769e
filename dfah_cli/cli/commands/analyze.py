"""`dfah analyze`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dfah_cli.cli.options import COMMON, REPORT_FILES, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.canonical import JSONValue
    from dfah_cli.workflow.analyze import Analysis
    from dfah_cli.workflow.judging import Judged


@click.command(name="analyze")
@click.argument("run", metavar="RUN")
@stacked(
    option("--report", metavar="HTML", default=None, help="Write a self-contained HTML page."),
    option("--times", is_flag=True, help="Also how long episodes and tools took, and what they cost, as histograms."),
    REPORT_FILES,
    COMMON,
)
def command(run: str, report: str | None, times: bool, outputs: tuple[str, ...], as_json: bool) -> int:
    """Verify a run directory, from its bytes alone, and show what it measured.

    Exits 4 when the run is not complete, 3 when its evidence cannot be believed.

    \b
    dfah analyze .dfah/runs/first
    dfah analyze .dfah/runs/first --report report.html
    dfah analyze .dfah/runs/first --times
    """
    from dfah_cli.cli.show import show_view, view_with
    from dfah_cli.gate.outcome import judge
    from dfah_cli.workflow.analyze import analyze

    found = analyze(run, keep_examples=True)
    screen = Screen(as_json=as_json)
    outcome = judge(found.report, None, mode=found.report.mode)
    files = [("html", report)] if report else []
    written = write_outputs(found, [*files, *named(outputs)])
    if screen.json:
        from dfah_cli.render.json import report_document

        checks = [{"claim": str(c.claim), "status": str(c.status), "detail": c.detail} for c in found.checks]
        more = {"distributions": spent_document(run)} if times else {}
        screen.document(report_document(found.report, None, {"checks": checks, "exit_code": int(outcome.code), **more}))
    else:
        from dfah_cli.report.details import case_details

        show_view(view_with(found.report, None, tuple(case_details(found.verified.table))), screen)
        if screen.tables:
            screen.line()
        verified = sum(str(check.status) == "pass" for check in found.checks)
        screen.fact(evidence="verified", claims=verified, run=run, exit=int(outcome.code), why=outcome.why)
        for place in written:
            screen.fact(written=place)
        if times:
            show_times(run, screen)
    screen.flush()
    return int(outcome.code)


def spent_document(run: str) -> list[JSONValue]:
    """What episodes and tools took and cost, as JSON."""
    from dfah_cli.workflow.distributions import distributions, document

    return list(document(distributions(run)))


def show_times(run: str, screen: Screen) -> None:
    """What episodes and tools took and cost: bars on a terminal, one line of facts each elsewhere."""
    from dfah_cli.workflow.distributions import distributions, facts, lines

    found = distributions(run)
    if screen.tables:
        screen.line()
        screen.lines(lines(found))
        return
    for pairs in facts(found):
        screen.fact(**pairs)


def named(outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Format and file of each output, by its suffix."""
    from pathlib import Path

    from dfah_cli.workflow.rendering import format_of

    return [(format_of(Path(name)), name) for name in outputs]


def write_outputs(found: Analysis, files: list[tuple[str, str]], told: Judged | None = None) -> list[str]:
    """Report files of an analysis, replaced atomically; nothing is written when a format is unknown."""
    if not files:
        return []
    from dfah_cli.workflow.export import write_export
    from dfah_cli.workflow.rendering import prepare, render

    result, against = (None, None) if told is None else (told.result, told.against)
    rendered = prepare(found.report, result, found.verified, found.measurement, against)
    return [str(write_export(name, render(rendered, kind))) for kind, name in files]
