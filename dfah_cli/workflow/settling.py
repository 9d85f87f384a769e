"""Ends a run as soon as its verdict is certain: counted in whole cases, in the order in which the plan finishes them.

Never inside a case, and never by who is finished first: unstable cases are slower, so the first to finish look better
than the suite.
"""

from __future__ import annotations

from collections import Counter
from datetime import date

from dfah_cli.evidence.verify import verify
from dfah_cli.execution.events import EpisodeFinished, Event
from dfah_cli.gate.evaluate import foreseen
from dfah_cli.metrics.measure import measure
from dfah_cli.planning.plan import PlannedRun
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.state import state_report
from dfah_cli.store.protocol import RunWriter, SlotState
from dfah_cli.workflow.grounds import grounds_for
from dfah_cli.workflow.plan_order import completion_order

LOOKS = 100  # at most about so many in a run: each reads the whole log


class Settling:
    """Watches one session. reason: what a run that was ended by it is said to have stopped for."""

    reason = "settled"

    def __init__(self, policy: GatePolicy, planned: PlannedRun, writer: RunWriter, today: date) -> None:
        self._policy, self._writer, self._today = policy, writer, today
        self._replays = planned.plan.replays
        self._order = [case_id for case_id, _ in completion_order(planned.schedule)]
        self._finished: Counter[str] = Counter()
        for ordinal, slot in enumerate(planned.schedule):
            self._finished[slot.case_id] += writer.slots[ordinal] == SlotState.COMMITTED
        self._counted = 0
        self._step = max(1, len(self._order) // LOOKS)
        self._next_look = 1
        self._advance()

    def take(self, event: Event) -> bool:
        """Whether the verdict is certain after this event."""
        if not isinstance(event, EpisodeFinished):
            return False
        self._finished[event.case_id] += 1
        self._advance()
        if self._counted < self._next_look:
            return False
        self._next_look = self._counted + self._step
        return self.settled()

    def settled(self) -> bool:
        """Whether what is recorded now decides the gate, whatever the rest of the plan would bring."""
        if not self._counted:
            return False
        reader = self._writer.reader()
        run = verify(reader.plan_bytes, reader.manifest_bytes, reader.records())
        measurement = measure(run.table, replays=run.plan.replays)
        grounds = grounds_for(self._policy, run, measurement, on=self._today)
        return foreseen(self._policy, state_report(run, measurement), grounds) is not None

    def _advance(self) -> None:
        while self._counted < len(self._order) and self._finished[self._order[self._counted]] >= self._replays:
            self._counted += 1
