"""Pictures of a run beside its baseline: hollow marks are the baseline, filled ones this run. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from dfah_cli.render.charts import LABEL, MAX_TASKS, TALL_ROW, WIDTH, axis, drawing, label, place
from dfah_cli.report.against import Estimate, TaskMove
from dfah_cli.report.against_view import MoveRow

BAR_WIDTH, BAR_MARGIN = 200, 6
FLAGS = "flags_per_100_cases"
SHARES = ("dar", "tar_seq", "pairwise_decision", "pairwise_path")


def sides_chart(rows: Sequence[MoveRow]) -> Markup:
    """The shares of both sides with their intervals, the baseline above this run."""
    shown = [row for row in rows if row.key in SHARES]
    least = min((one.low for row in shown for one in (row.numbers.base, row.numbers.now)), default=0.0)
    low = 0.5 if least >= 0.5 else 0.0
    body: list[Markup] = []
    for index, row in enumerate(shown):
        y = 18 + TALL_ROW * index
        body.append(label(row.label, y))
        body += _side(row.numbers.base, y - 6, low, "was")
        body += _side(row.numbers.now, y + 6, low, "now")
    bottom = 18 + TALL_ROW * len(shown)
    body += axis(low, 1.0, bottom, (low, (low + 1) / 2, 1.0))
    return drawing(bottom + 22, "Agreement in the baseline, hollow, and in this run, filled", body)


def _side(one: Estimate, y: int, low: float, kind: str) -> list[Markup]:
    ends = (place(one.low, low, 1.0), place(one.high, low, 1.0), y, y)
    grid = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(LABEL, WIDTH - 12, y, y)
    line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="interval {}"/>').format(*ends, kind)
    dot = Markup('<circle cx="{}" cy="{}" r="4.5" class="dot {}"/>').format(place(one.value, low, 1.0), y, kind)
    return [grid, line, dot]


def tasks_chart(tasks: Sequence[TaskMove]) -> Markup:
    """DAR (discs) and TAR.seq (squares) of each task on both sides; the line leads from the baseline to this run."""
    shown = tasks[:MAX_TASKS]
    low = 0.5 if all(value >= 0.5 for task in shown for value in (*task.dar, *task.tar_seq)) else 0.0
    body: list[Markup] = []
    for index, task in enumerate(shown):
        y = 18 + TALL_ROW * index
        body.append(label(task.task, y))
        body += _path(task.dar, y - 6, low, square=False)
        body += _path(task.tar_seq, y + 6, low, square=True)
    bottom = 18 + TALL_ROW * len(shown)
    body += axis(low, 1.0, bottom, (low, (low + 1) / 2, 1.0))
    return drawing(bottom + 22, "Each task in the baseline, hollow, and in this run, filled", body)


def _path(sides: tuple[float, float], y: int, low: float, *, square: bool) -> list[Markup]:
    was, now = (place(side, low, 1.0) for side in sides)
    shape = (
        Markup('<rect x="{x}" y="{y}" width="9" height="9" class="seq {kind}"/>')
        if square
        else Markup('<circle cx="{x}" cy="{y}" r="4.5" class="dot {kind}"/>')
    )
    back = 4.5 if square else 0.0
    return [
        Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(LABEL, WIDTH - 12, y, y),
        Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="gap"/>').format(was, now, y, y),
        shape.format(x=round(now - back, 1), y=y - back, kind="now"),
        shape.format(x=round(was - back, 1), y=y - back, kind="was"),
    ]


def change_bars(rows: Sequence[MoveRow]) -> list[tuple[MoveRow, Markup]]:
    """The changes with their intervals around zero; the dashed line is what the gate tolerates."""
    widest = {flags: _widest([row for row in rows if (row.key == FLAGS) is flags]) for flags in (True, False)}
    return [(row, _change_bar(row, widest[row.key == FLAGS])) for row in rows]


def change_scale(rows: Sequence[MoveRow]) -> str:
    """What the ends of the bars are."""
    shares, flags = (_widest([row for row in rows if (row.key == FLAGS) is kind]) for kind in (False, True))
    return f"±{shares:g} (flags: ±{flags:g})"


def _widest(rows: Sequence[MoveRow]) -> float:
    """The smallest tenth of the whole range that holds every interval and limit."""
    unit = 10.0 if any(row.key == FLAGS for row in rows) else 0.1
    ends = [abs(end) for row in rows for end in (row.numbers.change.low, row.numbers.change.high)]
    ends += [abs(row.gate.expected) for row in rows if row.gate is not None and isinstance(row.gate.expected, float)]
    return round(unit * max(1, math.ceil(max(ends, default=0.0) / unit)), 1)


def _change_bar(row: MoveRow, widest: float) -> Markup:
    change = row.numbers.change
    ends = _across(change.low, widest), _across(change.high, widest)
    body = [
        Markup('<line x1="0" x2="{}" y1="12" y2="12" class="axis"/>').format(BAR_WIDTH),
        Markup('<line x1="{0}" x2="{0}" y1="2" y2="22" class="zero"/>').format(_across(0.0, widest)),
        Markup('<line x1="{}" x2="{}" y1="12" y2="12" class="interval"/>').format(*ends),
    ]
    if row.gate is not None and isinstance(row.gate.expected, float):
        limit = _across(row.gate.expected, widest)
        body.append(Markup('<line x1="{0}" x2="{0}" y1="3" y2="21" class="limit"/>').format(limit))
    body.append(Markup('<circle cx="{}" cy="12" r="4.5" class="dot"/>').format(_across(change.value, widest)))
    title = f"change of {row.label} {row.change}, {row.change_interval}"
    head = Markup('<svg viewBox="0 0 {} 24" class="bar" role="img" aria-label="{}">').format(BAR_WIDTH, title)
    return head + Markup("").join(body) + Markup("</svg>")


def _across(value: float, widest: float) -> float:
    inside = min(max(value, -widest), widest)
    return round(BAR_MARGIN + (BAR_WIDTH - 2 * BAR_MARGIN) * (inside + widest) / (2 * widest), 1)
