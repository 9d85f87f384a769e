"""`dfah report`"""

from __future__ import annotations

import click

from dfah_cli.cli.commands.analyze import named, write_outputs
from dfah_cli.cli.options import COMMON, REPORT_FILES, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError


@click.command(name="report")
@click.argument("run", metavar="RUN")
@stacked(
    REPORT_FILES,
    option("--policy", metavar="NAME|FILE", default=None, help="Show the verdict of this policy in the report."),
    COMMON,
)
def command(run: str, outputs: tuple[str, ...], policy: str | None, as_json: bool) -> int:
    """Write a run's report; the format follows the suffix: .html, .md, .json, .xml (JUnit).

    \b
    dfah report .dfah/runs/first -o report.html -o results.junit.xml
    """
    from dfah_cli.gate.evaluate import Gate
    from dfah_cli.gate.outcome import judge
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.workflow.analyze import analyze

    if not outputs:
        raise ConfigurationError("report: nothing to write; name a file with -o, such as -o report.html")
    files = named(outputs)
    gate = None if policy is None else Gate(load_policy(policy))
    found = analyze(run, keep_examples=True)
    result = None if gate is None else gate.evaluate(found.report)
    outcome = judge(found.report, result, mode=found.report.mode)
    screen = Screen(as_json=as_json)
    written = write_outputs(found, files, result)
    if screen.json:
        screen.document({"format": "dfah-written-1", "written": written, "exit_code": int(outcome.code)})
    else:
        for place in written:
            screen.fact(written=place)
    screen.flush()
    return int(outcome.code)
