"""`python -m benchmarks`: us, the peer and the physical limit, side by side in one run; writes docs/benchmarks.md."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from pathlib import Path

from benchmarks import million
from benchmarks.measure import Result, Size, disk_rate, middle, peer_python, run_program, seconds_of

ROOT = Path(__file__).resolve().parent.parent
CONCURRENCIES = {1: (2000, 100), 16: (3000, 100), 256: (6000, 100)}
REPLAYS = 3
SLOW_AGENTS = ((0.1, (640, 8, 64), (320, 8, 64)), (1.0, (1280, 4, 256), None))
"""Seconds a call; our size; the peer's, which needs several times as long."""

REPLAY_HEADER = (
    "| concurrency | episodes/s | peer | ratio | append + fdatasync/s | share of that "
    "| bytes an episode | peer | files | peer |"
)


SLOW_HEADER = "| a call | concurrency | episodes | time over ideal | share of the ideal rate | peer: time over ideal |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each pair (default 3)")
    parser.add_argument("--million", action="store_true", help="also verify and analyse 1,000,000 episodes")
    parser.add_argument("--no-write", action="store_true", help="print only; leave docs/benchmarks.md alone")
    options = parser.parse_args()
    peer = peer_python(ROOT / ".venv-peer")
    if peer is None:
        print("The peer cannot be installed here; its columns are left out.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="dfah-bench-", dir=ROOT / "benchmarks") as folder:
        lines = list(report(Path(folder), peer, options.rounds, options.million))
    text = "\n".join(lines) + "\n"
    print(text)
    if not options.no_write:
        (ROOT / "docs" / "benchmarks.md").write_text(text, encoding="utf-8")


def report(folder: Path, peer: Path | None, rounds: int, with_million: bool) -> list[str]:
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Ratios from one run on one machine: both programs in turn, medians.",
        "Absolute times are of little worth elsewhere. The peer is `dfah-bench` 0.1.3 in an environment of its own;",
        "both run the same program through the public API.",
        "",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {rounds} rounds.",
        "",
        "## Replaying with an agent that does nothing (whole `Replay.run`)",
        "",
        f"{', '.join(f'{ours:,}' for ours, _ in CONCURRENCIES.values())} cases x {REPLAYS}, the peer 100 x {REPLAYS};",
        "everything counts, from the first import inside `run` to the report.",
        "",
        REPLAY_HEADER,
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for concurrency, (ours_cases, peer_cases) in CONCURRENCIES.items():
        lines.append(replaying(folder, peer, rounds, concurrency, ours_cases, peer_cases))
    lines += ["", "## Agents that take their time", "", SLOW_HEADER, "|---|---|---|---|---|---|"]
    lines += [slow_agent(folder, peer, rounds, *one) for one in SLOW_AGENTS]
    lines += ["", "## Reading a finished run", "", "| | episodes/s | peer | ratio |", "|---|---|---|---|"]
    lines += reading(folder, peer, rounds)
    lines += ["", "## Starting", "", "| command | over `python -c 'import hydra'` |", "|---|---|", *starting()]
    if with_million:
        lines += ["", "## 1,000,000 episodes", "", *million.report(folder / "million")]
    return lines


def replaying(folder: Path, peer: Path | None, rounds: int, concurrency: int, ours_cases: int, peer_cases: int) -> str:
    ours, theirs, disk = [], [], []
    for _ in range(rounds):
        disk.append(disk_rate(folder))
        ours.append(run_program(sys.executable, "replay", folder / "ours", (ours_cases, REPLAYS, concurrency)))
        if peer:
            theirs.append(run_program(peer, "replay", folder / "peer", (peer_cases, REPLAYS, concurrency)))
    mine, limit = middle(ours), sorted(disk)[len(disk) // 2]
    other = middle(theirs) if theirs else None
    return (
        f"| {concurrency} | {mine.rate:.0f} | {_rate(other)} | {_ratio(mine, other)} "
        f"| {limit:.0f} | {mine.rate / limit:.2f} "
        f"| {mine.bytes / mine.episodes:.0f} | {_size(other)} | {mine.files} | {other.files if other else '—'} |"
    )


def slow_agent(folder: Path, peer: Path | None, rounds: int, call_s: float, ours: Size, theirs: Size | None) -> str:
    """One row. The ideal: every worker calls the agent without a pause."""
    over = over_ideal(
        [run_program(sys.executable, "replay", folder / "ours", ours, call_s) for _ in range(rounds)], ours, call_s
    )
    other = "—"
    if peer and theirs:
        other = f"{over_ideal([run_program(peer, 'replay', folder / 'peer', theirs, call_s)], theirs, call_s):.2f}"
    cases, replays, concurrency = ours
    return f"| {call_s} s | {concurrency} | {cases * replays:,} | **{over:.2f}** | {1 / over:.0%} | {other} |"


def over_ideal(measured: list[Result], size: Size, call_s: float) -> float:
    cases, replays, concurrency = size
    return middle(measured).seconds / (cases * replays * call_s / concurrency)


def reading(folder: Path, peer: Path | None, rounds: int) -> list[str]:
    rows = []
    ours_cases, peer_cases = 8000, 100
    run_program(sys.executable, "replay", folder / "ours", (ours_cases, REPLAYS, 16))
    if peer:
        run_program(peer, "replay", folder / "peer", (peer_cases, REPLAYS, 1))
    for what, name in (("resume", "rerun: nothing left to call"), ("load", "load and verify")):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(run_program(sys.executable, what, folder / "ours", (ours_cases, REPLAYS, 16)))
            if peer:
                theirs.append(run_program(peer, what, folder / "peer", (peer_cases, REPLAYS, 1)))
        mine, other = middle(ours), middle(theirs) if theirs else None
        rows.append(f"| {name} | {mine.rate:.0f} | {_rate(other)} | {_ratio(mine, other)} |")
    return rows


def starting() -> list[str]:
    bin_ = Path(sys.executable).parent
    base = seconds_of([sys.executable, "-c", "import hydra"])
    commands = {
        "dfah --help": [str(bin_ / "dfah"), "--help"],
        "dfah-run suite=toy-risk plan=only": [str(bin_ / "dfah-run"), "suite=toy-risk", "plan=only"],
    }
    return [f"| `{name}` | {seconds_of(command) / base:.2f} |" for name, command in commands.items()]


def _rate(result: Result | None) -> str:
    return "—" if result is None else f"{result.rate:.0f}"


def _ratio(mine: Result, other: Result | None) -> str:
    return "—" if other is None else f"**{mine.rate / other.rate:.1f}**"


def _size(result: Result | None) -> str:
    return "—" if result is None else f"{result.bytes / result.episodes:.0f}"


if __name__ == "__main__":
    main()
