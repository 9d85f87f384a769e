"""Agents that ask for leave before each request; loaded by workers by name. What was sent when is noted in a file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dfah_cli.adapter.contract import RunContext
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.trajectory import Trajectory
from tests.builders import a_manifest, a_suite, a_wire

SUITE = a_suite(("A",))
MANIFEST = a_manifest(SUITE)
PAUSE_S = 0.8
PLACE = "DFAH_TEST_SENT"


class Paced:
    """asks: how it asks. The provider answers the first request of a run with a pause."""

    manifest, suite, tools = MANIFEST, SUITE, None

    def __init__(self, asks: str) -> None:
        self.asks, self.pace = asks, Pace()

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One request."""
        if self.asks == "awaits":
            await self.pace.awaited(context.meter)
        elif self.asks == "from a thread":
            import asyncio

            await asyncio.to_thread(self.pace.waited, context.meter)
        else:
            # As a synchronous client does inside an adapter that is not.
            self.pace.waited(context.meter)
        self.sent(context)
        return result()

    def sent(self, context: RunContext) -> None:
        """Notes the request, and hears of the pause when it is the first."""
        place = Path(os.environ[PLACE])
        # CLOCK_MONOTONIC is one for all processes of a machine.
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, f"{time.monotonic()}\n".encode())
        finally:
            os.close(handle)
        try:
            os.close(os.open(f"{place}.first", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        context.meter.pause(self.pace, PAUSE_S)


def result() -> AgentResult:
    return AgentResult(output_text="DECISION: Y", trajectory=Trajectory.of(()), wire_request=a_wire(MANIFEST))


awaits, from_a_thread, holds_the_loop = Paced("awaits"), Paced("from a thread"), Paced("holds the loop")
