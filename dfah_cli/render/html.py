"""A report as one self-contained page: no network, nothing executed that is not ours, readable without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from dfah_cli.gate.evaluate import GateResult
from dfah_cli.gate.outcome import gate_view
from dfah_cli.render import against_charts, charts
from dfah_cli.render.text import escape
from dfah_cli.report import words
from dfah_cli.report.against_view import NAMES, AgainstView
from dfah_cli.report.details import CaseDetail, ReplayCell
from dfah_cli.report.divergence import Branch, divergence_tree
from dfah_cli.report.overview import Overview
from dfah_cli.report.record import ReportColumns
from dfah_cli.report.rows import PROOF_NAMES, TAR_PARALLEL, CaseRow, proof_columns
from dfah_cli.report.typical import typical_texts
from dfah_cli.report.view import ReportView, view_of

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

STATIC_ROWS = 60
NAMED_CASES = 60
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BEYOND = "#"


def html(view: ReportView, details: Sequence[CaseDetail] = ()) -> str:
    """The page. details: replays of the cases; without them the strip and the tree of a case are left out."""
    known = {detail.case_id: detail for detail in details}
    style, script = asset("report.css"), asset("report.js")
    rows = [case_object(case, known.get(case.case_id)) for case in view.cases]
    judged = {case.case_id for case in view.cases}
    rows += [unjudged_object(detail) for detail in details if detail.case_id not in judged]
    cells = [cell for detail in details for cell in detail.replays]
    return template("report.html.j2").render(
        view=view,
        policy=policy(style, script),
        style=style,
        script=script,
        metrics=[(row, charts.metric_bar(row)) for row in view.metrics],
        agreement=charts.agreement_chart(view.tasks),
        ladder=charts.ladder_chart(view.tasks),
        ladder_names=charts.LADDER,
        lost=charts.anything_lost(view.tasks),
        spreads=spreads(cells),
        rows=rows,
        static_rows=rows[:STATIC_ROWS],
        data=safe_json(rows),
        **_against(view.against),
        tar_parallel=TAR_PARALLEL,
        proof=proof_columns(view.checks),
        proof_names=PROOF_NAMES,
        share=words.share,
    )


def spreads(cells: Sequence[ReplayCell]) -> list[tuple[str, str, Markup]]:
    """Name, words and picture of what an episode took; the picture is empty when all took the same."""
    costs = [cell.cost_nusd for cell in cells if cell.cost_nusd]
    told: list[tuple[str, list[int], Callable[[int], str]]] = [
        ("Time in the adapter call", [cell.latency_us for cell in cells], words.duration)
    ]
    told += [("Cost, where it is above zero", costs, words.money)]
    return [
        (name, words.spread(values, spell), charts.histogram(values, spell, name))
        for name, values, spell in told
        if values
    ]


def _against(view: AgainstView | None) -> dict[str, Any]:
    rows = () if view is None else view.rows
    return {
        "most": NAMED_CASES,
        "moves": against_charts.change_bars(rows),
        "change_scale": against_charts.change_scale(rows),
        "sides": against_charts.sides_chart(rows),
        "sides_by_task": against_charts.tasks_chart(() if view is None else view.tasks),
    }


def render_html(report: ReportColumns, result: GateResult | None = None, details: Sequence[CaseDetail] = ()) -> str:
    """The page of a report, with its gate and the replays of its cases when they are given."""
    return html(view_of(report, gate=gate_view(result), details=details), details)


def overview_html(view: Overview) -> str:
    """Several runs on one page; it has no script at all."""
    style = asset("report.css")
    return template("overview.html.j2").render(
        view=view,
        policy=policy(style, ""),
        style=style,
        chart=charts.drift_chart(view.rows),
        moves=tuple(NAMES.values()),
        dash=words.UNAVAILABLE,
    )


def asset(name: str) -> str:
    """The text of a file that is part of the page."""
    return resources.files("dfah_cli.render").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Template:
    """A template; everything it prints is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = escape
    environment.filters["cell_class"] = cell_class
    return environment.from_string(asset(name))


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy: this one style, this one script, nothing else from anywhere."""
    return (
        f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def safe_json(value: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def case_object(case: CaseRow, detail: CaseDetail | None) -> dict[str, Any]:
    """A row of the case table, as the page's script and template read it."""
    return {
        "id": escape(case.case_id),
        "task": escape(case.task),
        "decision": escape(case.decision),
        "paths": case.paths,
        "loose": case.paths_parallel,
        "kind": case.kind,
        "status": case.status,
        "parts": escape(case.parts_at),
        **_replays(detail),
    }


def unjudged_object(detail: CaseDetail) -> dict[str, Any]:
    """The row of a case that is not in the numbers."""
    statuses = sorted({str(cell.status) for cell in detail.replays}) or ["never recorded"]
    return {
        "id": escape(detail.case_id),
        "task": escape(detail.task),
        "decision": escape(", ".join(f"{label} {times}" for label, times in detail.decisions)) or words.UNAVAILABLE,
        "paths": words.UNAVAILABLE,
        "loose": words.UNAVAILABLE,
        "kind": words.UNAVAILABLE,
        "status": "not judged",
        "parts": ", ".join(statuses),
        **_replays(detail),
    }


def _replays(detail: CaseDetail | None) -> dict[str, Any]:
    if detail is None:
        return {"strip": [], "tree": [], "why": []}
    labels = [label for label, _ in detail.decisions]
    tree = list(tree_lines(divergence_tree(detail.variants))) if detail.variants else []
    why = [escape(told) for told in typical_texts(detail)]
    return {"strip": [_cell(cell, labels) for cell in detail.replays], "tree": tree, "why": why}


def _cell(cell: ReplayCell, labels: list[str]) -> list[Any]:
    """Letter of the path, place of its decision among the case's decisions, decision or status, replay."""
    judged = cell.decision is not None and cell.variant is not None and str(cell.status) == "valid"
    letter = _letter(cell.variant) if judged and cell.variant is not None else "×"
    place = labels.index(cell.decision) if cell.decision in labels else -1
    told = escape(cell.decision) if judged and cell.decision else str(cell.status)
    return [letter, place if judged else -1, told, cell.replay_index]


def _letter(variant: int) -> str:
    return LETTERS[variant] if variant < len(LETTERS) else BEYOND


def cell_class(cell: list[Any]) -> str:
    """The style of a strip cell; report.js has the same rule."""
    letter, place = cell[0], cell[1]
    variant = "x" if letter == "×" else str(LETTERS.index(letter) if letter in LETTERS[:8] else 7)
    return f"c v{variant} d{min(place, 5)}"


def tree_lines(branch: Branch, depth: int = 0) -> list[list[Any]]:
    """The divergence tree as (depth, steps, replays) lines."""
    steps = " ── ".join(escape(words.step_text(step)) for step in branch.steps) or "(no further call)"
    lines: list[list[Any]] = []
    if branch.steps or not branch.children or depth:
        lines.append([depth, steps, " ".join(map(str, branch.replays))])
        depth += 1
    for child in branch.children:
        lines += tree_lines(child, depth)
    return lines
