"""The simulation of a runner makes the writes that the store makes, and the fleet loses what its rules say."""

from __future__ import annotations

import pytest

from benchmarks.fleet_model import Fleet, run_fleet
from benchmarks.runner_model import OPENING_PUTS, Load, Storage, simulate

FAST = Storage(put_s=0.001, cpu_s=0.0, spread=0.0)


@pytest.mark.parametrize(("concurrency", "episodes"), [(1, 40), (16, 320), (50, 333)])
def test_it_counts_the_writes_of_a_real_run(concurrency: int, episodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")
    from benchmarks import scale
    from tests.store.in_memory import object_storage

    object_storage(monkeypatch)
    load = Load(episodes=episodes, concurrency=concurrency, call_s=0.0)
    _, puts = scale.replayed("s3://bucket/run", load)
    assert simulate(load, FAST).puts + OPENING_PUTS == puts


def test_who_arrives_while_a_write_runs_shares_the_next() -> None:
    load = Load(episodes=20_000, concurrency=100, call_s=1.0, call_spread=0.5)
    found = simulate(load, Storage(put_s=0.1, cpu_s=0.0, spread=0.0))
    arrivals_a_write = 100 * 0.1 / (1.133 + 0.15)  # the mean call, and the mean wait for a write
    assert load.episodes / found.puts == pytest.approx(arrivals_a_write, rel=0.1)


def test_long_calls_pay_one_write_each() -> None:
    load = Load(episodes=2000, concurrency=4, call_s=60.0, call_spread=0.5)
    assert simulate(load, FAST).puts_an_episode(load) == pytest.approx(1.0, abs=0.01)


def a_fleet(mtbf_s: float) -> Fleet:
    return Fleet(
        runners=20,
        shards=80,
        episodes=100_000,
        concurrency=10,
        call_s=10.0,
        call_spread=0.0,
        mtbf_s=mtbf_s,
        back_s=60.0,
        storage=FAST,
    )


def test_a_fleet_without_failures_interrupts_nothing_and_is_nearly_ideal() -> None:
    found = run_fleet(a_fleet(1e12))
    assert (found.deaths, found.interrupted, found.gets) == (0, 0, 0)
    assert found.busy > 0.98


def test_each_death_interrupts_what_was_in_flight_and_costs_time() -> None:
    calm, rough = run_fleet(a_fleet(1e12)), run_fleet(a_fleet(2000.0))
    assert rough.deaths > 10
    assert rough.interrupted == 10 * rough.deaths
    assert rough.seconds > calm.seconds
    assert rough.gets > 0
