"""`dfah gate`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfah_cli.cli.options import COMMON, REPORT_FILES, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.gate.evaluate import GateCheck


@click.command(name="gate")
@click.argument("run", metavar="RUN")
@click.argument("policy", metavar="POLICY")
@stacked(
    REPORT_FILES,
    option("--allow-unverified", is_flag=True, help="RUN may be a report file; it fails the gate by default."),
    COMMON,
)
def command(run: str, policy: str, outputs: tuple[str, ...], allow_unverified: bool, as_json: bool) -> int:
    """Apply a policy to a run. Always blocks: exits 1 when the gate fails, 4 when the run is not complete or the data
    do not decide.

    \b
    dfah gate .dfah/runs/first strict
    dfah gate .dfah/runs/first policies/release.yaml --json
    """
    from dfah_cli.cli.commands.analyze import named, write_outputs
    from dfah_cli.cli.edge import replaced
    from dfah_cli.cli.show import add_step_summary, view_with
    from dfah_cli.execution.clock import SystemClock
    from dfah_cli.gate.evaluate import Gate
    from dfah_cli.gate.grounds import NONE
    from dfah_cli.gate.outcome import judge
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.records.enums import ReplayMode
    from dfah_cli.workflow.analyze import analyze, load_report
    from dfah_cli.workflow.grounds import grounds_for

    files = named(outputs)
    gate = Gate(load_policy(policy))
    detached = Path(run).is_file()
    found = None if detached else analyze(run, keep_examples=bool(files))
    report = load_report(run, allow_unverified=allow_unverified) if found is None else found.report
    grounds = (
        NONE
        if found is None
        else grounds_for(gate.policy, found.verified, found.measurement, on=SystemClock().now().date())
    )
    result = gate.evaluate(report, grounds)
    outcome = judge(report, result, mode=ReplayMode.BLOCKING)
    attempts = None if found is None else len(found.verified.gates)
    written = [] if found is None else write_outputs(found, files, result)
    screen = Screen(as_json=as_json)
    add_step_summary(view_with(report, result), screen)
    if screen.json:
        from dfah_cli.render.json import report_document

        screen.document(
            report_document(
                report, result, {"policy_sha256": gate.policy.sha256, "why": outcome.why, "attempts": attempts}
            )
        )
    else:
        _show(result, gate.policy.sha256, outcome, screen)
        screen.fact(attempts_recorded=attempts, tries=grounds.tries)
        for place in written:
            screen.fact(written=place)
    screen.flush()
    return replaced(outcome.code)


def _show(result: object, policy_sha256: str, outcome: object, screen: Screen) -> None:
    from dfah_cli.gate.evaluate import GateResult
    from dfah_cli.gate.outcome import Outcome, gate_rows

    assert isinstance(result, GateResult)
    assert isinstance(outcome, Outcome)
    rows = [
        (row.name, row.verdict, row.found, row.bound, *_proof(check))
        for row, check in zip(gate_rows(result), result.checks, strict=True)
    ]
    columns = ("check", "verdict", "observed", "expected", "bound", "cases", "needed", "note")
    used = [place for place, _ in enumerate(columns) if place < 4 or any(row[place] for row in rows)]
    screen.table([columns[place] for place in used], [[row[place] for place in used] for row in rows])
    if screen.tables:
        screen.line()
    screen.fact(gate=str(outcome.verdict), exit=int(outcome.code), why=outcome.why, policy=policy_sha256)
    if result.agreeing is not None:
        screen.fact(if_unknown_agree=str(result.agreeing), if_unknown_disagree=str(result.disagreeing))


def _proof(check: GateCheck) -> tuple[str, str, str, str]:
    """Bound with its level, cases, cases still needed, note; empty where there is none."""
    bound = "" if check.bound is None else f"{check.bound:g}"
    level = "" if check.level is None else f" ({100 * check.level:.6g} %)"
    cases = "" if check.n_cases is None else str(check.n_cases)
    needed = "" if check.cases_needed is None else str(check.cases_needed)
    return bound + level if bound else "", cases, needed, check.note or ""
