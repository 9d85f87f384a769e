"""Real processes on a real disk: killed, cut off from their disk, out of space."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dfah_cli.errors import ExitCode
from dfah_cli.store.log import open_reader

ROOT = Path(__file__).resolve().parents[2]


def command(run: Path, episodes: int, calls: Path, concurrency: int = 1) -> list[str]:
    return [sys.executable, "-m", "tests.store.recorder", str(run), str(episodes), str(calls), str(concurrency)]


def check_promises(run: Path, calls: Path, episodes: int) -> Counter[str]:
    """Nothing sent twice, nothing acknowledged is lost, every slot has one terminal record."""
    lines = calls.read_text().split("\n") if calls.exists() else []
    sent = Counter(line for line in lines if line.startswith("call"))
    assert all(count == 1 for count in sent.values())
    found = {body["i"]: body["status"] for _, body in open_reader(run).records() if body["t"] == "episode"}
    assert sorted(found) == list(range(episodes))
    for line in lines:
        if line.startswith("ack"):
            assert found[int(line.split()[1])] == "valid"
    return Counter(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_run_killed_again_and_again_comes_to_its_end(tmp_path: Path, concurrency: int) -> None:
    run, calls, episodes = tmp_path / "run", tmp_path / "calls", 600
    chance = random.Random(concurrency)
    kills = 0
    for _ in range(8):
        process = subprocess.Popen(command(run, episodes, calls, concurrency), cwd=ROOT, stderr=subprocess.DEVNULL)
        started = calls.stat().st_size if calls.exists() else 0
        while process.poll() is None and (not calls.exists() or calls.stat().st_size == started):
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills > 0
    subprocess.run(command(run, episodes, calls, concurrency), cwd=ROOT, check=True)
    statuses = check_promises(run, calls, episodes)
    assert statuses["interrupted"] <= kills * concurrency


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "when"),
    [
        ("fdatasync:error=EIO", 1),
        ("fdatasync:error=EIO", 3),
        ("fsync:error=EIO", 1),
        ("write:error=EIO", 1),
        ("write:error=EIO", 3),
        ("write:error=ENOSPC", 1),
        ("write:error=ENOSPC", 3),
    ],
)
def test_a_disk_that_fails_stops_the_run_and_the_next_one_goes_on(tmp_path: Path, fault: str, when: int) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace; run: apt-get install strace")
    run, calls, episodes = tmp_path / "run", tmp_path / "calls", 20
    # Only calls on the segments: Python itself writes to other files.
    segment = run / "segments" / "00000000.jsonl"
    injected = [strace, "-f", "-qq", "-o", os.devnull, "-P", str(segment), "-P", f"{segment}.tmp"]
    name = fault.partition(":")[0]
    injected += ["-e", f"trace={name}", "-e", f"inject={fault}:when={when}"]
    if subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("strace may not trace here")
    failed = subprocess.run(
        [*injected, *command(run, episodes, calls)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert failed.returncode == ExitCode.UNDECIDED
    assert "StorageError" in failed.stderr
    subprocess.run(command(run, episodes, calls), cwd=ROOT, check=True)
    check_promises(run, calls, episodes)


def test_a_small_file_system_that_fills_up_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        run, calls, episodes = disk / "run", tmp_path / "calls", 400
        full = subprocess.run(command(run, episodes, calls), cwd=ROOT, capture_output=True, text=True, check=False)
        assert full.returncode == ExitCode.UNDECIDED
        assert "disk is full" in full.stderr
        # Everything that was sent has its terminal record: the reserve made room for it.
        reader = open_reader(run)
        found = {body["i"] for _, body in reader.records() if body["t"] == "episode"}
        assert found == {int(line.split()[1]) for line in calls.read_text().split("\n") if line.startswith("call")}
        assert reader.slots().count(2) == 0
        subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
        subprocess.run(command(run, episodes, calls), cwd=ROOT, check=True)
        assert check_promises(run, calls, episodes)["interrupted"] == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
