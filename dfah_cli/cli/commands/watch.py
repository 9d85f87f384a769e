"""`dfah watch`"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, Number, option, stacked
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ConfigurationError, ExitCode, most_serious

if TYPE_CHECKING:
    from dfah_cli.workflow.watching import Progress

TERMINAL_S = 1.0
LINES_S = 10.0
STEP_S = 0.2
BAR = 20
COLUMNS = ("run", "state", "episodes", "failed", "spent", "gate")
SEPARATOR = "   "
Show = Callable[[Sequence["Progress"]], None]


@click.command(name="watch")
@click.argument("places", metavar="RUN|DIR...", nargs=-1, required=True)
@stacked(
    option("--interval", type=Number(min=0.1), default=None,
           help="Seconds between two reports: 1 on a terminal, 10 elsewhere."),
    option("--once", is_flag=True, help="Look once and end."),
    COMMON,
)  # fmt: skip
def command(places: tuple[str, ...], interval: float | None, once: bool, as_json: bool) -> int:
    """Progress of runs that other processes are writing; ends when none is being written any more.

    Reads only what is new, takes no lease, verifies nothing. Runs that appear later below DIR are shown too. Exits 4
    when a run ended without being complete, 3 when one is damaged; --json prints the last state only.

    \b
    dfah watch .dfah/runs
    dfah watch multirun/2026-11-30/ && dfah report multirun/2026-11-30/*/run -o index.html
    """
    from dfah_cli.workflow.watching import Watch

    screen = Screen(as_json=as_json)
    pace = interval or (TERMINAL_S if screen.tables else LINES_S)
    watch = Watch(places)
    try:
        with _shower(screen) as show:
            found = _until_quiet(watch, show, pace, once=once)
    finally:
        watch.close()
    if screen.json:
        screen.document({"format": "dfah-watch-1", "runs": [_object(run) for run in found]})
    elif screen.tables:
        from dfah_cli.render.grid import roster

        screen.show(roster(COLUMNS, list(map(_row, found)), screen.width, ("gate", "spent")))
    screen.flush()
    return int(most_serious([_code(run) for run in found]))


def _until_quiet(watch: Any, show: Show, pace: float, *, once: bool) -> list[Progress]:
    """The last state of every run; `show` is called each `pace` seconds, and whenever a run changes its state."""
    shown_at, states = None, None
    while True:
        found: list[Progress] = watch.look(datetime.now(UTC))
        if not found:
            raise ConfigurationError("watch: no run directory there; `dfah ls DIR` lists those below a directory")
        now, live = time.monotonic(), any(run.live for run in found)
        if shown_at is None or states != [run.state for run in found] or now - shown_at >= pace:
            show(found)
            shown_at, states = now, [run.state for run in found]
        if once or not live:
            return found
        time.sleep(min(STEP_S, pace))


@contextmanager
def _shower(screen: Screen) -> Iterator[Show]:
    """How runs are shown meanwhile: redrawn in place on a terminal, one line a run elsewhere."""
    if screen.json:
        yield lambda found: None
    elif not screen.tables:
        yield lambda found: screen.lines(map(_line, found))
    else:
        from rich.live import Live

        console = screen.console(screen.out)
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda found: live.update(_frame(found, screen), refresh=True)


def _frame(found: Sequence[Progress], screen: Screen) -> Any:
    from rich.text import Text

    from dfah_cli.render.text import writable

    frame = Text(no_wrap=True, overflow="ellipsis")
    encoding = getattr(screen.out, "encoding", None)
    for run, told in zip(found, beside(found, screen.width), strict=True):
        filled = BAR * (run.done or 0) // (run.planned or 1)
        bar = writable("━" * filled + "─" * (BAR - filled), encoding)
        frame.append(bar[:filled], "green").append(bar[filled:], "dim")
        frame.append(writable(told, encoding) + "\n")
    return frame


def beside(found: Sequence[Progress], width: int) -> list[str]:
    """What stands beside each bar: columns that all runs share, or, on a narrow terminal, a name and the rest below."""
    from rich.cells import cell_len

    from dfah_cli.render.grid import WHOLE_NAME
    from dfah_cli.render.text import escape
    from dfah_cli.render.wrapping import hanging, middle

    names, parts = [middle(escape(run.run.name), WHOLE_NAME) for run in found], [_told(run) for run in found]
    rows = _aligned([[name, *told] for name, told in zip(names, parts, strict=True)])
    if max(map(cell_len, rows)) > width - BAR:
        rows = [
            "\n".join([f"  {middle(name, width - BAR - 2)}", *hanging(_listed(told), width, "  ", "  ")])
            for name, told in zip(names, parts, strict=True)
        ]
    return [_with_reason(row, run, width) for row, run in zip(rows, found, strict=True)]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line a row; a column that is empty in every row is not there."""
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    return [
        "  "
        + SEPARATOR.join(
            cell + " " * (wide - cell_len(cell)) for cell, wide in zip(row, widths, strict=True) if wide
        ).rstrip()
        for row in rows
    ]


def _listed(told: Sequence[str]) -> list[str]:
    *first, last = filter(None, told)
    return [*(f"{part}," for part in first), last]


def _with_reason(row: str, run: Progress, width: int) -> str:
    from dfah_cli.render.text import escape
    from dfah_cli.render.wrapping import hanging

    return row if run.why is None else "\n".join([row, *hanging(escape(run.why).split(" "), width, "  ", "  ")])


def _told(run: Progress) -> list[str]:
    """A run for people, the most important first; empty where there is nothing to say."""
    from dfah_cli.render.text import escape
    from dfah_cli.report.words import duration, money

    held = f" (+{money(run.held_nusd)} held)" if run.held_nusd else ""
    waits = run.slowest is not None and run.slowest[1] > 1.0
    return [
        run.state,
        f"{run.done or 0}/{run.planned or '?'}",
        f"{run.failed} failed" if run.failed else "",
        f"{run.reused} reused" if run.reused else "",
        "" if run.tool_calls is None else f"{run.tool_calls} tool calls",
        "" if run.spent_nusd is None else f"{money(run.spent_nusd)}{held}",
        "" if run.per_s is None or run.left_s is None else f"{run.per_s:.3g}/s, {duration(run.left_s * 1e6)} left",
        f"slowest {escape(run.slowest[0])[:40]} {run.slowest[1]:.0f} s" if run.slowest and waits else "",
    ]


def _line(run: Progress) -> str:
    from dfah_cli.render.text import fact

    return fact(**_object(run))


def _object(run: Progress) -> dict[str, Any]:
    case, waited = run.slowest or (None, None)
    return {
        "run": str(run.run),
        "state": run.state,
        "episodes": run.done,
        "episodes_planned": run.planned,
        "failed": run.failed,
        "reused": run.reused,
        "tool_calls": run.tool_calls,
        "cost_nusd": run.spent_nusd,
        "held_nusd": run.held_nusd,
        "per_s": None if run.per_s is None else float(f"{run.per_s:.3g}"),
        "left_s": None if run.left_s is None else round(run.left_s),
        "slowest_case": case,
        "slowest_s": None if waited is None else round(waited, 1),
        "gate": run.gate,
        "why": run.why,
    }


def _row(run: Progress) -> tuple[str, ...]:
    from dfah_cli.report.words import UNAVAILABLE, money

    episodes = UNAVAILABLE if run.done is None else f"{run.done}/{run.planned}"
    failed = UNAVAILABLE if run.failed is None else str(run.failed)
    return str(run.run), run.state, episodes, failed, money(run.spent_nusd), run.gate or UNAVAILABLE


def _code(run: Progress) -> ExitCode:
    if run.state == "damaged":
        return ExitCode.BAD_EVIDENCE
    return ExitCode.OK if run.live or run.complete else ExitCode.UNDECIDED
