"""CPU time and memory of measuring a table of episodes: all numbers, all intervals. Both grow linearly.

usage: python -m benchmarks.measurement DOCS    writes DOCS/measurement.md and DOCS/measurement.svg
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import peak_mib

SIZES = (10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000)
REPLAYS, TASKS, KINDS = 3, 3, 200
WIDTH, HEIGHT, EDGE = 480, 280, 50


def run(episodes: int) -> dict[str, float]:
    """CPU seconds to build, measure and give intervals, in a fresh table of synthetic episodes."""
    from dfah_cli.metrics.measure import measure
    from dfah_cli.metrics.table import TableBuilder
    from dfah_cli.metrics.uncertainty import Confidence, run_intervals

    source = random.Random(1)
    states = ("observed_nonempty", "executed")
    paths = [
        [(f"tool{source.randrange(5)}", f"{source.random():.9f}", "r", *states) for _ in range(4)] for _ in range(KINDS)
    ]
    started = time.process_time()
    builder = TableBuilder()
    for case in range(episodes // REPLAYS):
        group, usual = builder.group(f"t{case % TASKS}", f"C{case}"), case % KINDS
        for replay in range(REPLAYS):
            path = paths[usual if source.random() < 0.9 else source.randrange(KINDS)]
            label = "yes" if source.random() < 0.97 else "no"
            builder.add(group, replay, "valid", label, builder.paths.intern(path), "f", None, 1000, 5000)
    table = builder.build()
    built = time.process_time()
    numbers = measure(table, replays=REPLAYS)
    measured = time.process_time()
    run_intervals(numbers, Confidence(labels=2))
    done = time.process_time()
    return {
        "episodes": len(table),
        "build": built - started,
        "measure": measured - built,
        "intervals": done - measured,
        "peak_mib": peak_mib(),
    }


def rows() -> list[dict[str, float]]:
    """One row a size, each from a process of its own so that peak memory is its own."""
    found = []
    for size in SIZES:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.measurement", "--one", str(size)],
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(done.stdout))
    return found


def page(found: list[dict[str, float]]) -> str:
    lines = [
        "# CPU time and memory of measuring",
        "",
        f"Made by `python -m benchmarks.measurement docs`; {REPLAYS} replays a case, {TASKS} tasks, one process a row.",
        "`build` fills the table, `measure` gives every number, `intervals` every interval (20,000 draws each).",
        "",
        "| episodes | build s | measure s | intervals s | peak MiB |",
        "|---|---|---|---|---|",
    ]
    for row in found:
        seconds = " | ".join(f"{row[name]:.2f}" for name in ("build", "measure", "intervals"))
        lines.append(f"| {row['episodes']:,} | {seconds} | {row['peak_mib']:.0f} |")
    return "\n".join([*lines, "", "![seconds and memory over episodes](measurement.svg)", ""])


def chart(found: list[dict[str, float]]) -> str:
    """Two lines over the number of episodes: seconds of measuring with intervals, and peak memory."""
    seconds = [row["measure"] + row["intervals"] for row in found]
    memory = [row["peak_mib"] for row in found]
    across = [EDGE + (WIDTH - 2 * EDGE) * row["episodes"] / found[-1]["episodes"] for row in found]
    style = 'font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>',
        f'<path d="M{EDGE} 20V{HEIGHT - EDGE}H{WIDTH - EDGE}" fill="none" stroke="#888"/>',
    ]
    for values, colour, name in ((seconds, "#0072b2", "s"), (memory, "#d55e00", "MiB")):
        down = [HEIGHT - EDGE - (HEIGHT - EDGE - 20) * value / max(values) for value in values]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        at = 20 if name == "s" else 34
        parts.append(f'<text x="{EDGE + 8}" y="{at}" fill="{colour}">up to {max(values):.1f} {name}</text>')
    parts.append(f'<text x="{WIDTH - EDGE}" y="{HEIGHT - EDGE + 18}" text-anchor="end">1,000,000 episodes</text></svg>')
    return "\n".join(parts) + "\n"


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(run(int(sys.argv[2]))))
        return
    docs, found = Path(sys.argv[1]), rows()
    (docs / "measurement.md").write_text(page(found), encoding="utf-8")
    (docs / "measurement.svg").write_text(chart(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()
