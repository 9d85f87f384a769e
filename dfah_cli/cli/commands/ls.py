"""`dfah ls`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.workflow.listing import Listed

COLUMNS = ("run", "suite", "state", "status", "episodes", "cost", "dar", "gate", "changed")
SPARE = ("changed", "cost", "suite", "status", "dar", "gate")
"""Left out on a narrow terminal, in this order."""


@click.command(name="ls")
@click.argument("directory", metavar="[DIR]", default=".dfah/runs")
@COMMON
def command(directory: str, as_json: bool) -> int:
    """The runs below a directory: state, progress, cost, DAR, verdict. Verifies nothing; dfah verify does.

    \b
    dfah ls
    dfah ls .dfah/runs --json | jq -r '.runs[] | select(.state=="unfinished").run'
    """
    from dfah_cli.workflow.listing import list_runs

    runs = list(list_runs(directory))
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document({"format": "dfah-ls-1", "runs": [_object(run) for run in runs]})
    elif runs and screen.tables:
        from dfah_cli.render.grid import heading, roster

        columns, spare = ([*map(heading, names)] for names in (COLUMNS, SPARE))
        screen.show(roster(columns, [_row(run) for run in runs], screen.width, spare))
    elif runs:
        screen.table(COLUMNS, [_row(run) for run in runs])
    else:
        screen.note(f"no runs below {directory}")
    screen.flush()
    return 0


def _object(run: Listed) -> dict[str, Any]:
    return {
        "run": str(run.path),
        "suite": run.suite,
        "state": run.state,
        "status": run.status,
        "episodes": run.episodes,
        "episodes_planned": run.planned,
        "cost_nusd": run.cost_nusd,
        "dar": run.dar,
        "gate": run.verdict,
        "changed_at": run.changed_at.isoformat(),
        "why": run.why,
    }


def _row(run: Listed) -> tuple[str, ...]:
    progress = "—" if run.episodes is None else f"{run.episodes}/{run.planned}"
    return (
        str(run.path),
        run.suite or "—",
        run.state,
        run.status or "—",
        progress,
        "—" if run.cost_nusd is None else f"${run.cost_nusd / 1e9:.2f}",
        "—" if run.dar is None else f"{run.dar:.3f}",
        run.verdict or "—",
        f"{run.changed_at:%Y-%m-%d %H:%M}",
    )
