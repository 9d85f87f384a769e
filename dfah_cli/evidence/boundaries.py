"""Whether every slot was claimed before it was sent: the intents of a log, each derived again from the plan. Pure.

An intent carries the identity of its episode, the key that the provider may have been given, and what was held back
from the budget. The budget and the lineage it rests on stand in the session records before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dfah_cli.canonical import parse
from dfah_cli.errors import ValidationError
from dfah_cli.evidence.claims import Claim, Findings
from dfah_cli.evidence.episode_checks import Place
from dfah_cli.evidence.shapes import is_count, is_time
from dfah_cli.planning.schedule import Schedule
from dfah_cli.records.keys import SlotKeys
from dfah_cli.records.run_plan import RunPlan

Body = Mapping[str, Any]


class Purse(NamedTuple):
    """What a session said about money; nano-dollars. limit: None means none, and then nothing is held back."""

    limit: Any
    estimate: Any

    def may_hold(self, amount: Any) -> bool:
        """Whether an episode of this session can have reserved so much: at least the estimate, at most everything."""
        return bool(amount == 0 if self.limit is None else self.estimate <= amount <= self.limit)


Slot = tuple[int, Place, Any]
"""A slot: its place before the shuffle, what the plan says of it, the time of its intent (None without one)."""


class Boundaries:
    """The intents of one pass. Memory: one byte per planned slot, and the slots that are in flight."""

    def __init__(self, plan: RunPlan, schedule: Schedule, findings: Findings) -> None:
        self._schedule, self._findings, self._replays = schedule, findings, plan.replays
        self._manifest_hash = plan.manifest_hash
        self._keys = SlotKeys(plan.manifest_hash)
        self._provider_keys: dict[str | None, SlotKeys] = {}
        self._purses: set[Purse] = set()
        self._held: set[int] = set()  # reservations found right: a run has few distinct ones
        self._claimed = bytearray(len(schedule))
        self._open: dict[int, Slot] = {}

    def session(self, body: Body) -> None:
        """What one session said. Logs of several runners may be merged, so an intent is of any of those so far."""
        try:
            said = parse(body["provenance"], "a session record")
        except (ValidationError, TypeError):
            said = None
        if not isinstance(said, dict):
            self._findings.fail(Claim.BOUNDARIES, "a session record cannot be read")
            return
        parent = said.get("parent")
        commitment = parent.get("commitment") if isinstance(parent, dict) else None
        self._provider_keys[commitment] = SlotKeys(self._manifest_hash, parent=commitment)
        purse = Purse(said.get("budget_nusd"), said.get("estimate_nusd"))
        if (purse.limit is None or is_count(purse.limit)) and is_count(purse.estimate):
            self._purses.add(purse)

    def intent(self, body: Body) -> None:
        """One slot is about to be sent."""
        ordinal = body["i"]
        if self._claimed[ordinal]:
            self._fail(ordinal, "was dispatched twice")
        self._claimed[ordinal] = 1
        slot = self._open[ordinal] = self._slot(ordinal, body["at"])
        problem = self._problem(body, slot[1])
        if problem is not None:
            self._fail(ordinal, problem)

    def terminal(self, body: Body) -> Slot:
        """The slot of a terminal record; it is in flight no longer."""
        ordinal = body["i"]
        slot = self._open.pop(ordinal, None)
        if slot is None:
            if not self._claimed[ordinal]:
                self._fail(ordinal, "has a terminal record without an intent")
            return self._slot(ordinal, None)
        if slot[2] != body.get("started_at"):
            self._fail(ordinal, "has a terminal record that did not start with its intent")
        return slot

    def finish(self) -> None:
        """What is left in flight has the time of its intent only."""
        for ordinal, (_, _, at) in self._open.items():
            if not is_time(at):
                self._fail(ordinal, "has an intent without a UTC time")

    def _slot(self, ordinal: int, at: Any) -> Slot:
        schedule = self._schedule
        rank = schedule.ranks[ordinal]
        case, replay_index = divmod(rank, self._replays)
        case_id = schedule.case_ids[case]
        key = self._keys.episode(case_id, replay_index)
        return rank, Place(case_id, schedule.tasks[case], replay_index, key), at

    def _problem(self, body: Body, place: Place) -> str | None:
        if body["k"] != place.key:
            return "has an intent of another episode"
        keys = self._provider_keys.values() or (self._keys,)
        if body.get("idem") not in [known.idempotency(place.case_id, place.replay_index) for known in keys]:
            return "has an intent with another idempotency key than manifest, case, replay index and lineage give"
        held: Any = body.get("reserved_nusd")
        if type(held) is int and held in self._held:
            return None
        if not is_count(held):
            return "has an intent whose reservation is not a whole number from 0"
        if self._purses and not any(purse.may_hold(held) for purse in self._purses):
            return "has an intent whose reservation does not fit the budget that its session states"
        self._held.add(held)
        return None

    def _fail(self, ordinal: int, problem: str) -> None:
        self._findings.fail(Claim.BOUNDARIES, f"slot {ordinal} {problem}")
