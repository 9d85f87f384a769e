"""`dfah attribute`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.commands.run import DESIGN
from dfah_cli.cli.options import AGENT, BUDGET, COMMON, DEBUG_LOG, EPISODE_COST, SUITE, Whole, option, stacked
from dfah_cli.cli.placement import PLACEMENT, placed
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.metrics.attribution import Part
    from dfah_cli.render.grid import Cell
    from dfah_cli.workflow.attribution import Announcement, Attribution


@click.command(name="attribute")
@stacked(
    AGENT,
    SUITE,
    option("--out", metavar="DIR", required=True, help="Directory in which each run gets its own."),
    option("--tools-file", metavar="FILE", required=True, help="Where the tools are recorded; outside the runs."),
    option("--tools-key-env", metavar="NAME", default=None, help="Variable with the key that encrypts the recording."),
    option(
        "--freeze",
        type=click.Choice(["results", "latency", "scheduling"]),
        multiple=True,
        help="Only this source by itself; repeatable. By default each of them.",
    ),
    DESIGN,
    option("--concurrency", type=Whole(min=1, max=100_000), default=8, show_default=True, help="While not frozen."),
    BUDGET,
    EPISODE_COST,
    PLACEMENT,
    option("--dry-run", is_flag=True, help="Only say what would be run, and what it costs at most."),
    DEBUG_LOG,
    COMMON,
)
def command(
    out: str, freeze: tuple[str, ...], dry_run: bool, debug_log: str | None, as_json: bool, **given: Any
) -> int:
    """Split instability into tools, scheduling and agent, by freezing one source at a time.

    Runs the suite once as it is, recording the tools; then, when something varied, once for each frozen source and once
    with all of them frozen. Each is an ordinary run in DIR. The calls are announced first.

    \b
    dfah attribute --agent acme.agents:triage --out .dfah/split --tools-file tools.jsonl --dry-run
    """
    from dfah_cli.cli.edge import replaced
    from dfah_cli.cli.progress import watching
    from dfah_cli.workflow.attribution import FREEZING, SOURCES, announce, attribute, document

    request = _request(**given)
    announced = announce(request, out, tuple(SOURCES[name] for name in freeze) or tuple(FREEZING))
    screen = Screen(as_json=as_json)
    screen.note(announcement(announced))
    if dry_run:
        _show_plan(announced, screen)
        screen.flush()
        return 0
    with watching(screen, debug_log=debug_log) as observer:
        found = attribute(request, announced, observer)
    if screen.json:
        screen.document(document(found))
    else:
        _show(found, screen)
    screen.flush()
    return replaced(found.code)


def _request(agent: str, cases: tuple[str, ...], **same: Any) -> Any:
    from dfah_cli.workflow.request import RunRequest

    return RunRequest(adapter=agent, case=cases, tools="record", **placed(same))


def announcement(announced: Announcement) -> str:
    """What will be called and spent, at most."""
    cost = (
        "cost unknown: no estimate was given" if announced.cost_usd is None else f"at most ${announced.cost_usd:,.2f}"
    )
    return (
        f"{len(announced.arms)} runs of {announced.calls_each} calls = at most {announced.calls} calls, {cost}; "
        "all but the first only when something varies in it"
    )


def _show_plan(announced: Announcement, screen: Screen) -> None:
    if screen.json:
        screen.document(
            {
                "format": "dfah-attribution-plan-1",
                "planned_calls": announced.calls,
                "planned_cost_usd": announced.cost_usd,
                "arms": [
                    {"name": arm.name, "frozen": list(arm.frozen), "run": str(place), "calls": announced.calls_each}
                    for arm, place in announced.arms
                ],
            }
        )
        return
    rows = [
        (arm.name, ", ".join(arm.frozen) or "nothing", str(announced.calls_each), str(place))
        for arm, place in announced.arms
    ]
    screen.table(("arm", "frozen", "calls", "run"), rows)


def _show(found: Attribution, screen: Screen) -> None:
    from dfah_cli.report.words import UNAVAILABLE, share, signed
    from dfah_cli.workflow.attribution import NAMES, sentences

    arms = [
        (one.arm.name, ", ".join(one.arm.frozen) or "nothing", one.status, str(one.calls), str(one.lost),
         str(one.not_recorded), str(one.run_dir))
        for one in found.arms
    ]  # fmt: skip
    screen.table(("arm", "frozen", "status", "called", "not_judged", "not_recorded", "run"), arms)
    if found.splits:
        sources = tuple(found.splits[0].sources)
        rows: list[tuple[Cell, ...]] = [
            (NAMES[one.metric], *map(_lines, (one.live, *(one.sources[name] for name in sources), one.remaining)),
             UNAVAILABLE if one.unexplained is None else signed(share(one.unexplained)))
            for one in found.splits
        ]  # fmt: skip
        _show_parts(("instability", "live", *sources, "agent", "left over"), rows, screen)
    screen.remarks(*sentences(found))


def _show_parts(names: tuple[str, ...], rows: list[tuple[Cell, ...]], screen: Screen) -> None:
    if not screen.tables:
        # The sign for people is none that programs look for.
        screen.table(names, [[_one_line(cell).replace("1 − ", "1 - ") for cell in row] for row in rows])
        return
    from dfah_cli.render.grid import grid

    # A row for each source: there may be more of them than a terminal has room for beside each other.
    metrics, *sources = zip(names, *rows, strict=True)
    screen.line()
    screen.show(grid([_one_line(name) for name in metrics], sources, screen.width))
    screen.line()


def _one_line(cell: Cell) -> str:
    value, *limits = (cell,) if isinstance(cell, str) else cell
    return f"{value} ({limits[0]})" if limits else value


def _lines(part: Part | None) -> tuple[str, ...]:
    """The part, and below it its interval."""
    from dfah_cli.report.words import UNAVAILABLE, between, share

    return (UNAVAILABLE,) if part is None else (share(part.value), between((part.low, part.high)))
