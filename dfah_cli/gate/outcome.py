"""From a report and a gate result to what the caller is told: one object for the printed verdict and the exit code."""

from __future__ import annotations

from attrs import frozen

from dfah_cli.errors import ExitCode
from dfah_cli.gate.evaluate import SETTLED, GateCheck, GateResult, Verdict
from dfah_cli.records.enums import ReplayMode, ReportStatus
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import GateRow, GateView


@frozen(kw_only=True)
class Outcome:
    """verdict: None when no gate was asked for. why: the reason of the exit code in words."""

    code: ExitCode
    verdict: Verdict | None
    why: str


def judge(report: ReportColumns, result: GateResult | None, *, mode: ReplayMode) -> Outcome:
    """The outcome of a run or of a gate; a run that is not complete is never 0, in any mode."""
    verdict = None if result is None else result.verdict
    if report.status is not ReportStatus.COMPLETE and not settled(result):
        return Outcome(code=ExitCode.UNDECIDED, verdict=verdict, why="the run is not complete")
    if verdict is Verdict.INCONCLUSIVE:
        return Outcome(
            code=ExitCode.UNDECIDED, verdict=verdict, why=f"the data do not decide the gate{_needed(result)}"
        )
    if verdict is Verdict.FAIL and mode is ReplayMode.BLOCKING:
        return Outcome(code=ExitCode.NO, verdict=verdict, why="the gate does not pass")
    if verdict is Verdict.FAIL:
        return Outcome(code=ExitCode.OK, verdict=verdict, why="shadow mode reports a failing gate and goes on")
    return Outcome(code=ExitCode.OK, verdict=verdict, why="done" if verdict is None else "the gate passes")


def settled(result: GateResult | None) -> bool:
    """Whether the run was ended early because its verdict could not change any more."""
    return result is not None and any(c.name == "report_complete" and c.observed == SETTLED for c in result.checks)


def _needed(result: GateResult | None) -> str:
    needed = [] if result is None else [c.cases_needed for c in result.checks if c.cases_needed is not None]
    return f"; about {max(needed)} cases like these would" if needed else ""


def gate_rows(result: GateResult | None) -> tuple[GateRow, ...]:
    """The checks as rows of a view; none without a gate."""
    return () if result is None else tuple(map(_row, result.checks))


def gate_view(result: GateResult | None) -> GateView | None:
    """The gate as strings; None without one."""
    if result is None:
        return None
    return GateView(
        verdict=str(result.verdict),
        checks=gate_rows(result),
        suppositions=_suppositions(result),
    )


def _row(check: GateCheck) -> GateRow:
    level = "" if check.level is None else f" ({100 * check.level:.6g} %)"
    return GateRow(
        name=check.name,
        verdict=str(check.verdict),
        observed=check.observed,
        expected=check.expected,
        at_least=check.at_least,
        proof="" if check.bound is None else f"{check.bound:g}{level}",
        cases="" if check.n_cases is None else str(check.n_cases),
        needed="" if check.cases_needed is None else str(check.cases_needed),
        note=check.note or "",
    )


SUPPOSED = {Verdict.PASS: "passes", Verdict.FAIL: "fails", Verdict.INCONCLUSIVE: "is undecided"}


def _suppositions(result: GateResult) -> str:
    if result.agreeing is None or result.disagreeing is None:
        return ""
    best, worst = SUPPOSED[result.agreeing], SUPPOSED[result.disagreeing]
    if best == worst:
        return f"On the numbers the gate {best} whether the cases that could not be judged agree or disagree."
    return f"On the numbers the gate {best} if the cases that could not be judged agree, and {worst} if they disagree."
