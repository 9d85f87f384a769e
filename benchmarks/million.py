"""1,000,000 episodes: written through the store, then verified, measured and stated in a process of its own.

usage: million.py DIRECTORY
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

CASES, REPLAYS = 100_000, 10


def report(folder: Path, sizes: tuple[int, ...] = (CASES // 10, CASES)) -> list[str]:
    """A Markdown table, one row a size: seconds per step, peak memory."""
    from benchmarks.synthetic import write_run

    lines = ["| episodes | verify s | measure s | state s | episodes/s | peak MiB |", "|---|---|---|---|---|---|"]
    for cases in sizes:
        place = folder.with_name(f"{folder.name}-{cases}")
        write_run(place, cases, REPLAYS)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.million", str(place)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        total = found["verify"] + found["measure"] + found["state"]
        lines.append(
            f"| {cases * REPLAYS} | {found['verify']:.1f} | {found['measure']:.1f} | {found['state']:.1f} "
            f"| {cases * REPLAYS / total:.0f} | {found['peak_mib']:.0f} |"
        )
    return lines


def main() -> None:
    from dfah_cli.evidence.verify import verify
    from dfah_cli.metrics.measure import measure
    from dfah_cli.report.state import state_report
    from dfah_cli.workflow.analyze import open_run

    started = time.perf_counter()
    reader = open_run(sys.argv[1])
    verified = verify(reader.plan_bytes, reader.manifest_bytes, reader.records())
    read = time.perf_counter()
    measurement = measure(verified.table, replays=verified.plan.replays)
    measured = time.perf_counter()
    state_report(verified, measurement)
    stated = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"verify": read - started, "measure": measured - read, "state": stated - measured, "peak_mib": peak})
    )


if __name__ == "__main__":
    main()
