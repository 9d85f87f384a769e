"""One case in depth, and the queue of cases to review. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen
from rich.cells import cell_len

from dfah_cli.render.text import escape, fact
from dfah_cli.render.wrapping import hanging
from dfah_cli.report import words
from dfah_cli.report.cases import CaseReport, TARReport
from dfah_cli.report.details import CaseDetail
from dfah_cli.report.divergence import Branch, Parting, divergence_tree, first_parting, parting
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import CaseRow
from dfah_cli.report.typical import (
    changed_texts,
    path_text,
    typical_object,
    typical_path,
    typical_texts,
    variant_objects,
)

WIDE = 10_000


def case_lines(detail: CaseDetail, case: CaseReport | None, width: int = WIDE) -> Iterator[str]:
    """A case for people, in lines of so many columns: what was decided, the tree of its paths, where they part."""
    yield from hanging(headline(detail, case).split(" "), width, rest="  ")
    if not detail.variants:
        yield "no path was observed"
        return
    for line in tree_text(divergence_tree(detail.variants)):
        yield from line.within(width)
    yield ""
    for told in _ending(detail, case):
        yield from hanging(told.split(" "), width, rest="  ")


def _ending(detail: CaseDetail, case: CaseReport | None) -> Iterator[str]:
    yield from _partings(detail)
    yield from map(escape, typical_texts(detail))
    if case is not None and case.tar_partial_order is not None:
        strict, loose = words.share(case.tar.seq), words.share(case.tar_partial_order.seq)
        also = "also" if strict == loose else f"but {loose}"
        yield f"TAR.seq {strict}, {also} where calls declared parallel may swap"
    bad = [cell for cell in detail.replays if cell.status != "valid"]
    for cell in bad:
        yield f"replay {cell.replay_index} was not judged: {cell.status}"


def headline(detail: CaseDetail, case: CaseReport | None) -> str:
    """The case in one line."""
    replays, paths = len(detail.replays), len(detail.variants)
    decided = ", ".join(f"{escape(label)} {times}" for label, times in detail.decisions) or "no decision"
    if len(detail.decisions) == 1 and detail.decisions[0][1] == replays:
        decided = f'all "{escape(detail.decisions[0][0])}"'
    if case is None:
        told = "not judged"
    elif case.dar < 1.0:
        told = "decision changed"
    else:
        told = f"flagged: {words.KIND_WORDS[case.path_variation_kind]}" if case.unanimous_with_path_change else "stable"
    return (
        f"{escape(detail.case_id)} · task {escape(detail.task)} · {words.count(replays, 'replay')}, {decided} · "
        f"{words.count(paths, 'path')} · {told}"
    )


@frozen
class TreeLine:
    """A branch of the divergence tree. first, rest: what stands before it and before its further lines."""

    first: str
    rest: str
    steps: tuple[str, ...]
    who: str

    def __str__(self) -> str:
        return f"{self.first}{' ── '.join(self.steps)}   {self.who}"

    def within(self, width: int) -> Iterator[str]:
        """The branch in lines of so many columns, no step broken that a line can hold."""
        if cell_len(str(self)) <= width:
            yield str(self)
        else:
            *others, end = self.steps
            yield from hanging([*(f"{step} ──" for step in others), end, f"· {self.who}"], width, self.first, self.rest)


def tree_text(branch: Branch) -> Iterator[TreeLine]:
    """The divergence tree, shared beginnings once, with the replays that took each branch."""
    trunk = "│ " if branch.children else "  "
    yield TreeLine("", trunk, _steps(branch, "start"), _who(branch))
    yield from _branches(branch, "")


def _branches(branch: Branch, indent: str) -> Iterator[TreeLine]:
    for index, child in enumerate(branch.children):
        last = index == len(branch.children) - 1
        below = indent + ("   " if last else "│  ")
        further = below + ("│ " if child.children else "  ")
        yield TreeLine(f"{indent}{'└─' if last else '├─'} ", further, _steps(child, "ends here"), _who(child))
        yield from _branches(child, below)


def _steps(branch: Branch, nothing: str) -> tuple[str, ...]:
    return tuple(escape(words.step_text(step)) for step in branch.steps) or (nothing,)


def _who(branch: Branch) -> str:
    return f"replays {' '.join(map(str, branch.replays))}" if len(branch.replays) > 1 else f"replay {branch.replays[0]}"


def _partings(detail: CaseDetail) -> Iterator[str]:
    reference, *others = detail.variants
    if not others:
        yield "All observed paths are equal."
    for other in others:
        found = parting(reference.steps, other.steps)
        names = ", ".join(map(str, other.replays))
        yield f"replay {names} parts at {escape(words.parting_text(found))}"


def case_facts(detail: CaseDetail, case: CaseReport | None) -> Iterator[str]:
    """The same as one fact a line."""
    yield fact(case=detail.case_id, task=detail.task, replays=len(detail.replays), paths=len(detail.variants))
    if case is not None:
        dar, seq, strong = words.share(case.dar), words.share(case.tar.seq), words.share(case.tar.strong)
        kind = words.KIND_WORDS[case.path_variation_kind]
        yield fact(dar=dar, tar_seq=seq, tar_strong=strong, kind=kind, flagged=case.unanimous_with_path_change)
        if case.tar_partial_order is not None:
            loose = case.tar_partial_order
            yield fact(tar_seq_partial_order=words.share(loose.seq), tar_strong_partial_order=words.share(loose.strong))
    for cell in detail.replays:
        yield fact(replay=cell.replay_index, status=str(cell.status), decision=cell.decision or words.UNAVAILABLE,
                   path=words.UNAVAILABLE if cell.variant is None else cell.variant)  # fmt: skip
    for number, variant in enumerate(detail.variants):
        for place, step in enumerate(variant.steps, 1):
            yield fact(path=number, step=place, call=words.step_text(step))
    found = first_parting(detail)
    if found is not None:
        yield fact(parts_at=words.parting_text(found), cause=str(found.cause))
    yield from _typical_facts(detail)


def _typical_facts(detail: CaseDetail) -> Iterator[str]:
    found = typical_path(detail)
    if found is None:
        return
    yield fact(typical=path_text(found.names), path=found.path)
    for named in found.named:
        decided = ", ".join(f"{label} {times}" for label, times in named.decisions) or words.UNAVAILABLE
        yield fact(variant=path_text(named.path), replays=named.count, decisions=decided)
    for told in changed_texts(detail, found):
        yield fact(differs=told)


def case_document(detail: CaseDetail, case: CaseReport | None) -> dict[str, Any]:
    """The same as JSON; hashes in full."""
    found = typical_path(detail)
    return {
        "format": "dfah-case-1",
        "case_id": detail.case_id,
        "task": detail.task,
        "judged": case is not None,
        "kind": None if case is None else str(case.path_variation_kind),
        "flagged": None if case is None else case.unanimous_with_path_change,
        "tar": None if case is None else _shares(case.tar),
        "tar_partial_order": None if case is None else _shares(case.tar_partial_order),
        "replays": [
            {"replay_index": c.replay_index, "status": str(c.status), "decision": c.decision, "path": c.variant}
            for c in detail.replays
        ],
        "paths": [{"replays": list(v.replays), "steps": [list(step) for step in v.steps]} for v in detail.variants],
        "first_parting": _parting_object(first_parting(detail)),
        "typical": typical_object(found),
        "variants": variant_objects(found),
    }


def _shares(tar: TARReport | None) -> dict[str, float | None] | None:
    if tar is None:
        return None
    return {"set": tar.set, "bag": tar.bag, "seq": tar.seq, "args": tar.args, "strong": tar.strong}


def _parting_object(found: Parting | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"step": found.step, "cause": str(found.cause), "here": found.here, "there": found.there,
            "tags": list(found.tags)}  # fmt: skip


def queue_row(row: CaseRow) -> dict[str, str | None]:
    """A line of the review queue. paths_partial_order: None when the suite declares no calls parallel."""
    return {
        "case": row.case_id,
        "task": row.task,
        "status": row.status,
        "decision": row.decision,
        "paths": row.paths,
        "paths_partial_order": row.paths_parallel or None,
        "kind": row.kind,
        "parts_at": row.parts_at,
    }


def lost_row(detail: CaseDetail) -> tuple[str, str, str]:
    """A case that was not judged: id, task, statuses of its replays."""
    statuses = sorted({str(cell.status) for cell in detail.replays})
    return detail.case_id, detail.task, ", ".join(statuses) or "never recorded"


def review_load(report: ReportColumns, minutes_per_case: float, volume: int | None) -> dict[str, Any]:
    """How many cases a reviewer would see, and the hours it takes; a rate of the suite, not of production.

    volume: cases a month; None leaves the projection out.
    """
    load: dict[str, Any] = {
        "flagged": report.flagged_groups,
        "decision_changed": sum(1 for case in report.case_reports if case.dar < 1.0),
        "of": report.observed_groups,
        "review_hours": round(report.flagged_groups * minutes_per_case / 60, 1),
    }
    rate = report.unanimous_with_path_change_rate
    if volume is not None and rate is not None:
        load["flagged_a_month"] = round(rate * volume)
        load["hours_a_month"] = round(rate * volume * minutes_per_case / 60, 1)
    return load


def load_sentence(load: dict[str, Any]) -> str:
    """The load in words."""
    told = f"{load['flagged']} of {words.count(load['of'], 'case')} flagged, {load['review_hours']} hours of review"
    if load["decision_changed"]:
        told += f"; {load['decision_changed']} more changed their decision, which no review of flags would show"
    if "flagged_a_month" not in load:
        return told
    return f"{told}; {load['flagged_a_month']} flags and {load['hours_a_month']} hours a month at this rate"
