"""What a run keeps in memory does not grow with the number of its episodes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.builders import ROOT


@pytest.mark.soak
def test_memory_is_flat_over_a_hundred_thousand_episodes() -> None:
    command = [sys.executable, "-m", "benchmarks.memory", "100000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    print(found)
    # A kept record would be hundreds of bytes and several blocks.
    assert found["bytes_an_episode"] < 30
    assert found["blocks_an_episode"] < 0.2
