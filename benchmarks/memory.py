"""`python -m benchmarks.memory [EPISODES]`: what a run keeps in memory while it goes on, sampled ten times.

The plan and the suite are in memory from the start; after that nothing may grow with the number of episodes.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dfah import AgentResult, Case, Replay, Suite, Trajectory, WireRequest, agent, build_manifest

REPLAYS = 4
SAMPLES = 10
CONCURRENCY = 16
PAGE = 4096


def resident_bytes() -> int:
    """Memory of this process that is in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def slope(samples: Sequence[tuple[int, int]]) -> float:
    """Least-squares growth for each unit of the first coordinate."""
    count = len(samples)
    mean_x, mean_y = sum(x for x, _ in samples) / count, sum(y for _, y in samples) / count
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread


def measured(episodes: int, folder: Path) -> dict[str, Any]:
    """Samples (episodes made, resident bytes, allocated blocks), and both slopes from the second sample on."""
    suite = Suite(
        suite_id="memory",
        suite_version="1.0.0",
        decisions=("yes", "no"),
        cases=[
            Case(case_id=f"C{number}", artifact_case_id=f"P{number}", input=number)
            for number in range(episodes // REPLAYS)
        ],
    )
    manifest = build_manifest(
        suite, provider="p", model="m", adapter="a", implementation_hash="0" * 64, request_parameters={}
    )
    wire = WireRequest.from_payload(provider="p", model="m", payload={}, parameters={}, adapter="a")

    @agent(manifest=manifest, suite=suite)
    async def steady(_case: Any, _context: Any) -> AgentResult:
        return AgentResult(output_text="DECISION: YES", trajectory=Trajectory.of(()), wire_request=wire)

    samples: list[tuple[int, int, int]] = []
    seen = 0

    def watch(event: Any) -> None:
        nonlocal seen
        seen += type(event).__name__ == "EpisodeFinished"
        if type(event).__name__ == "EpisodeFinished" and seen % (episodes // SAMPLES) == 0:
            gc.collect()
            samples.append((seen, resident_bytes(), sys.getallocatedblocks()))

    report = Replay(suite=suite, replays=REPLAYS, out=folder / "run", concurrency=CONCURRENCY, observer=watch).run(
        steady
    )
    assert report.episodes_eligible == episodes
    later = samples[1:]
    return {
        "episodes": episodes,
        "samples": samples,
        "bytes_an_episode": slope([(made, resident) for made, resident, _ in later]),
        "blocks_an_episode": slope([(made, blocks) for made, _, blocks in later]),
    }


def main() -> None:
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="dfah-memory-") as folder:
        print(json.dumps(measured(episodes, Path(folder))))


if __name__ == "__main__":
    main()
