"""What an adapter leaves in the process: the command ends all the same, with the code it has told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import ROOT

ADAPTER = """
import atexit, sys, threading, time
from dfah import agent
from dfah.demo import toy_agent

def thread():
    threading.Thread(target=time.sleep, args=(600,)).start()

def hook():
    atexit.register(time.sleep, 600)

def streams():
    sys.stdout.close()
    sys.stderr.close()

class Broken:
    def write(self, text):
        raise ZeroDivisionError
    flush = write

def replaced():
    sys.stdout = sys.stderr = Broken()

def shallow():
    sys.setrecursionlimit(60)

class Leaving:
    manifest, tools, suite = toy_agent.manifest, toy_agent.tools, toy_agent.suite

    def __init__(self, leave):
        self.leave = leave

    async def arun(self, case, context):
        self.leave()
        return await toy_agent.arun(case, context)

leaves_thread, leaves_hook, closes_streams = Leaving(thread), Leaving(hook), Leaving(streams)
replaces_streams, leaves_no_depth = Leaving(replaced), Leaving(shallow)
"""


def ran(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    (folder / "leaving.py").write_text(ADAPTER)
    # The time that is left to others on the way out, shortened: what happens then is the same.
    code = "import sys; from dfah_cli.cli import edge, main; edge.LAST_WORD_S = 0.5; sys.exit(main.main())"
    words = ["run", "--agent", f"leaving:{name}", "--replays", "2", "--out", "run"]
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder, env={"PYTHONPATH": f"{ROOT}:{folder}"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["leaves_thread", "leaves_hook"])
def test_a_thread_or_an_exit_hook_that_never_ends_does_not_keep_the_command(tmp_path: Path, name: str) -> None:
    done = ran(tmp_path, name)
    assert (done.returncode, "status=complete" in done.stdout) == (0, True), done.stderr


def test_an_adapter_that_closes_standard_output_is_no_bug_of_ours(tmp_path: Path) -> None:
    done = ran(tmp_path, "closes_streams")
    assert done.returncode == 4
    assert ran(tmp_path, "closes_streams").returncode == 0


def test_an_adapter_that_replaces_the_standard_streams_changes_no_output(tmp_path: Path) -> None:
    done = ran(tmp_path, "replaces_streams")
    assert (done.returncode, "status=complete" in done.stdout) == (0, True), done.stderr
    assert "ZeroDivisionError" not in done.stderr


def test_an_adapter_that_lowers_the_recursion_limit_harms_its_own_episodes_only(tmp_path: Path) -> None:
    done = ran(tmp_path, "leaves_no_depth")
    # Later interpreters need less depth for an episode, so that it may be valid all the same.
    assert done.returncode in (0, 4), done.stderr
    assert "called=4" in done.stdout, done.stderr
