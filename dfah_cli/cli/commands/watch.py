"""`dfah watch`"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.workflow.listing import Listed

LIVE = ("running", "held elsewhere")


@click.command(name="watch")
@click.argument("places", metavar="RUN|DIR...", nargs=-1, required=True)
@stacked(
    option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds between looks."),
    option("--once", is_flag=True, help="Look once and end."),
    COMMON,
)
def command(places: tuple[str, ...], interval: float, once: bool, as_json: bool) -> int:
    """Progress of runs that other processes are writing; ends when none is being written any more.

    Reads only, takes no lease, verifies nothing.

    \b
    dfah watch .dfah/runs
    dfah watch .dfah/runs/first --once --json
    """
    screen = Screen(as_json=as_json)
    pace = Pace(time.monotonic)
    while True:
        rows = [pace.row(run) for run in _look(places)]
        if screen.json:
            screen.document({"format": "dfah-watch-1", "runs": rows})
        else:
            for row in rows:
                screen.fact(**row)
        screen.flush()
        if once or not any(row["state"] in LIVE for row in rows):
            return 0
        time.sleep(interval)


def _look(places: Iterable[str]) -> list[Listed]:
    from dfah_cli.errors import ConfigurationError
    from dfah_cli.workflow.listing import list_runs

    found = [run for place in places for run in list_runs(place)]
    if not found:
        raise ConfigurationError("watch: no run directory there; `dfah ls DIR` lists those below a directory")
    return found


class Pace:
    """How fast each run advances, measured between two looks."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: dict[str, tuple[float, int]] = {}

    def row(self, run: Listed) -> dict[str, Any]:
        """What is shown of a run; rate and time left from the second look on."""
        done, planned, now = run.episodes or 0, run.planned or 0, self._clock()
        since, had = self._first.setdefault(str(run.path), (now, done))
        rate = (done - had) / (now - since) if now > since and done > had else None
        return {
            "run": str(run.path),
            "state": run.state,
            "episodes": f"{done}/{planned}",
            "cost_usd": None if run.cost_nusd is None else run.cost_nusd / 1_000_000_000,
            "per_s": None if rate is None else round(rate, 2),
            "left_s": None if rate is None else round((planned - done) / rate),
            "gate": run.verdict,
            "why": run.why,
        }
