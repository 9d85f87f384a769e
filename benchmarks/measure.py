"""Runs the measuring programs, ours and the peer's in turn, so that a drift of the machine hits both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

PROGRAM = Path(__file__).with_name("public_program.py")
PEER = "dfah-bench==0.1.3"


@frozen
class Result:
    """Medians over the rounds. rate: episodes per second."""

    seconds: float
    episodes: int
    bytes: int
    files: int

    @property
    def rate(self) -> float:
        return self.episodes / self.seconds


def peer_python(folder: Path) -> Path | None:
    """The interpreter of the peer's own environment, made on first use; None where it cannot be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", PEER], capture_output=True, check=False)
        if done.returncode:
            return None
    return python


Size = tuple[int, int, int]
"""Cases, replays, concurrency."""


def run_program(python: Path | str, what: str, directory: Path, size: Size, call_s: float = 0.0) -> Result:
    """One measurement in a process of its own. call_s: how long the agent takes."""
    command = [str(python), str(PROGRAM), what, str(directory), *map(str, (*size, call_s))]
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=directory.parent)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    return Result(**json.loads(done.stdout.strip().splitlines()[-1]))


def middle(results: list[Result]) -> Result:
    """The median of the seconds; sizes do not vary."""
    return Result(median(r.seconds for r in results), results[0].episodes, results[0].bytes, results[0].files)


def disk_rate(folder: Path, seconds: float = 1.0, size: int = 1500) -> float:
    """Appends of `size` bytes, each followed by fdatasync, per second on this file system."""
    with tempfile.NamedTemporaryFile(dir=folder, delete=True) as file:
        number, payload, count = file.fileno(), b"x" * size, 0
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            os.write(number, payload)
            os.fdatasync(number)
            count += 1
        return count / (time.perf_counter() - started)


def peak_mib() -> float:
    """The most memory this program has had, in MiB.

    Not `ru_maxrss`: that also counts what the process had before it became this program, the memory of whoever started
    it.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) / 1024


def seconds_of(command: list[str], rounds: int = 7) -> float:
    """Median wall time of a whole command."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - started)
    return median(times)


Row = dict[str, Any]
