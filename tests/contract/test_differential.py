"""200 random suites and scripted agents, line by line against what another implementation of the contract gave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import shared

CHUNK = 50
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(0, 200, CHUNK))
def test_identities_plans_metrics_and_reasons_are_those_of_the_reference(first: int, tmp_path: Path) -> None:
    script, recorded = shared("tools", "differential.py"), shared("vectors", "reference_000_199.jsonl")
    expected = [json.loads(line) for line in recorded.read_text().splitlines()[first : first + CHUNK]]
    command = [sys.executable, str(script), str(first), str(first + CHUNK)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    # As values, not as text: an exact gap of zero has no sign, a rounded one may.
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["seed"] for line in found] == list(range(first, first + CHUNK))
    assert [line for line, other in zip(found, expected, strict=True) if line != other] == []
