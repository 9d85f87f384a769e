"""Pictures as inline SVG, made of numbers and escaped text only. Pure.

Every picture says in its title what it shows; its numbers stand in a table beside it; nothing is said by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from markupsafe import Markup

from dfah_cli.render.text import escape as harmless
from dfah_cli.report.overview import OverviewRow
from dfah_cli.report.rows import MetricRow, Range, TaskRow

WIDTH = 560
LABEL = 130
ROW = 26
TALL_ROW = 34
LADDER = ("tools", "count", "order", "arguments", "results")
MAX_TASKS = 60
BINS = 24
WIDE = 20


def drawing(height: int, title: str, body: Sequence[Markup]) -> Markup:
    """A picture with its title."""
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, height, title)
    return head + Markup("<title>{}</title>").format(title) + Markup("").join(body) + Markup("</svg>")


def label(text: str, y: int) -> Markup:
    """The name of a row, cut where the drawing begins."""
    shown = harmless(text)
    cut = shown if len(shown) <= 20 else shown[:19] + "…"
    return Markup('<text x="0" y="{}" class="label">{}</text>').format(y + 4, cut)


def place(value: float, low: float, high: float) -> float:
    """Where a value stands on the axis from low to high."""
    inner = WIDTH - LABEL - 12
    return round(LABEL + inner * (min(max(value, low), high) - low) / (high - low), 1)


def axis(low: float, high: float, y: int, ticks: Sequence[float]) -> list[Markup]:
    """The axis at y with its ticks."""
    line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="axis"/>').format(LABEL, WIDTH - 12, y, y)
    marks = [
        Markup('<text x="{}" y="{}" class="tick">{}</text>').format(place(tick, low, high), y + 14, f"{tick:g}")
        for tick in ticks
    ]
    return [line, *marks]


def metric_bar(row: MetricRow) -> Markup:
    """One number with its interval against its threshold; an empty picture when the number is unavailable."""
    if row.number is None:
        return Markup("")
    low, high = (-1.0, 1.0) if row.key == "gap" else (0.0, 100.0 if row.key == "flags_per_100_cases" else 1.0)
    body = [Markup('<line x1="0" x2="200" y1="12" y2="12" class="axis"/>')]
    at = _small(row.number, low, high)
    if row.low and row.high:
        ends = (_small(float(row.low), low, high), _small(float(row.high), low, high))
        body.append(Markup('<line x1="{}" x2="{}" y1="12" y2="12" class="interval"/>').format(*ends))
    if row.gate is not None and isinstance(row.gate.expected, float):
        limit = _small(row.gate.expected, low, high)
        body.append(Markup('<line x1="{0}" x2="{0}" y1="3" y2="21" class="limit"/>').format(limit))
    body.append(Markup('<circle cx="{}" cy="12" r="4.5" class="dot"/>').format(at))
    title = f"{row.label} {row.value}" + (f", threshold {row.gate.bound}" if row.gate else "")
    head = Markup('<svg viewBox="0 0 200 24" class="bar" role="img" aria-label="{}">').format(title)
    return head + Markup("").join(body) + Markup("</svg>")


def _small(value: float, low: float, high: float) -> float:
    return round(6 + 188 * (min(max(value, low), high) - low) / (high - low), 1)


def agreement_chart(tasks: Sequence[TaskRow]) -> Markup:
    """DAR (disc) and TAR.seq (square) of each task on one axis with intervals; the line between them is the gap."""
    shown = tasks[:MAX_TASKS]
    low = 0.5 if min((limit for task in shown for limit in _least(task)), default=0.0) >= 0.5 else 0.0
    body: list[Markup] = []
    for index, task in enumerate(shown):
        y = 18 + TALL_ROW * index
        dar, seq = place(task.numbers.dar, low, 1.0), place(task.numbers.tar.seq, low, 1.0)
        body.append(label(task.task, y))
        body += [*_interval(task.dar_range, y - 6, low), *_interval(task.seq_range, y + 6, low)]
        body.append(Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="gap"/>').format(seq, dar, y + 6, y - 6))
        body.append(
            Markup('<rect x="{}" y="{}" width="9" height="9" class="seq"/>').format(round(seq - 4.5, 1), y + 1.5)
        )
        body += _diamond(task, y + 6, low)
        body.append(Markup('<circle cx="{}" cy="{}" r="4.5" class="dot"/>').format(dar, y - 6))
    bottom = 18 + TALL_ROW * len(shown)
    body += axis(low, 1.0, bottom, (low, (low + 1) / 2, 1.0))
    loose = ", a diamond where parallel calls may swap" if any(task.seq_parallel for task in shown) else ""
    return drawing(bottom + 22, f"Agreement by task: DAR as disc, TAR.seq as square{loose}, with 95 % intervals", body)


def _diamond(task: TaskRow, y: int, low: float) -> list[Markup]:
    """TAR.seq where calls declared parallel may swap, small enough to stand in the square of the strict number."""
    tar = task.numbers.tar_partial_order
    if tar is None:
        return []
    shape = Markup('<path d="M{} {}l3.5 3.5l-3.5 3.5l-3.5 -3.5z" class="loose"/>')
    return [shape.format(place(tar.seq, low, 1.0), y - 3.5)]


def _least(task: TaskRow) -> tuple[float, ...]:
    ranges = [found[0] for found in (task.dar_range, task.seq_range) if found is not None]
    return (task.numbers.dar, task.numbers.tar.seq, *ranges)


def _interval(limits: Range | None, y: int, low: float) -> list[Markup]:
    """The line of the axis, with the interval on it."""
    line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="{}"/>')
    ends = [] if limits is None else [(place(limits[0], low, 1.0), place(limits[1], low, 1.0), y, y, "interval")]
    return [line.format(LABEL, WIDTH - 12, y, y, "grid"), *(line.format(*end) for end in ends)]


def drift_chart(rows: Sequence[OverviewRow]) -> Markup:
    """DAR with its interval and TAR.seq of each run on one axis, oldest on top."""
    shown = rows[:MAX_TASKS]
    body: list[Markup] = []
    for index, run in enumerate(shown):
        y, dar, seq = 14 + ROW * index, run.metrics[0], run.metrics[1]
        body.append(label(_end(run.label) + (" *" if run.moved else ""), y))
        body.append(Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="grid"/>').format(LABEL, WIDTH - 12, y, y))
        if dar.low:
            ends = (place(float(dar.low), 0.0, 1.0), place(float(dar.high), 0.0, 1.0), y, y)
            body.append(Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="interval"/>').format(*ends))
        if seq.number is not None:
            corner = (round(place(seq.number, 0.0, 1.0) - 4.5, 1), y - 4.5)
            body.append(Markup('<rect x="{}" y="{}" width="9" height="9" class="seq"/>').format(*corner))
        if dar.number is not None:
            body.append(Markup('<circle cx="{}" cy="{}" r="4.5" class="dot"/>').format(place(dar.number, 0.0, 1.0), y))
    bottom = 14 + ROW * len(shown)
    body += axis(0.0, 1.0, bottom, (0.0, 0.5, 1.0))
    return drawing(bottom + 22, "DAR and TAR.seq of each run, oldest on top", body)


def _end(text: str) -> str:
    """The end of a name: what tells runs apart stands there."""
    return text if len(text) <= 16 else f"…{text[-15:]}"


def ladder_chart(tasks: Sequence[TaskRow]) -> Markup:
    """Where two replays stop agreeing, one stacked bar a task; each step has its own hatch beside its colour."""
    shown = tasks[:MAX_TASKS]
    widest = max((sum(_losses(task)) for task in shown), default=0.0) or 1.0
    top = math.ceil(widest * 10) / 10
    body: list[Markup] = [_patterns()]
    for index, task in enumerate(shown):
        y, start = 14 + ROW * index, 0.0
        body.append(label(task.task, y))
        for name, loss in zip(LADDER, _losses(task), strict=True):
            if loss > 0:
                left, right = place(start, 0.0, top), place(start + loss, 0.0, top)
                body.append(_segment(name, left, right, y, loss))
            start += loss
    bottom = 14 + ROW * len(shown)
    body += axis(0.0, top, bottom, (0.0, top / 2, top))
    body += [_key(name, 8 + 110 * index, bottom + 38) for index, name in enumerate(LADDER)]
    return drawing(bottom + 50, "Where the agreement of two replays is lost, by task", body)


def _key(name: str, x: int, y: int) -> Markup:
    box = Markup('x="{}" y="{}" width="14" height="12"').format(x, y - 10)
    return Markup('<rect {} class="l-{}"/><rect {} fill="url(#h-{})"/><text x="{}" y="{}">{}</text>').format(
        box, name, box, name, x + 20, y, name
    )


def _segment(name: str, left: float, right: float, y: int, loss: float) -> Markup:
    box = Markup('x="{}" y="{}" width="{}" height="16"').format(left, y - 8, round(max(right - left, 0.5), 1))
    title = Markup("<title>{} {}</title>").format(name, f"{loss:.3f}")
    return Markup('<g class="step">{}<rect {} class="l-{}"/><rect {} fill="url(#h-{})"/></g>').format(
        title, box, name, box, name
    )


def anything_lost(tasks: Sequence[TaskRow]) -> bool:
    """Whether two replays of some case parted."""
    return any(loss for task in tasks for loss in _losses(task))


def _losses(task: TaskRow) -> list[float]:
    return [getattr(task.ladder, name) or 0.0 for name in LADDER]


HATCHES = {
    "tools": "",
    "count": "M0 6L6 0",
    "order": "M0 0L6 6",
    "arguments": "M0 3H6",
    "results": "M1 1h1v1h-1zM4 4h1v1h-1z",
}


def _patterns() -> Markup:
    made = [
        Markup(
            '<pattern id="h-{}" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<path d="{}" class="hatch"/></pattern>'
        ).format(name, path)
        for name, path in HATCHES.items()
    ]
    return Markup("<defs>") + Markup("").join(made) + Markup("</defs>")


def histogram(values: Sequence[int], spell: Callable[[int], str], title: str) -> Markup:
    """How often values of each size occur, in 24 equal bins; an empty picture when all are equal.

    Bins are equal on a logarithmic axis when the largest is far from the smallest. spell: turns a value into its label.
    """
    low, high = min(values), max(values)
    if low == high:
        return Markup("")
    wide = high > WIDE * max(low, 1)
    bins = [0] * BINS
    for value in values:
        bins[min(BINS - 1, int(BINS * _along(value, low, high, wide)))] += 1
    top, body = max(bins), []
    for index, number in enumerate(bins):
        height = round(60 * number / top, 1) if number == 0 else max(1.5, round(60 * number / top, 1))
        box = (20 + index * 21, round(66 - height, 1), 19, height)
        body.append(Markup('<rect x="{}" y="{}" width="{}" height="{}" class="hist"/>').format(*box))
    ticks = [(low, "start"), (high, "end")]
    ticks += [(round(math.exp((math.log(max(low, 1)) + math.log(high)) / 2)), "")] if wide else []
    for value, kind in ticks:
        x = round(20 + 502 * _along(value, low, high, wide), 1)
        body.append(Markup('<text x="{}" y="82" class="tick {}">{}</text>').format(x, kind, spell(value)))
    scale = ", logarithmic axis" if wide else ""
    return drawing(88, f"{title}: {len(values)} episodes from {spell(low)} to {spell(high)}{scale}", body)


def _along(value: int, low: int, high: int, wide: bool) -> float:
    """Where a value stands between the smallest, 0, and the largest, 1."""
    if not wide:
        return (value - low) / (high - low)
    least = math.log(max(low, 1))
    return (math.log(max(value, 1)) - least) / (math.log(high) - least)
