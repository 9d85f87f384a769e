"""Agents that depend on what surrounds them, each on one thing; loaded by worker processes by name."""

from __future__ import annotations

import datetime
import os
import random
import time
from collections.abc import Callable
from typing import Any

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.decorator import agent
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.trajectory import Trajectory
from tests.builders import PARAMETERS, a_manifest, a_suite, a_wire

SUITE = a_suite(("A", "B"), tools=())
MANIFEST = a_manifest(SUITE)
SEEN: list[str] = []


def result(asked: object, label: str = "Y") -> AgentResult:
    return AgentResult(
        output_text=f"DECISION: {label}",
        trajectory=Trajectory.of(()),
        wire_request=a_wire(MANIFEST, payload={**PARAMETERS, "asked": str(asked)}),
    )


def steady(case: Case) -> AgentResult:
    return result(case.case_id)


def remembers(case: Case) -> AgentResult:
    SEEN.append(case.case_id)
    return result(SEEN)


def reads_the_clock(case: Case) -> AgentResult:
    moments = (time.gmtime().tm_year, datetime.datetime.now(datetime.UTC).year, datetime.date.today().year)
    return result(moments)


def decides_by_the_clock(case: Case) -> AgentResult:
    # The file system keeps the real time, and the file is younger than the shift.
    far = time.time() - os.stat("/proc/self").st_mtime > 86_400
    return result(case.case_id, "N" if far else "Y")


def hashes(case: Case) -> AgentResult:
    return result({"alpha", "beta", "gamma", "delta", "epsilon"})


def reads_the_time_zone(case: Case) -> AgentResult:
    return result(os.environ.get("TZ"))


def varies(case: Case) -> AgentResult:
    return result(case.case_id, random.SystemRandom().choice("YN"))


def fails(case: Case) -> AgentResult:
    raise ValueError


BEHAVIOURS: tuple[Callable[[Case], AgentResult], ...] = (
    steady,
    remembers,
    reads_the_clock,
    decides_by_the_clock,
    hashes,
    reads_the_time_zone,
    varies,
    fails,
)


def made(behaviour: Callable[[Case], AgentResult]) -> Any:
    async def act(case: Case, context: RunContext) -> AgentResult:
        return behaviour(case)

    return agent(manifest=MANIFEST, suite=SUITE)(act)


AGENTS = {behaviour.__name__: made(behaviour) for behaviour in BEHAVIOURS}
globals().update({f"{name}_agent": one for name, one in AGENTS.items()})
