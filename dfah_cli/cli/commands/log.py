"""`dfah log`"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, Whole, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.workflow.history import Event

NAMES = {"w": "writer", "no": "segment", "sha256": "digest", "policy_sha256": "policy"}
"""What a field of a record is called on a terminal, where its own name says too little."""


@click.command(name="log")
@click.argument("run", metavar="RUN")
@stacked(
    option("--case", "case_id", metavar="ID", default=None, help="Only what happened to this case (its pseudonym)."),
    option("--tail", type=Whole(min=1), default=None, metavar="N", help="Only the last N events."),
    COMMON,
)
def command(run: str, case_id: str | None, tail: int | None, as_json: bool) -> int:
    """What happened in a run, in order: sessions, intents, episodes, interruptions, stops, reports, gates.

    \b
    dfah log .dfah/runs/first --tail 20
    dfah log .dfah/runs/first --case CASE-001 --json
    """
    from dfah_cli.workflow.history import history

    screen = Screen(as_json=as_json)
    events: Iterable[Event] = history(run, case_id=case_id)
    events = events if tail is None else deque(events, maxlen=tail)
    if screen.json:
        screen.document({"format": "dfah-log-1", "run": run, "events": [_object(event) for event in events]})
    else:
        for event in events:
            _show(event, screen)
    screen.flush()
    return 0


def _object(event: Event) -> dict[str, Any]:
    return {"n": event.n, "at": event.at, "what": event.what, "case_id": event.case_id, **event.facts}


def _show(event: Event, screen: Screen) -> None:
    from dfah_cli.render.text import spoken

    facts = {name: value for name, value in event.facts.items() if value is not None}
    case = {} if event.case_id is None else {"case": event.case_id}
    if screen.tables:
        clock = "" if event.at is None else event.at[:19].replace("T", " ")
        screen.prose(f"{clock:<19}  {event.what:<13}  {spoken(**case, **dict(map(_for_people, facts.items())))}")
    else:
        screen.fact(n=event.n, at=event.at or "none", what=event.what, **case, **facts)


def _for_people(fact: tuple[str, Any]) -> tuple[str, Any]:
    """Amounts in dollars and spans in seconds, under names that say so."""
    from dfah_cli.report.words import duration, money

    name, value = fact
    for suffix, spell in (("_nusd", money), ("_us", duration)):
        if name.endswith(suffix):
            return name.removesuffix(suffix), spell(value)
    return NAMES.get(name, name), value
