"""A report for people at a terminal, as Rich renderables. User text never reaches Rich as markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from dfah_cli.records.enums import PathVariationKind
from dfah_cli.render.grid import grid
from dfah_cli.render.text import escape
from dfah_cli.render.wrapping import hanging
from dfah_cli.report.against_view import AgainstView
from dfah_cli.report.rows import PROOF_NAMES, TAR_PARALLEL, MetricRow, TaskRow, proof_columns
from dfah_cli.report.view import ReportView
from dfah_cli.report.words import KIND_WORDS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

VERDICT_STYLE = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
CASES = 6
NARROW = 72
LADDER = ("tools", "count", "order", "arguments", "results")
LADDER_KEY = "bars: chance that two replays of a case part over this, ████████ for one half"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def report_renderables(view: ReportView, width: int = 100) -> Iterator[RenderableType]:
    """The report in reading order, verdict sentence first; an empty text is a blank line.

    width: of the terminal, in columns; below `NARROW` the tables become sentences.
    """
    if width < NARROW:
        for line in narrow_lines(view):
            lead = line[: len(line) - len(line.lstrip())]
            yield from map(_text, hanging(line.split(" ")[len(lead) :], width, lead, lead + "  "))
        return
    yield _text(view.sentence, "bold")
    yield _text("")
    yield _headline(view)
    yield _text(
        f"two replays agree   decision {view.pairwise[0].bracketed} · path {view.pairwise[1].bracketed}",
        "dim",
    )
    if view.tasks:
        yield _text("")
        yield from _tasks(view, width)
    if view.attention:
        yield _text("")
        yield from _cases(view, width)
        if view.attention > CASES:
            yield _text(f"… {view.attention - CASES} more", "dim")
    yield from _unjudged(view)
    yield from _against(view)
    yield from _other_checks(view)


def _text(content: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(content, style=style)


def _table(*columns: tuple[str, str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name, justify in columns:
        table.add_column(name, justify=justify, overflow="fold", no_wrap=False)  # type: ignore[arg-type]
    return table


def _row(table: Table, *cells: Any) -> None:
    table.add_row(*(cell if not isinstance(cell, str) else _text(cell) for cell in cells))


def narrow_lines(view: ReportView) -> Iterator[str]:
    """The same for a narrow terminal: one sentence a number, a task, a case."""
    yield view.sentence
    yield ""
    for row in view.metrics:
        gate = "" if row.gate is None else f", {row.gate.bound} {row.gate.verdict}"
        interval = f" ({row.interval})" if row.interval else ""
        yield f"{row.label} {row.value}{interval}, {row.n} {row.unit}{gate}"
    yield f"two replays agree: decision {view.pairwise[0].bracketed}, path {view.pairwise[1].bracketed}"
    yield ""
    for task in view.tasks:
        loose = f"{TAR_PARALLEL} {task.seq_parallel}, " if view.parallel else ""
        told = f"{task.cases} cases, DAR {task.dar}, TAR.seq {task.tar_seq}, {loose}{task.flags} flagged"
        yield f"{escape(task.task)}: {told}"
    for case in view.cases[: min(CASES, view.attention)]:
        yield ""
        yield f"{escape(case.case_id)}: {case.status}, {escape(case.decision)}"
        loose = f" ({case.paths_parallel} where parallel calls may swap)" if view.parallel else ""
        parts = "" if case.kind == KIND_WORDS[PathVariationKind.NONE] else f"; {case.kind}; {escape(case.parts_at)}"
        yield f"  {case.paths} on one path{loose}{parts}"
    if view.against is not None:
        yield ""
        yield from _narrow_against(view.against)
    for reason, groups in view.reasons:
        yield f"not judged: {groups} for {escape(reason)}"
    for check in view.checks:
        if check.verdict != "pass":
            yield f"gate {escape(check.name)}: {escape(check.found)}, asked for {check.bound}: {check.verdict}"
            proof = [f"{PROOF_NAMES[name]} {escape(getattr(check, name))}" for name in proof_columns([check])]
            if proof:
                yield f"  {', '.join(proof)}"
    if view.suppositions:
        yield view.suppositions


def _narrow_against(held: AgainstView) -> Iterator[str]:
    yield f"against {escape(held.base)}: {escape(held.sentence)}"
    for row in held.rows:
        yield f"{row.label} {row.base}, now {row.now}: {row.change} ({row.change_interval})"
    for flip in held.flips[:CASES]:
        yield f"{escape(flip.case_id)}: {escape(flip.old)}, now {escape(flip.new)}"
    if held.refused is None:
        yield " · ".join([held.scope, *([held.flags] if held.flags else [])])


def _headline(view: ReportView) -> Table:
    intervals = any(row.interval for row in view.metrics)
    gated = any(row.gate for row in view.metrics)
    columns = [("", "left"), ("value", "right")]
    columns += [("95 % interval", "left")] if intervals else []
    columns += [("n", "right")]
    columns += [("gate", "left"), ("", "left")] if gated else []
    table = _table(*columns)
    for row in view.metrics:
        _row(table, *_metric_cells(row, intervals, gated))
    return table


def _metric_cells(row: MetricRow, intervals: bool, gated: bool) -> list[Any]:
    cells: list[Any] = [row.label, row.value]
    if intervals:
        cells.append(row.interval)
    cells.append(f"{row.n} {row.unit}")
    if gated:
        gate = row.gate
        cells += ["", ""] if gate is None else [gate.bound, _text(gate.verdict, VERDICT_STYLE[gate.verdict])]
    return cells


def _tasks(view: ReportView, width: int) -> Iterator[RenderableType]:
    """Agreement, and what it is lost over: in one table, or in two where the terminal does not hold one."""
    loose = [(_two_lines(TAR_PARALLEL), "right")] if view.parallel else []
    columns = [("cases", "right"), ("DAR", "right"), ("TAR.seq", "right"), *loose]
    numbers = [
        [str(task.cases), task.dar, task.tar_seq, *([task.seq_parallel] if loose else [])] for task in view.tasks
    ]
    names, bars = [escape(task.task) for task in view.tasks], [_ladder(task) for task in view.tasks]
    lost = [(name, "left") for name in LADDER]
    if not any(map(any, bars)):
        yield _by_task(names, columns, numbers)
        return
    both = [[*one, *two] for one, two in zip(numbers, bars, strict=True)]
    if _natural(["task", *names], [*columns, *lost], both) <= width:
        yield _by_task(names, [*columns, *lost], both)
    else:
        yield _by_task(names, columns, numbers)
        yield _text("")
        yield _by_task(names, lost, bars)
    yield _text(LADDER_KEY, "dim")


def _by_task(names: Sequence[str], columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> Table:
    table = _table(("task", "left"), *columns)
    for column in table.columns[1:]:
        # The names of the tasks give way; numbers and bars stay whole.
        column.no_wrap = True
    for name, row in zip(names, rows, strict=True):
        _row(table, name, *row)
    return table


def _natural(names: Sequence[str], columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> int:
    """Width of a table in which nothing is wrapped."""
    cells = zip([heading for heading, _ in columns], *rows, strict=True)
    widest = [max(map(cell_len, "\n".join(column).split("\n"))) for column in (names, *cells)]
    return sum(widest) + 2 * (len(widest) - 1)


def _two_lines(heading: str) -> str:
    return heading.replace(", ", ",\n")


def _ladder(task: TaskRow) -> list[str]:
    """Bars of eight cells for a loss of one half or more; a loss that is there is never invisible."""
    return [_bar(getattr(task.ladder, name)) for name in LADDER]


def _bar(loss: float | None) -> str:
    if loss is None:
        return "—"
    eighths = min(64, max(1, round(loss * 128))) if loss > 0 else 0
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _cases(view: ReportView, width: int) -> Iterator[RenderableType]:
    loose = ("parallel",) if view.parallel else ()
    shown = view.cases[: min(CASES, view.attention)]
    rows = [
        [case.case_id, case.decision, case.paths, *([case.paths_parallel] if view.parallel else []), case.kind,
         case.parts_at]
        for case in shown
    ]  # fmt: skip
    yield from grid(("review first", "decision", "same path", *loose, "kind", "parts at"), rows, width, ("kind",))


def _unjudged(view: ReportView) -> Iterator[RenderableType]:
    if view.reasons:
        yield _text("")
        table = _table(("not judged because", "left"), ("cases", "right"))
        for reason, groups in view.reasons:
            _row(table, escape(reason), str(groups))
        yield table


def _against(view: ReportView) -> Iterator[RenderableType]:
    held = view.against
    if held is None:
        return
    yield _text("")
    yield _text(f"against {escape(held.base)}: {escape(held.sentence)}", "bold")
    if held.refused is not None:
        return
    table = _table(
        ("", "left"), ("baseline", "right"), ("this run", "right"), ("change", "right"), ("95 % interval", "left")
    )
    for row in held.rows:
        _row(table, row.label, row.base, row.now, row.change, row.change_interval)
    yield table
    if held.flips:
        flips = _table(("decision changed", "left"), ("baseline", "left"), ("this run", "left"))
        for flip in held.flips[:CASES]:
            _row(flips, escape(flip.case_id), escape(flip.old), escape(flip.new))
        yield flips
    yield _text(" · ".join([held.scope, *([held.flags] if held.flags else [])]), "dim")


def _other_checks(view: ReportView) -> Iterator[RenderableType]:
    """What did not pass and does not stand with the headline numbers in full."""
    shown = {row.key for row in view.metrics}
    failing = [check for check in view.checks if check.verdict != "pass"]
    others = [check for check in failing if check.name not in shown or proof_columns([check])]
    if others:
        yield _text("")
        more = proof_columns(others)
        columns = ("gate check", "found", "asked for", *(PROOF_NAMES[name] for name in more), "")
        table = _table(*((name, "left") for name in columns))
        for check in others:
            proof = (escape(getattr(check, name)) for name in more)
            verdict = _text(check.verdict, VERDICT_STYLE[check.verdict])
            _row(table, escape(check.name), escape(check.found), check.bound, *proof, verdict)
        yield table
    if view.suppositions:
        yield _text(view.suppositions)
