"""A report for step summaries and pull-request comments. Pure.

User text stands in code spans or escaped cells: it can be neither markup nor a mention nor a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dfah_cli.render.text import escape
from dfah_cli.report.diagnosis import DiagnosisTable
from dfah_cli.report.rows import PATHS_PARALLEL, PROOF_NAMES, TAR_PARALLEL, proof_columns
from dfah_cli.report.view import ReportView

MARKER = "<!-- dfah-report:{key} -->"
CASES = 20
NUMBER = re.compile(r"|—|[+-]?[0-9][0-9.,]*( %| of [0-9]+)?")
BRIEF = 3
"""Rows of a diagnosis in brief."""
SIGN = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "❔ inconclusive"}


def code(text: str) -> str:
    """User text as a code span that no content of its own can close, safe inside a table cell."""
    shown = escape(text).replace("|", "\\|")
    ticks = "`"
    while ticks in shown:
        ticks += "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def markdown(view: ReportView, *, key: str = "report", brief: bool = False, left_out: Sequence[str] = ()) -> str:
    """The report; `key` goes into a hidden marker by which a later comment finds and replaces this one.

    brief: of the diagnosis, what stands first only. left_out: what the view lacks, to be named.
    """
    safe = "".join(c for c in escape(key) if c.isalnum() or c in "._-")
    return "\n".join([MARKER.format(key=safe), *_lines(view, brief, left_out)]) + "\n"


def _lines(view: ReportView, brief: bool, left_out: Sequence[str]) -> Iterator[str]:
    yield f"## {code(view.title)}"
    yield ""
    verdict = "" if view.gate_verdict is None else f"**Gate: {SIGN[view.gate_verdict]}** · "
    yield f"{verdict}{view.sentence}"
    yield ""
    yield f"{view.design} · {view.scope} · status {view.status} · {view.mode} mode"
    yield ""
    yield from _metrics(view)
    yield ""
    yield f"Two replays agree: decision {view.pairwise[0].bracketed}, path {view.pairwise[1].bracketed}."
    yield from _against(view)
    yield from _tasks(view)
    yield from _cases(view)
    yield from _diagnosis(view.diagnosis, brief)
    yield from _reasons(view)
    yield from _checks(view)
    yield ""
    yield from (f"> {limit}" for limit in view.limits)
    if left_out:
        yield f"> Too long for this place: {', '.join(left_out)}. `dfah report RUN -o report.html` has everything."
    yield ""
    yield "<details><summary>Evidence</summary>"
    yield ""
    yield from _table(("", ""), ((name, code(value)) for name, value in view.facts))
    yield ""
    yield "</details>"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "|" + " --- |" * len(header)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _metrics(view: ReportView) -> Iterator[str]:
    rows = (
        (
            row.label,
            row.value,
            row.interval,
            f"{row.n} {row.unit}",
            "" if row.gate is None else row.gate.bound,
            "" if row.gate is None else SIGN[row.gate.verdict],
        )
        for row in view.metrics
    )
    yield from _table(("metric", "value", "95 % interval", "n", "gate", "verdict"), rows)


def _against(view: ReportView) -> Iterator[str]:
    held = view.against
    if held is None:
        return
    yield ""
    yield f"### Against the baseline {code(held.base)}"
    yield ""
    yield escape(held.sentence)
    if held.refused is not None:
        return
    yield ""
    yield " · ".join([held.scope, *([held.flags] if held.flags else [])])
    yield ""
    rows = (
        (row.label, f"{row.base} ({row.base_interval})", f"{row.now} ({row.now_interval})",
         f"{row.change} ({row.change_interval})", "" if row.gate is None else row.gate.bound,
         "" if row.gate is None else SIGN[row.gate.verdict])
        for row in held.rows
    )  # fmt: skip
    yield from _table(("metric", "baseline", "this run", "change", "gate", "verdict"), rows)
    yield ""
    yield from _table(
        ("drift", "mean index", "exact test", "so that"), ((d.level, d.mean, d.p, d.reading) for d in held.drift)
    )
    if held.flips:
        yield ""
        flips = ((code(f.case_id), code(f.task), code(f.old), code(f.new)) for f in held.flips[:CASES])
        yield from _table(("changed decision", "task", "baseline", "this run"), flips)
        yield from _more(held.flips)
    for told, names in (("Newly flagged", held.newly_flagged), ("No longer flagged", held.no_longer_flagged)):
        if names:
            yield ""
            yield f"{told}: {', '.join(map(code, names[:CASES]))}" + (
                f" … {len(names) - CASES} more" if len(names) > CASES else ""
            )
    yield from (f"\n{escape(told)}" for told in (*held.alarms, *held.remarks))


def _more(items: Sequence[object]) -> Iterator[str]:
    if len(items) > CASES:
        yield ""
        yield f"… {len(items) - CASES} more"


def _tasks(view: ReportView) -> Iterator[str]:
    if len(view.tasks) > 1:
        yield ""
        rows = (
            (code(t.task), str(t.cases), t.dar, t.tar_seq, *([t.seq_parallel] if view.parallel else []), t.gap,
             str(t.flags))
            for t in view.tasks
        )  # fmt: skip
        loose = (TAR_PARALLEL,) if view.parallel else ()
        yield from _table(("task", "cases", "DAR", "TAR.seq", *loose, "gap", "flags"), rows)


def _cases(view: ReportView) -> Iterator[str]:
    if not view.attention:
        return
    yield ""
    shown = view.cases[: min(CASES, view.attention)]
    rows = (
        (code(c.case_id), code(c.decision), c.paths, *([c.paths_parallel] if view.parallel else []), c.kind,
         code(c.parts_at))
        for c in shown
    )  # fmt: skip
    loose = (PATHS_PARALLEL,) if view.parallel else ()
    yield from _table(("review first", "decision", "same path", *loose, "kind", "parts at"), rows)
    if view.attention > len(shown):
        yield ""
        yield f"… {view.attention - len(shown)} more"


def _diagnosis(tables: Sequence[DiagnosisTable], brief: bool) -> Iterator[str]:
    """Each table folded, with its title in sight; in brief, the first rows of each, and the first table unfolded."""
    for place, found in enumerate(tables):
        rows = found.rows[:BRIEF] if brief else found.rows
        rest = found.rest + len(found.rows) - len(rows)
        yield ""
        yield f"<details{' open' if brief and not place else ''}><summary>{escape(found.title)}</summary>"
        yield ""
        yield from _table(found.columns, (tuple(map(_cell, row)) for row in rows))
        if rest:
            yield ""
            yield f"… {rest} more"
        yield ""
        yield "</details>"


def _cell(text: str) -> str:
    """A number stands as it is; a name in a code span."""
    return text if NUMBER.fullmatch(text) else code(text)


def _reasons(view: ReportView) -> Iterator[str]:
    if view.reasons:
        yield ""
        yield from _table(("not judged because", "cases"), ((code(r), str(n)) for r, n in view.reasons))


def _checks(view: ReportView) -> Iterator[str]:
    if not view.checks:
        return
    more = proof_columns(view.checks)
    rows = (
        (
            code(check.name),
            escape(check.found),
            check.bound,
            *(escape(getattr(check, name)).replace("|", "\\|") for name in more),
            SIGN[check.verdict],
        )
        for check in view.checks
    )
    yield ""
    yield from _table(("gate check", "found", "asked for", *(PROOF_NAMES[name] for name in more), "verdict"), rows)
    if view.suppositions:
        yield ""
        yield view.suppositions
