"""A report for pipes and logs: one fact a line, `key=value`, no drawing, nothing wrapped. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from dfah_cli.render.text import fact
from dfah_cli.report.rows import PROOF, GateRow, MetricRow
from dfah_cli.report.view import ReportView

CASES = 10
PLAIN_NAMES = {"proof": "bound", "cases": "cases", "needed": "needed", "note": "note"}


def plain_lines(view: ReportView) -> Iterator[str]:
    """The report, the verdict first."""
    yield fact(verdict=view.sentence)
    yield fact(suite=view.title, plan=view.plan, design=view.design, scope=view.scope)
    yield fact(status=view.status, mode=view.mode)
    yield from map(_metric, (*view.metrics, *view.pairwise))
    for task in view.tasks:
        yield fact(task=task.task, cases=task.cases, dar=task.dar, tar_seq=task.tar_seq, gap=task.gap, flags=task.flags)
    for case in view.cases[: min(CASES, view.attention)]:
        yield fact(
            case=case.case_id, task=case.task, decision=case.decision, paths=case.paths, kind=case.kind,
            status=case.status, parts_at=case.parts_at,
        )  # fmt: skip
    for reason, groups in view.reasons:
        yield fact(ineligible=reason, cases=groups)
    yield from (_check(check) for check in view.checks)
    if view.gate_verdict is not None:
        yield fact(gate=view.gate_verdict)
    yield from (fact(fact=name, value=value) for name, value in view.facts)


def _metric(row: MetricRow) -> str:
    return fact(
        metric=row.key,
        value=row.value,
        low=row.low or None,
        high=row.high or None,
        n=row.n,
        unit=row.unit,
        gate=None if row.gate is None else row.gate.verdict,
    )


def _check(check: GateRow) -> str:
    proof = {PLAIN_NAMES[name]: getattr(check, name) or None for name in PROOF}
    return fact(check=check.name, verdict=check.verdict, observed=check.found, expected=check.bound, **proof)
