"""What an episode that ends without a result has used, and time that is not its own."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.meter import Meter
from dfah_cli.execution.budget import taken_nusd
from dfah_cli.records.case import Case
from dfah_cli.records.episode import UNMETERED, Episode, Usage
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.replay import Replay
from tests.builders import a_scripted_agent

pytestmark = pytest.mark.usefixtures("in_memory")
USAGE = Usage(input_tokens=10, output_tokens=2, provider_usage={"requests": 1, "transport_attempts": 3})


def ran(script: Any, **options: Any) -> list[Episode]:
    agent = a_scripted_agent({"A": [script]})
    Replay(suite=agent.suite, replays=2, out="run", **options).run(agent)
    return list(episodes("run"))


async def raises(case: Case, context: RunContext) -> None:
    context.note_spent(USAGE, cost_usd=0.01, provider_response_id="r-1")
    raise RuntimeError("hung up")


async def hangs(case: Case, context: RunContext) -> None:
    context.note_spent(USAGE, cost_usd=0.01, provider_response_id="r-1")
    await asyncio.sleep(30)


async def exits(case: Case, context: RunContext) -> None:
    context.note_spent(USAGE, cost_usd=0.01, provider_response_id="r-1")
    raise SystemExit(1)


@pytest.mark.parametrize("script", [raises, hangs, exits])
def test_a_failed_episode_records_what_it_told(script: Any) -> None:
    for episode in ran(script, episode_timeout_s=0.2):
        assert episode.status.value == "provider_error"
        assert (episode.usage, episode.cost_usd, episode.provider_response_id) == (USAGE, 0.01, "r-1")


@pytest.mark.parametrize(
    ("usage", "calls"),
    [(USAGE, 4), (Usage(provider_usage={UNMETERED: 1}), 2)],
    ids=["known whole", "a request was never answered"],
)
def test_the_budget_takes_the_cost_where_it_is_known_also_after_a_resume(usage: Usage, calls: int) -> None:
    made: list[int] = []

    async def fails(case: Case, context: RunContext) -> None:
        made.append(context.replay_index)
        context.note_spent(usage, cost_usd=0.01)
        raise RuntimeError

    agent = a_scripted_agent({"A": [fails], "B": [fails]})
    replay = Replay(suite=agent.suite, replays=2, out="run", budget_usd=0.21, estimated_max_episode_cost_usd=0.1)
    replay.run(agent)
    assert len(made) == calls
    replay.run(agent)
    assert len(made) == calls


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), True])
def test_a_cost_that_is_none_is_a_contract_error(cost: float) -> None:
    async def tells(case: Case, context: RunContext) -> None:
        context.note_spent(cost_usd=cost)

    assert {episode.status.value for episode in ran(tells)} == {"contract_error"}


def test_what_an_episode_takes_from_the_budget() -> None:
    assert taken_nusd(10, 3, None, has_result=True) == 3
    assert taken_nusd(10, 3, {}, has_result=False) == 3
    assert taken_nusd(10, 3, None, has_result=False) == 10
    assert taken_nusd(10, 3, {UNMETERED: 2}, has_result=False) == 10
    assert taken_nusd(10, 30, {UNMETERED: 2}, has_result=False) == 30


def test_waiting_for_its_turn_takes_no_time_of_the_episode() -> None:
    async def waits(case: Case, context: RunContext) -> Any:
        with context.meter.waiting():
            await asyncio.sleep(0.6)
        return agent.result(context)

    agent = a_scripted_agent()
    for episode in ran(waits, episode_timeout_s=0.3):
        assert episode.valid
        assert episode.latency_us < 300_000


def test_what_comes_after_the_waiting_counts() -> None:
    async def waits_and_hangs(case: Case, context: RunContext) -> None:
        with context.meter.waiting():
            await asyncio.sleep(0.2)
        await asyncio.sleep(30)

    started = time.perf_counter()
    assert {e.error and e.error.kind for e in ran(waits_and_hangs, episode_timeout_s=0.2)} == {"episode_timeout"}
    assert time.perf_counter() - started < 10


def test_waits_that_overlap_are_counted_once() -> None:
    now = iter([0.0, 3.0, 7.0, 9.0, 11.0])
    meter = Meter(lambda: next(now))
    meter.begin()  # at 0
    meter.begin()
    meter.end()
    meter.end()  # at 3
    assert meter.waited_s() == 3.0
    with meter.waiting():  # from 7
        assert meter.waited_s() == 5.0
