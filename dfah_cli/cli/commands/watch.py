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
        screen.table(("run", "state", "episodes", "failed", "spent", "gate"), map(_row, found))
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

    from dfah_cli.render.text import escape, writable

    frame = Text(no_wrap=True, overflow="ellipsis")
    for run in found:
        planned = run.planned or 1
        filled = BAR * (run.done or 0) // planned
        encoding = getattr(screen.out, "encoding", None)
        bar = writable("━" * filled + "─" * (BAR - filled), encoding)
        frame.append(bar[:filled], "green").append(bar[filled:], "dim")
        frame.append(writable(_beside(escape(run.run.name), _told(run), screen.width - len(bar)), encoding) + "\n")
    return frame


def _beside(name: str, parts: list[str], room: int) -> str:
    """What stands beside a bar, and below it when the terminal is too narrow for all of it."""
    from rich.cells import cell_len

    from dfah_cli.render.wrapping import hanging, middle

    line = SEPARATOR.join([f"  {name}", *parts])
    if cell_len(line) <= room:
        return line
    below = hanging([f"{part}," for part in parts[:-1]] + parts[-1:], room + BAR, "  ", "  ")
    return "\n".join([f"  {middle(name, room - 2)}", *below])


def _told(run: Progress) -> list[str]:
    """A run for people, the most important first."""
    from dfah_cli.render.text import escape
    from dfah_cli.report.words import duration, money

    parts = [run.state, f"{run.done or 0}/{run.planned or '?'}"]
    if run.failed:
        parts.append(f"{run.failed} failed")
    if run.reused:
        parts.append(f"{run.reused} reused")
    if run.tool_calls is not None:
        parts.append(f"{run.tool_calls} tool calls")
    if run.spent_nusd is not None:
        held = f" (+{money(run.held_nusd)} held)" if run.held_nusd else ""
        parts.append(f"{money(run.spent_nusd)}{held}")
    if run.per_s is not None and run.left_s is not None:
        parts.append(f"{run.per_s:.3g}/s, {duration(run.left_s * 1e6)} left")
    if run.slowest is not None and run.slowest[1] > 1.0:
        parts.append(f"slowest {escape(run.slowest[0])[:40]} {run.slowest[1]:.0f} s")
    return [*parts, *([escape(run.why)] if run.why else [])]


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
