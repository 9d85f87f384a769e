"""What to do with a slot that an earlier session left behind. Pure; the runner obeys it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.execution.budget import taken_nusd
from dfah_cli.store.protocol import SlotState


class Action(StrEnum):
    """What happens to a slot when a run is opened."""

    DISPATCH = "dispatch"
    INTERRUPT = "interrupt"
    REUSE = "reuse"
    LEAVE = "leave"


# A planned slot proves that nothing was sent; after an intent the provider may have received the request.
ACTIONS: Mapping[SlotState, Action] = {
    SlotState.ABSENT: Action.DISPATCH,
    SlotState.PLANNED: Action.DISPATCH,
    SlotState.DISPATCHING: Action.INTERRUPT,
    SlotState.COMMITTED: Action.REUSE,
    SlotState.ELSEWHERE: Action.LEAVE,
}


@frozen(kw_only=True)
class Survey:
    """What earlier sessions spent and left open.

    spent_nusd: of committed episodes, and the reservation of those whose outcome is unknown.
    open_intents: schedule ordinal to the time (UTC text) of an intent without a terminal record.
    """

    spent_nusd: int
    dearest_nusd: int
    open_intents: dict[int, str]


NOTHING_YET = Survey(spent_nusd=0, dearest_nusd=0, open_intents={})


def survey(records: Iterable[tuple[str, Mapping[str, Any]]]) -> Survey:
    """One pass over the records of earlier sessions; memory grows with open intents only."""
    spent = dearest = 0
    open_intents: dict[int, tuple[str, int]] = {}
    for _, body in records:
        if body["t"] == "dispatching":
            open_intents[body["i"]] = (body["at"], body.get("reserved_nusd", 0))
        elif body["t"] == "episode":
            reserved = open_intents.pop(body["i"], ("", 0))[1]
            has_result = body.get("wire_request") is not None
            told = None if has_result else _told(body.get("usage"))
            spent += taken_nusd(reserved, body["cost_nusd"], told, has_result=has_result)
            dearest = max(dearest, body["cost_nusd"])
    spent += sum(reserved for _, reserved in open_intents.values())
    return Survey(
        spent_nusd=spent,
        dearest_nusd=dearest,
        open_intents={ordinal: at for ordinal, (at, _) in open_intents.items()},
    )


def _told(usage: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What an episode without a result told of itself; None when it told nothing."""
    return None if usage is None else parse(usage["provider_usage"])
