"""Requests of all workers leave at one pace: a provider's pause that one of them hears of holds back all."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from dfah_cli.engines.isolation.agent import IsolatedAgent
from dfah_cli.engines.isolation.channel import Message
from dfah_cli.engines.isolation.dialogue import Dialogue
from dfah_cli.engines.isolation.process import Load
from dfah_cli.engines.isolation.remote import RemoteMeter
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.workflow.replay import Replay
from tests.engines import paced_agents
from tests.engines.paced_agents import PAUSE_S, PLACE
from tests.integrations.test_pace import Clock

WORKERS = 2
REPLAYS = 6


def sent(out: Path, agent: str, monkeypatch: pytest.MonkeyPatch, *, fresh: bool = False) -> list[float]:
    """When the requests of a run left, in seconds after the first."""
    place = out.parent / "sent"
    monkeypatch.setenv(PLACE, str(place))
    load = Load(adapter=f"tests.engines.paced_agents:{agent}", agent={}, suite=None)
    isolated = IsolatedAgent(getattr(paced_agents, agent), paced_agents.SUITE, load, fresh=fresh)
    replay = Replay(suite=paced_agents.SUITE, out=out, replays=REPLAYS, concurrency=WORKERS, episode_timeout_s=30)
    assert replay.run(isolated).status == "complete"
    moments = sorted(map(float, place.read_text().split()))
    assert len(moments) == REPLAYS
    return [moment - moments[0] for moment in moments]


@pytest.mark.parametrize(("agent", "fresh"), [("awaits", False), ("from_a_thread", False), ("awaits", True)])
def test_a_pause_that_one_worker_hears_of_holds_back_all(
    out: Path, agent: str, fresh: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A worker that had leave already may send once more.
    later = sent(out, agent, monkeypatch, fresh=fresh)[WORKERS:]
    assert all(moment >= PAUSE_S * 0.95 for moment in later), later


def test_a_client_that_holds_the_event_loop_keeps_a_pace_of_its_own(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sent(out, "holds_the_loop", monkeypatch)[-1] >= 0.0


class Straight:
    """The line of a worker straight to a dialogue of the run."""

    def __init__(self, turns: Pace) -> None:
        self.numbers: Iterator[int] = itertools.count()
        self.meter: RemoteMeter | None = None
        self._dialogue = Dialogue(self, turns)
        self._tasks: list[asyncio.Future[None]] = []

    def post(self, message: Message) -> None:
        self._tasks.append(asyncio.ensure_future(self._dialogue._paced(message)))

    async def send(self, message: Message) -> None:
        assert self.meter is not None
        self.meter.heard(message)

    async def receive(self) -> Message | None:
        return None


def test_moments_are_given_in_the_order_of_asking_whichever_worker_asks() -> None:
    pace, own = Pace(60.0, clock=Clock()), Pace(60.0, clock=Clock())

    async def asked() -> list[float]:
        lines = [Straight(pace), Straight(pace)]
        for line in lines:
            line.meter = RemoteMeter(line)
        one, other = (line.meter for line in lines)
        assert one is not None
        assert other is not None
        moments = [await one.turn(own), await one.turn(own), await other.turn(own)]
        other.pause(own, 10.0)
        await asyncio.sleep(0)
        return [*moments, await one.turn(own)]

    # One worker that asks alone gets every moment; the pause is that of the run.
    assert asyncio.run(asked()) == [0.0, 1.0, 2.0, 10.0]


def test_an_agent_without_a_pace_waits_for_nobody() -> None:
    async def asked() -> float:
        line = Straight(Pace())
        line._dialogue = Dialogue(line)
        line.meter = RemoteMeter(line)
        line.meter.pause(Pace(), 5.0)
        return await line.meter.turn(Pace())

    assert asyncio.run(asked()) == 0.0
