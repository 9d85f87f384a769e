"""`python -m benchmarks.engines`: what an episode costs on a Ray cluster of this machine, and how well it scales.

Needs the extra `ray`. The cluster is started once and shared, so that its start is no part of the figures.
"""

from __future__ import annotations

import asyncio
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from benchmarks.synthetic import PARAMETERS, manifest_of, synthetic_suite
from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.decorator import agent
from dfah_cli.engines.ray.package import ray, silence
from dfah_cli.records.case import Case
from dfah_cli.records.engine import Engine
from dfah_cli.records.episode import AgentResult, Episode
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.records.wire import WireRequest
from dfah_cli.workflow.analyze import episodes
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.run import execute

SUITE = synthetic_suite(1000)
MANIFEST = manifest_of(SUITE)
PATH = Trajectory.of(())


def result() -> AgentResult:
    wire = WireRequest.from_payload(
        provider=MANIFEST.provider,
        model=MANIFEST.model,
        payload=PARAMETERS,
        parameters=PARAMETERS,
        adapter=MANIFEST.adapter,
    )
    return AgentResult(output_text="DECISION: HOLD", trajectory=PATH, wire_request=wire)


@agent(manifest=MANIFEST, suite=SUITE)
async def quick(case: Case, context: RunContext) -> Any:
    """Answers at once."""
    return result()


@agent(manifest=MANIFEST, suite=SUITE)
async def slow(case: Case, context: RunContext) -> Any:
    """Answers after a second."""
    await asyncio.sleep(1.0)
    return result()


@frozen(kw_only=True)
class Measured:
    """One run. span_s: from the first intent to the last end. own_cpu_s: of the process that records.

    share: of the ideal rate of agents that take a second.
    """

    episodes: int
    span_s: float
    own_cpu_s: float
    share: float


def measured(name: str, engine: Engine, count: int, concurrency: int) -> Measured:
    """A run of so many episodes."""
    with tempfile.TemporaryDirectory(prefix="dfah-bench-") as folder:
        before = processor_s()
        request = RunRequest(
            adapter=f"benchmarks.engines:{name}",
            replays=2,
            limit=count // 2,
            out=str(Path(folder) / "run"),
            concurrency=concurrency,
            engine=engine,
        )
        assert execute(request).exit_code == 0
        spent = processor_s() - before
        there: list[Episode] = list(episodes(Path(folder) / "run"))
    began = min(one.started_at for one in there)
    ended = max(one.ended_at for one in there)
    return Measured(
        episodes=len(there),
        span_s=(ended - began).total_seconds(),
        own_cpu_s=spent,
        share=share_of_ideal(there, concurrency),
    )


def share_of_ideal(there: list[Episode], places: int) -> float:
    """Episodes ended for each second and place, from when all places are taken to the last start."""
    steps = sorted([(one.started_at, 1) for one in there] + [(one.ended_at, -1) for one in there])
    flying, since = 0, steps[0][0]
    for at, step in steps:
        flying += step
        if flying == places:
            since = at
            break
    until = max(one.started_at for one in there)
    window_s = (until - since).total_seconds()
    return sum(since < one.ended_at <= until for one in there) / (window_s * places) if window_s > 0 else 0.0


def processor_s() -> float:
    """Processor seconds of this process so far; those of the workers are not among them."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    silence()
    ray().init(num_cpus=8, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        for line in table():
            print(line, flush=True)
    finally:
        ray().shutdown()


def table() -> Iterator[str]:
    yield "| agents that take 1 s | episodes | share of ideal |\n|---|---|---|"
    for workers, seats, count in ((4, 1, 120), (4, 8, 960)):
        engine = Engine(name="ray", workers=workers, episodes_per_worker=seats, cpus_per_episode=1 / seats)
        one = measured("slow", engine, count, workers * seats)
        yield f"| {workers} workers × {seats} | {one.episodes} | {100 * one.share:.1f} % |"
    yield "\n| an episode that does nothing | wall, ms | processor of the run's process, ms |\n|---|---|---|"
    for concurrency in (1, 4, 16):
        many = Engine(name="ray", episodes_per_worker=max(1, concurrency // 4), cpus_per_episode=0.25)
        for told, engine in (("local", Engine()), ("ray", many)):
            one = measured("quick", engine, 500, concurrency)
            figures = f"{1000 * one.span_s / one.episodes:.2f} | {1000 * one.own_cpu_s / one.episodes:.2f}"
            yield f"| {told}, concurrency {concurrency} | {figures} |"


if __name__ == "__main__":
    # The workers load the agents from the module's own name.
    from benchmarks import engines

    engines.main()
