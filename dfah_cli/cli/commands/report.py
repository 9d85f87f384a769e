"""`dfah report`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfah_cli.cli.commands.analyze import named, write_outputs
from dfah_cli.cli.options import COMMON, REPORT_FILES, option, policy_asked_for, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError, ExitCode, most_serious

if TYPE_CHECKING:
    from datetime import date

    from dfah_cli.records.policy import GatePolicy
    from dfah_cli.report.against import Against


@click.command(name="report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@stacked(
    REPORT_FILES,
    option("--policy", metavar="NAME|FILE", default=None, help="Show the verdict of this policy in the report."),
    option("--baseline", metavar="RUN|FILE", default=None,
           help="Compare with this run, or with a file of `dfah baseline accept`; by default with the policy's."),
    COMMON,
)  # fmt: skip
def command(
    runs: tuple[str, ...], outputs: tuple[str, ...], policy: str | None, baseline: str | None, as_json: bool
) -> int:
    """Write a run's report; the format follows the suffix: .html, .md, .json, .xml (JUnit).

    Several runs give one page (.html) with all of them, oldest first, so that drift is seen, each also against the
    baseline. A baseline of other cases cannot be compared: the report says so, and the command exits 2.

    \b
    dfah report .dfah/runs/first -o report.html -o results.junit.xml
    dfah report .dfah/runs/first --baseline baselines/acme-kyc.json -o report.html
    dfah report .dfah/runs/* -o index.html
    """
    if not outputs:
        raise ConfigurationError("report: nothing to write; name a file with -o, such as -o report.html")
    files = named(outputs)
    if len(runs) > 1 and any(kind != "html" for kind, _ in files):
        raise ConfigurationError("report: several runs go on one page; name a file that ends in .html")
    rules = policy_asked_for(policy)
    written, code = _one(runs[0], files, rules, baseline) if len(runs) == 1 else _several(runs, files, rules, baseline)
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-written-1", "written": written, "exit_code": int(code)})
    else:
        for place in written:
            screen.fact(written=place)
    screen.flush()
    return int(code)


def _one(
    run: str, files: list[tuple[str, str]], policy: GatePolicy | None, baseline: str | None
) -> tuple[list[str], ExitCode]:
    from dfah_cli.gate.outcome import judge
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.judging import judged

    found = analyze(run, keep_examples=True)
    told = judged(found, policy, on=_today(), baseline=baseline)
    code = judge(found.report, told.result, mode=found.report.mode).code
    return write_outputs(found, files, told), most_serious([code, *_refusal(told.against, baseline)])


def _refusal(against: Against | None, baseline: str | None) -> list[ExitCode]:
    """The code of a baseline that was asked for here: that of the policy has a check in the gate to speak for it."""
    refused = baseline is not None and against is not None and against.refused is not None
    return [ExitCode.BAD_REQUEST] if refused else []


def _several(
    runs: tuple[str, ...], files: list[tuple[str, str]], policy: GatePolicy | None, baseline: str | None
) -> tuple[list[str], ExitCode]:
    from dfah_cli.gate.outcome import judge
    from dfah_cli.render.html import overview_html
    from dfah_cli.report.overview import overview
    from dfah_cli.workflow.analyze import analyze
    from dfah_cli.workflow.export import write_export
    from dfah_cli.workflow.judging import judged

    told, held, codes = [], {}, []
    for place, run in enumerate(runs):
        found = analyze(run)
        answer = judged(found, policy, on=_today(), baseline=baseline)
        report, result = found.report, answer.result
        told.append((Path(run).name, report, None if result is None else str(result.verdict)))
        codes += [judge(report, result, mode=report.mode).code, *_refusal(answer.against, baseline)]
        if answer.against is not None:
            held[place] = answer.against
    page = overview_html(overview(told, held))
    return [str(write_export(name, page)) for _, name in files], most_serious(codes)


def _today() -> date:
    from dfah_cli.execution.clock import SystemClock

    return SystemClock().now().date()
