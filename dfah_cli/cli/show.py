"""Results of runs and analyses on the screen, and the exit code that goes with them. Both front ends use this."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfah_cli.cli.edge import replaced
from dfah_cli.cli.screen import Screen
from dfah_cli.cli.step_summary import add_step_summary, wants_summary
from dfah_cli.errors import ExitCode

if TYPE_CHECKING:
    from dfah_cli.gate.evaluate import GateResult
    from dfah_cli.gate.outcome import Outcome
    from dfah_cli.records.run_plan import RunPlan
    from dfah_cli.report.against import Against
    from dfah_cli.report.details import CaseDetail
    from dfah_cli.report.diagnosis import DiagnosisTable
    from dfah_cli.report.record import ReportColumns
    from dfah_cli.report.view import ReportView
    from dfah_cli.store.places import RunUrl
    from dfah_cli.workflow.analyze import Analysis
    from dfah_cli.workflow.request import RunRequest
    from dfah_cli.workflow.run import FrozenPlan, RunResult
    from dfah_cli.workflow.siblings import Relatives

MAX_DETAILED_CASES = 20_000
GO_ON = {
    "budget_stop": "to go on, with a larger budget: {}",
    "settled": "the verdict is settled: the calls that were not made could not change it",
}
PROGRAM_NAMES = ("dfah", "dfah-run")


def run_and_show(request: RunRequest, screen: Screen, *, debug_log: str | None = None) -> int:
    """Executes a request with live progress, shows its result, and gives the exit code."""
    from dfah_cli.cli.progress import watching
    from dfah_cli.workflow.run import execute

    with watching(screen, debug_log=debug_log) as observer:
        result = execute(request, observer)
    show_run(result, screen)
    return replaced(result.exit_code)


def show_run(result: RunResult, screen: Screen) -> None:
    """The result of a run."""
    summary = wants_summary(screen.environment)
    if screen.json and not summary:
        screen.document(run_document(result))
        return
    details, why = run_paths(result.run_dir, result.report, why=summary)
    view = view_with(result.report, result.gate_result, details, result.against, why)
    add_step_summary(view, screen)
    if screen.json:
        screen.document(run_document(result))
        return
    show_view(view, screen)
    facts = {
        "run": str(result.run_dir),
        "called": result.calls_made,
        "reused": result.reused,
        "exit": int(result.exit_code),
    }
    if not screen.tables:
        screen.fact(**facts, why=_why(result))
        if result.attempts is not None:
            screen.fact(attempts_recorded=result.attempts)
            screen.lines(f"beside={_quoted(told)}" for told in beside(result).sentences())
        screen.lines(f"written={_quoted(str(file))}" for file in result.files)
        screen.lines(f"next={_quoted(line)}" for line in _next(result, view))
        return
    screen.line()
    screen.show([verdict_line(result.outcome, _why(result), result.exit_code)])
    if result.attempts is not None:
        again = [f"Gates recorded with this run: {result.attempts}."] if result.attempts > 1 else []
        screen.prose(*again, *beside(result).sentences())
    commitment = result.report.commitment
    screen.prose(
        f"{result.report.episodes_completed} episodes recorded ({result.calls_made} called, {result.reused} reused), "
        f"commitment {commitment[:4]}…{commitment[-4:]}, in {_shown(result.run_dir)}"
    )
    screen.lines(f"written  {_shown(file)}" for file in result.files)
    screen.lines(f"next  {line}" for line in _next(result, view))


def beside(result: RunResult) -> Relatives:
    """Other tries at the same question."""
    from dfah_cli.workflow.siblings import relatives

    return relatives(result.run_dir, result.verified)


def _why(result: RunResult) -> str:
    return {"interrupted": "interrupted", "terminated": "terminated"}.get(result.stop_reason or "", result.outcome.why)


def verdict_line(outcome: Outcome, why: str, code: ExitCode) -> Any:
    """The verdict, and the exit code with its reason."""
    from rich.text import Text

    verdict = "no gate was asked for" if outcome.verdict is None else f"GATE {str(outcome.verdict).upper()}"
    style = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}.get(str(outcome.verdict), "bold")
    return Text.assemble((verdict, style), f"  exit {int(code)}: {why}")


def _next(result: RunResult, view: ReportView) -> Iterator[str]:
    place = shlex.quote(str(result.run_dir))
    if result.unfinished is not None:
        yield result.unfinished
    if result.stop_reason is not None:
        yield GO_ON.get(result.stop_reason, "to resume: {}").format(this_command())
    if view.attention:
        worst = view.cases[0].case_id
        yield f"dfah inspect {place} --case {shlex.quote(worst)}" if worst.isprintable() else f"dfah inspect {place}"
    if result.report.ineligible_groups and result.stop_reason is None:
        again = shlex.quote(f"{result.run_dir}-again")
        yield f"dfah rerun {place} --ineligible --out {again}{_named_anew(result.verified.plan)}"
    if not any(str(file).endswith(".html") for file in result.files):
        yield f"dfah report {place} -o report.html"
    if result.stop_reason is None:
        yield "rerunning this command calls nobody"


def _named_anew(plan: RunPlan) -> str:
    """The options without which a successor cannot observe as its parent did."""
    file = "" if plan.tools is None else " --tools-file FILE"
    return file if plan.digest_key_id is None else f"{file} --digest-key-env NAME"


def this_command() -> str:
    """The command line as it was typed, for a shell."""
    name = Path(sys.argv[0]).name
    return shlex.join([name if name in PROGRAM_NAMES else "dfah", *sys.argv[1:]])


def _quoted(text: str) -> str:
    from dfah_cli.render.text import quoted

    return quoted(text)


def _shown(path: object) -> str:
    from dfah_cli.render.text import escape

    return escape(str(path))


def run_document(result: RunResult) -> dict[str, Any]:
    """The result of a run as one JSON value."""
    from dfah_cli.render.json import report_document

    return report_document(
        result.report,
        result.gate_result,
        {
            "run": {
                "dir": str(result.run_dir),
                "calls_made": result.calls_made,
                "reused": result.reused,
                "stop_reason": result.stop_reason,
                "exit_code": int(result.exit_code),
                "why": _why(result),
                "attempts": result.attempts,
                **({} if result.attempts is None else beside(result).document()),
            }
        },
        result.against,
    )


Paths = tuple[tuple["CaseDetail", ...], tuple["DiagnosisTable", ...]]


def run_paths(run_dir: Path | RunUrl, report: ReportColumns, *, why: bool) -> Paths:
    """Replays of the cases and, with `why`, the diagnosis; where there is something to look at and not too much."""
    from dfah_cli.workflow.analyze import analyze

    # Verifying once more, with paths kept, is paid for only where paths are shown.
    varied = report.flagged_groups or any(case.dar < 1.0 for case in report.case_reports)
    if report.cases_selected > MAX_DETAILED_CASES or not varied:
        return (), ()
    return paths_of(analyze(run_dir, mode=report.mode, keep_examples=True), why=why)


def paths_of(found: Analysis, *, why: bool) -> Paths:
    """The same of an analysis that kept its paths."""
    from dfah_cli.report.details import case_details
    from dfah_cli.report.diagnosis import diagnosis

    table = found.verified.table
    if found.report.cases_selected > MAX_DETAILED_CASES:
        return (), ()
    return tuple(case_details(table)), diagnosis(table, found.measurement).tables if why else ()


def view_with(
    report: ReportColumns,
    result: GateResult | None,
    details: Sequence[CaseDetail] = (),
    against: Against | None = None,
    diagnosis: tuple[DiagnosisTable, ...] = (),
) -> ReportView:
    """The view of a report with its gate, its baseline and its diagnosis."""
    from dfah_cli.gate.outcome import gate_view
    from dfah_cli.report.view import view_of

    return view_of(report, gate=gate_view(result), details=details, against=against, diagnosis=diagnosis)


def show_view(view: ReportView, screen: Screen) -> None:
    """A report on the screen, as tables or as lines."""
    if screen.tables:
        from dfah_cli.render.terminal import report_renderables

        screen.show(report_renderables(view, screen.width))
        return
    from dfah_cli.render.plain import plain_lines

    screen.lines(plain_lines(view))


def plan_document(frozen: FrozenPlan) -> dict[str, Any]:
    """A frozen plan as one JSON value."""
    from dfah_cli.records.codec import plain

    return {
        "format": "dfah-plan-1",
        "run_plan_sha256": frozen.plan.sha256,
        "policy_sha256": frozen.policy_sha256,
        "manifest_hash": frozen.manifest.hash,
        "run_dir": str(frozen.run_dir),
        "calls": frozen.plan.episodes_planned,
        "cost_ceiling_usd": frozen.cost_ceiling_usd,
        "plan": plain(frozen.plan),
    }


def _observed(plan: RunPlan) -> list[tuple[str, str]]:
    """How the episodes will be observed, where that is not the usual way."""
    from dfah_cli.records.tool_source import told

    rows = [] if plan.tools is None else [("tools", told(plan.tools))]
    return rows if plan.digest_key_id is None else [*rows, ("digest_key", plan.digest_key_id)]


def show_plan(frozen: FrozenPlan, screen: Screen) -> None:
    """What a request would run; nothing was dispatched."""
    if screen.json:
        screen.document(plan_document(frozen))
        return
    plan = frozen.plan
    ceiling = (
        "unknown: no estimate was given" if frozen.cost_ceiling_usd is None else f"${frozen.cost_ceiling_usd:,.2f}"
    )
    rows = (
        ("run_plan", plan.sha256),
        ("policy", frozen.policy_sha256 or "none"),
        ("manifest", frozen.manifest.hash),
        ("suite", f"{plan.suite_id} {plan.suite_version}"),
        ("cases", f"{len(plan.case_tasks)} of {plan.suite_cases_total}"),
        ("replays", str(plan.replays)),
        ("seed", str(plan.seed)),
        ("calls", f"at most {plan.episodes_planned}"),
        ("cost", f"at most {ceiling}" if frozen.cost_ceiling_usd is not None else ceiling),
        ("time_limit", "none" if plan.episode_timeout_s is None else f"{plan.episode_timeout_s:g} s an episode"),
        *_observed(plan),
        ("out", str(frozen.run_dir)),
        ("dispatched", "nothing"),
    )
    screen.table(("plan", "value"), rows)
