"""`python -m benchmarks.scale`: cost and time of large runs in an object storage; `--real URL` checks the model.

The check replays pretended calls against the storage at the URL (credentials and endpoint from the environment) and
holds requests and time against what the simulation says for the same load.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from hashlib import sha256
from statistics import median
from typing import Any

import orjson

from benchmarks.fleet_model import Fleet, Totals, run_fleet
from benchmarks.runner_model import OPENING_PUTS, Load, Storage, simulate
from dfah_cli.store.opening import open_store
from dfah_cli.store.places import RunUrl, bucket_of
from dfah_cli.store.protocol import Body, RunWriter, SlotState

PUT_USD, GET_USD, GB_MONTH_USD = 5.0e-6, 0.4e-6, 0.023
"""List prices of S3 Standard, us-east-1, from memory, November 2026; check yours."""
RECORDS_BYTES, BATCH_BYTES = 1750, 560
"""Of intent and terminal record; of the header and commit lines of a batch."""
LOADS = (
    Load(episodes=600, concurrency=1, call_s=0.0),
    Load(episodes=4000, concurrency=16, call_s=0.0),
    Load(episodes=20_000, concurrency=256, call_s=0.0),
    Load(episodes=2000, concurrency=16, call_s=0.1),
    Load(episodes=6000, concurrency=256, call_s=0.5),
)
MANIFEST = b'{"model":"none","provider":"none"}'


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--real", metavar="URL", help="a prefix of an object storage to check the model against")
    options = parser.parse_args()
    lines = [*costs(), "", *fleets()]
    if options.real:
        lines += ["", *check(options.real)]
    print("\n".join(lines))


def costs() -> Iterator[str]:
    """Requests, bytes and money of a million episodes by the number of episodes that share a write."""
    yield "| episodes a write | PUT | PUT, $ | GB written | a month of them, $ | GET to read it once, $ | packed, $ |"
    yield "|---|---|---|---|---|---|---|"
    for batch in (1, 4, 16, 64, 256):
        puts = 1_000_000 / batch
        gigabytes = (1_000_000 * RECORDS_BYTES + puts * BATCH_BYTES) / 1e9
        packed = gigabytes * 1e9 / 8e6
        yield (
            f"| {batch} | {puts:,.0f} | {puts * PUT_USD:.2f} | {gigabytes:.2f} | {gigabytes * GB_MONTH_USD:.2f} "
            f"| {puts * GET_USD:.3f} | {packed * GET_USD:.5f} |"
        )


def fleets() -> Iterator[str]:
    """A hundred million episodes on a thousand runners."""
    yield "| call | in flight each | a runner dies every | hours | of ideal | deaths | interrupted | PUT | GET | $ |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for call_s, concurrency, hours in ((1, 16, 24), (30, 64, 24), (30, 64, 6), (60, 256, 24), (60, 256, 1)):
        fleet = Fleet(
            runners=1000,
            shards=4000,
            episodes=100_000_000,
            concurrency=concurrency,
            call_s=call_s,
            call_spread=0.5,
            mtbf_s=hours * 3600.0,
            back_s=300.0,
            storage=Storage(put_s=0.03, cpu_s=300e-6),
        )
        yield _row(fleet, run_fleet(fleet), hours)


def _row(fleet: Fleet, found: Totals, hours: float) -> str:
    dollars = found.puts * PUT_USD + found.gets * GET_USD
    return (
        f"| {fleet.call_s:g} s | {fleet.concurrency} | {hours:g} h | {found.seconds / 3600:.1f} | {found.busy:.0%} "
        f"| {found.deaths:,} | {found.interrupted:,} | {found.puts:,} | {found.gets:,} | {dollars:,.0f} |"
    )


# the check against a real storage


def check(url: str) -> Iterator[str]:
    """Requests and seconds of small real runs, and what the model says."""
    storage = calibrated(f"{url}/calibration-{time.time_ns()}")
    yield f"PUT {storage.put_s * 1e3:.1f} ms, spread {storage.spread:.2f}, {storage.cpu_s * 1e6:.0f} us an episode"
    yield ""
    yield "| concurrency | call | episodes | PUT | model | off | seconds | model | off |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for load in LOADS:
        seconds, puts = replayed(f"{url}/check-{time.time_ns()}", load)
        said = simulate(load, storage)
        said_puts = said.puts + OPENING_PUTS
        yield (
            f"| {load.concurrency} | {load.call_s * 1e3:g} ms | {load.episodes} | {puts} | {said_puts} "
            f"| {said_puts / puts - 1:+.1%} | {seconds:.2f} | {said.seconds:.2f} | {said.seconds / seconds - 1:+.0%} |"
        )


def calibrated(url: str) -> Storage:
    """What one PUT takes there, and this machine for one episode."""
    bucket = bucket_of(RunUrl(url))
    times = []
    for number in range(150):
        begun = time.perf_counter()
        bucket.put_new(f"probe-{number}", b"x" * (RECORDS_BYTES + BATCH_BYTES))
        times.append(time.perf_counter() - begun)
    middle = median(times)
    spread = (median([abs(one - middle) for one in times]) / middle) / 0.6745
    load = Load(episodes=10_000, concurrency=500, call_s=0.0)
    seconds, puts = replayed(f"{url}/cpu", load)
    return Storage(put_s=middle, cpu_s=max(0.0, seconds - puts * middle) / load.episodes, spread=spread)


def replayed(url: str, load: Load) -> tuple[float, int]:
    """Seconds of the schedule and PUTs of the whole session of a real run."""
    store = open_store(url)
    plan = {"episodes_planned": load.episodes, "manifest_hash": sha256(MANIFEST).hexdigest()}
    writer = store.open_writer(
        plan_bytes=orjson.dumps(plan, option=orjson.OPT_SORT_KEYS),
        manifest_bytes=MANIFEST,
        clock=lambda: "2026-01-01T00:00:00.000000Z",
        concurrency=load.concurrency,
    )
    with writer:
        begun = time.perf_counter()
        asyncio.run(_everybody(writer, load))
        seconds = time.perf_counter() - begun
    return seconds, store.bucket.requests["put"]  # type: ignore[union-attr]


async def _everybody(writer: RunWriter, load: Load) -> None:
    slots = iter(range(load.episodes))
    await asyncio.gather(*(_worker(writer, slots, load.call_s) for _ in range(load.concurrency)))


async def _worker(writer: RunWriter, slots: Iterator[int], call_s: float) -> None:
    done: list[Body] = []
    for slot in slots:
        window: list[Body] = []
        if writer.slots[slot] == SlotState.ABSENT and slot % 4096 == 0:
            window = [{"t": "planned", "from": slot, "to": min(slot + 4096, len(writer.slots))}]
        elif writer.slots[slot] == SlotState.ABSENT:
            window = [{"t": "planned", "from": slot, "to": slot + 1}]
        await writer.commit([*done, *window, _intent(slot)])
        await asyncio.sleep(call_s)
        done = [_terminal(slot)]
    await writer.commit(done)


def _intent(slot: int) -> Body:
    return {"t": "dispatching", "i": slot, "k": _key(slot), "at": "2026-01-01T00:00:00.000000Z", "reserved_nusd": 0}


def _terminal(slot: int) -> Body:
    said: dict[str, Any] = {"state": "observed", "calls": [{"tool": "profile", "arguments_sha256": _key(slot)}] * 6}
    return {
        "t": "episode",
        "i": slot,
        "k": _key(slot),
        "manifest_hash": sha256(MANIFEST).hexdigest(),
        "case_id": f"CASE-{slot}",
        "replay_index": 0,
        "status": "valid",
        "dispatch_state": "complete",
        "trajectory": said,
        "cost_nusd": 0,
        "latency_us": 0,
    }


def _key(slot: int) -> str:
    return sha256(b"%d" % slot).hexdigest()


if __name__ == "__main__":
    main()
