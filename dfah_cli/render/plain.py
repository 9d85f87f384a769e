"""A report for pipes and logs: one fact a line, `key=value`, no drawing, nothing wrapped. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from dfah_cli.render.text import fact
from dfah_cli.report.against_view import AgainstView
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
        loose = task.seq_parallel or None
        yield fact(task=task.task, cases=task.cases, dar=task.dar, tar_seq=task.tar_seq, tar_seq_partial_order=loose,
                   gap=task.gap, flags=task.flags)  # fmt: skip
    for case in view.cases[: min(CASES, view.attention)]:
        yield fact(
            case=case.case_id, task=case.task, decision=case.decision, paths=case.paths,
            paths_partial_order=case.paths_parallel or None, kind=case.kind, status=case.status,
            parts_at=case.parts_at,
        )  # fmt: skip
    for reason, groups in view.reasons:
        yield fact(ineligible=reason, cases=groups)
    yield from (_check(check) for check in view.checks)
    if view.against is not None:
        yield from _against(view.against)
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


def _against(held: AgainstView) -> Iterator[str]:
    yield fact(baseline=held.base, found=held.sentence, scope=held.scope or None)
    for row in held.rows:
        yield fact(against=row.key, base=row.base, now=row.now, change=row.change, interval=row.change_interval,
                   gate=None if row.gate is None else row.gate.verdict)  # fmt: skip
    for drift in held.drift:
        yield fact(
            drift=drift.level, mean=drift.mean, p=drift.p.removeprefix("p ").removeprefix("= "), reading=drift.reading
        )
    for flip in held.flips[:CASES]:
        yield fact(flipped=flip.case_id, task=flip.task, base=flip.old, now=flip.new)
    if held.refused is None:
        yield fact(flipped_cases=len(held.flips), newly_flagged=len(held.newly_flagged),
                   no_longer_flagged=len(held.no_longer_flagged))  # fmt: skip


def _check(check: GateRow) -> str:
    proof = {PLAIN_NAMES[name]: getattr(check, name) or None for name in PROOF}
    return fact(check=check.name, verdict=check.verdict, observed=check.found, expected=check.bound, **proof)
