"""`dfah gate`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfah_cli.cli.options import COMMON, REPORT_FILES, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.canonical import JSONValue
    from dfah_cli.gate.evaluate import GateResult
    from dfah_cli.gate.outcome import Outcome
    from dfah_cli.records.policy import GatePolicy
    from dfah_cli.report.record import ReportColumns
    from dfah_cli.report.view import ReportView
    from dfah_cli.workflow.analyze import Analysis
    from dfah_cli.workflow.attempts import Attempt
    from dfah_cli.workflow.judging import Judged
    from dfah_cli.workflow.siblings import Relatives


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
    do not decide. The attempt is recorded with the run, unless it cannot be written to.

    \b
    dfah gate .dfah/runs/first strict
    dfah gate .dfah/runs/first policies/release.yaml --json
    """
    from dfah_cli.cli.commands.analyze import named, write_outputs
    from dfah_cli.cli.edge import replaced
    from dfah_cli.cli.show import paths_of, view_with
    from dfah_cli.cli.step_summary import add_step_summary, wants_summary
    from dfah_cli.gate.outcome import judge
    from dfah_cli.loading.policies import load_policy
    from dfah_cli.records.enums import ReplayMode
    from dfah_cli.workflow.analyze import analyze, load_report
    from dfah_cli.workflow.siblings import relatives

    files = named(outputs)
    rules = load_policy(policy)
    screen = Screen(as_json=as_json)
    summary = wants_summary(screen.environment)
    found = None if Path(run).is_file() else analyze(run, keep_examples=bool(files) or summary)
    report = load_report(run, allow_unverified=allow_unverified) if found is None else found.report
    judgement = _judged(rules, report, found)
    result = judgement.result
    assert result is not None
    outcome = judge(report, result, mode=ReplayMode.BLOCKING)
    attempt = None if found is None else _kept(found, rules, judgement)
    near = None if found is None else relatives(found.path, found.verified)
    told = {"policy_sha256": rules.sha256, "why": outcome.why, **_attempt_object(attempt), **_near_object(near)}
    written = [] if found is None else write_outputs(found, files, judgement)
    details, why = paths_of(found, why=True) if summary and found is not None else ((), ())
    view = view_with(report, result, details, judgement.against, why)
    add_step_summary(view, screen)
    if screen.json:
        from dfah_cli.render.json import report_document

        screen.document(report_document(report, result, told, judgement.against))
    else:
        _show(view, rules.sha256, outcome, screen)
        _suppose(view, result, screen)
        if attempt is not None:
            _tell(attempt, judgement.grounds.tries, rules.sha256, screen)
        if near is not None:
            screen.remarks(*near.sentences())
        for place in written:
            screen.fact(written=place)
    screen.flush()
    return replaced(outcome.code)


def _judged(policy: GatePolicy, report: ReportColumns, found: Analysis | None) -> Judged:
    from dfah_cli.execution.clock import SystemClock
    from dfah_cli.gate.evaluate import Gate
    from dfah_cli.gate.grounds import NONE
    from dfah_cli.workflow.judging import Judged, judged

    if found is None:
        return Judged(result=Gate(policy).evaluate(report), grounds=NONE, against=None)
    return judged(found, policy, on=SystemClock().now().date())


def _kept(found: Analysis, policy: GatePolicy, judgement: Judged) -> Attempt:
    from dfah_cli.execution.clock import SystemClock
    from dfah_cli.workflow.attempts import keep_attempt

    assert judgement.result is not None
    return keep_attempt(found, policy, judgement.result, judgement.grounds, SystemClock())


def _tell(attempt: Attempt, tries: int, policy_sha256: str, screen: Screen) -> None:
    if not screen.tables:
        screen.fact(**_attempt_facts(attempt), tries=tries)
        return
    from dfah_cli.report.words import plan_tag

    kept = f"recorded in gates/{attempt.ordinal}.json" if attempt.why is None else f"not recorded: {attempt.why}"
    more = "" if tries == 1 else f"; {tries} tries count for the levels of its bounds"
    screen.prose(f"policy {plan_tag(policy_sha256)}, gate {attempt.number} of this run, {kept}{more}")


def _attempt_facts(attempt: Attempt) -> dict[str, object]:
    """The attempt and where it is kept, or why it is not."""
    kept = {"recorded": f"gates/{attempt.ordinal}.json"} if attempt.why is None else {"not_recorded": attempt.why}
    return {"attempt": attempt.number, "attempts_recorded": attempt.attempts, **kept}


def _attempt_object(attempt: Attempt | None) -> dict[str, JSONValue]:
    if attempt is None:
        why = "a report file has no run directory"
        return {"attempt": None, "attempts": None, "recorded": None, "not_recorded": why}
    kept = None if attempt.ordinal is None else f"gates/{attempt.ordinal}.json"
    return {"attempt": attempt.number, "attempts": attempt.attempts, "recorded": kept, "not_recorded": attempt.why}


def _near_object(near: Relatives | None) -> dict[str, JSONValue]:
    return {} if near is None else near.document()


def _show(view: ReportView, policy_sha256: str, outcome: Outcome, screen: Screen) -> None:
    from dfah_cli.report.rows import proof_columns

    more = proof_columns(view.checks)
    names = ["bound" if name == "proof" else name for name in more]
    rows = [
        (row.name, row.verdict, row.found, row.bound, *(getattr(row, name) for name in more)) for row in view.checks
    ]
    screen.table(("check", "verdict", "observed", "expected", *names), rows)
    if screen.tables:
        from dfah_cli.cli.show import verdict_line

        screen.line()
        screen.show([verdict_line(outcome, outcome.why, outcome.code)])
    else:
        screen.fact(gate=str(outcome.verdict), exit=int(outcome.code), why=outcome.why, policy=policy_sha256)


def _suppose(view: ReportView, result: GateResult, screen: Screen) -> None:
    if screen.tables:
        screen.prose(*filter(None, [view.suppositions]))
    elif result.agreeing is not None:
        screen.fact(if_unknown_agree=str(result.agreeing), if_unknown_disagree=str(result.disagreeing))
