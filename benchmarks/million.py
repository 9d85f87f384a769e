"""1,000,000 episodes: written through the store, then verified, measured and stated in a process of its own.

usage: million.py DIRECTORY
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import peak_mib

SHAPES = ((10_000, 10), (100_000, 10), (333_334, 3))


def report(folder: Path, shapes: tuple[tuple[int, int], ...] = SHAPES) -> list[str]:
    """A Markdown table, one row for so many cases with so many replays: seconds per step, peak memory."""
    from benchmarks.synthetic import write_run

    lines = [
        "| cases | replays | episodes | verify s | measure s | state s | episodes/s | peak MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cases, replays in shapes:
        place = folder.with_name(f"{folder.name}-{cases}")
        write_run(place, cases, replays)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.million", str(place)], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        steps = [found[step] for step in ("verify", "measure", "state")]
        lines.append(
            f"| {cases} | {replays} | {cases * replays} | {' | '.join(f'{seconds:.1f}' for seconds in steps)} "
            f"| {cases * replays / sum(steps):.0f} | {found['peak_mib']:.0f} |"
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
    print(
        json.dumps(
            {"verify": read - started, "measure": measured - read, "state": stated - measured, "peak_mib": peak_mib()}
        )
    )


if __name__ == "__main__":
    main()
