"""Workers come and go; nobody waits for ever and no place is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dfah_cli.engines.ray import pool as pool_module
from dfah_cli.engines.ray.pool import Pool
from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.ends import NoWorkersError


class Worker:
    """One that does nothing but be there."""

    def __init__(self) -> None:
        self.gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()


class Cluster:
    """Gives workers, refuses them or lets one wait, in the order of `plan`; after that it lets one wait for ever."""

    def __init__(self, *plan: str) -> None:
        self.plan, self.made = list(plan), list[Worker]()

    async def start(self) -> Worker:
        what = self.plan.pop(0) if self.plan else "waits"
        if what == "waits":
            await asyncio.Event().wait()
        if what == "refuses":
            raise ConfigurationError("cannot be loaded")
        self.made.append(Worker())
        return self.made[-1]


async def missing(problem: str | None) -> str:
    return f"nothing free; {problem}"


def pool_of(cluster: Cluster, *, size: int = 1, seats: int = 1, patience_s: float = 30.0) -> Pool[Worker]:
    return Pool(cluster.start, missing, size=size, seats=seats, patience_s=patience_s)


def played(play: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(play(), 20)

    asyncio.run(within())


def test_all_workers_are_asked_for_at_once_and_the_first_is_enough_to_begin() -> None:
    async def play() -> None:
        cluster = Cluster("comes", "waits", "waits")
        pool = pool_of(cluster, size=3)
        await pool.open()
        await asyncio.sleep(0)
        assert not cluster.plan
        assert await pool.seat() is cluster.made[0]
        await pool.close()

    played(play)


def test_places_are_spread_and_a_free_one_goes_to_who_waits() -> None:
    async def play() -> None:
        cluster = Cluster("comes", "comes")
        pool = pool_of(cluster, size=2, seats=2)
        await pool.open()
        await asyncio.sleep(0.01)
        seats = [await pool.seat() for _ in range(4)]
        assert [seats.count(worker) for worker in cluster.made] == [2, 2]
        fifth = asyncio.ensure_future(pool.seat())
        await asyncio.sleep(0.01)
        assert not fifth.done()
        pool.leave(seats[3])
        assert await fifth is seats[3]
        await pool.close()

    played(play)


def test_who_stops_waiting_keeps_no_place() -> None:
    async def play() -> None:
        cluster = Cluster("comes")
        pool = pool_of(cluster)
        await pool.open()
        first = await pool.seat()
        waiting = asyncio.ensure_future(pool.seat())
        await asyncio.sleep(0)
        pool.leave(first)
        # The place was just given; the cancellation comes in the same turn of the loop.
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await pool.seat() is first
        await pool.close()

    played(play)


def test_a_worker_that_is_gone_is_replaced_and_never_given_again() -> None:
    async def play() -> None:
        cluster = Cluster("comes", "comes")
        pool = pool_of(cluster)
        await pool.open()
        first = await pool.seat()
        first.gone.set_result("died")
        second = await pool.seat()
        assert second is not first
        # What was held there is given back to nobody.
        pool.leave(first)
        waiting = asyncio.ensure_future(pool.seat())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        waiting.cancel()
        await pool.close()

    played(play)


def test_an_agent_that_the_first_worker_cannot_load_is_refused() -> None:
    async def play() -> None:
        pool = pool_of(Cluster("refuses", "waits"), size=2)
        with pytest.raises(ConfigurationError, match="cannot be loaded"):
            await pool.open()
        await pool.close()

    played(play)


def test_a_cluster_that_gives_nothing_is_named_after_the_patience() -> None:
    async def play() -> None:
        pool = pool_of(Cluster("waits"), patience_s=0.01)
        with pytest.raises(ConfigurationError, match="nothing free"):
            await pool.open()
        await pool.close()

    played(play)


def test_when_the_last_worker_is_gone_and_none_comes_everybody_who_waits_hears_it() -> None:
    async def play() -> None:
        cluster = Cluster("comes")
        pool = pool_of(cluster, patience_s=0.05)
        await pool.open()
        await pool.seat()
        waiting = [asyncio.ensure_future(pool.seat()) for _ in range(3)]
        await asyncio.sleep(0.2)
        # Patience is for nobody being there, not for waiting.
        assert not any(one.done() for one in waiting)
        cluster.made[0].gone.set_result("its node went away")
        for one in (*waiting, pool.seat()):
            with pytest.raises(NoWorkersError, match="nothing free; its node went away"):
                await one
        await pool.close()

    played(play)


def test_a_replacement_that_cannot_load_the_agent_is_tried_again_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "PAUSE_S", 0.001)

    async def play() -> None:
        cluster = Cluster("comes", "refuses", "refuses", "comes")
        pool = pool_of(cluster)
        await pool.open()
        (await pool.seat()).gone.set_result("died")
        assert await pool.seat() is cluster.made[1]
        cluster.plan[:] = ["refuses"] * 9
        cluster.made[1].gone.set_result("died")
        await asyncio.sleep(0.2)
        assert len(cluster.plan) == 9 - pool_module.TRIES
        await pool.close()

    played(play)
