"""Agents that workers of a cluster load by name; they note every call in a file, where no process of ours counts."""

from __future__ import annotations

import asyncio
import os
from hashlib import sha256
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.decorator import agent
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.trajectory import Trajectory
from tests.builders import a_manifest, a_suite, a_wire

CASES = 50
SUITE = a_suite(tuple(f"c{number:03d}" for number in range(CASES)))
MANIFEST = a_manifest(SUITE)


def note(context: RunContext) -> None:
    """One line for each call, whole or not at all."""
    handle = os.open(os.environ["DFAH_TEST_CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, f"{context.case_id} {context.replay_index} {os.getpid()}\n".encode())
    finally:
        os.close(handle)


@agent(manifest=MANIFEST, suite=SUITE)
async def steady(case: Case, context: RunContext) -> Any:
    """Waits as long as its environment says; the decision is that of the case."""
    note(context)
    await asyncio.sleep(float(os.environ.get("DFAH_TEST_WAIT_S", "0.02")))
    label = MANIFEST.decision_ontology[sha256(context.case_id.encode()).digest()[0] % 2]
    return AgentResult(
        output_text=f"DECISION: {label.upper()}", trajectory=Trajectory.of(()), wire_request=a_wire(MANIFEST)
    )


@agent(manifest=MANIFEST, suite=SUITE)
def plain(case: Case, context: RunContext) -> Any:
    """The same as a plain function."""
    note(context)
    return AgentResult(output_text="DECISION: Y", trajectory=Trajectory.of(()), wire_request=a_wire(MANIFEST))
