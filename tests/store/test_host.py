from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from dfah_cli.store.host import Host


def test_a_process_has_one_start_for_as_long_as_it_lives() -> None:
    assert Host().start_ticks(os.getpid()) == Host().start_ticks(os.getpid()) != ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_killed_process_is_gone_before_its_parent_waits_for_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert Host().start_ticks(child.pid) != ""
    child.kill()
    deadline = time.monotonic() + 10
    while Host().start_ticks(child.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert Host().start_ticks(child.pid) == ""
    child.wait()
