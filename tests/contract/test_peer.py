"""One adapter file, unchanged, on this implementation and on another one that lives in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BOTH = Path(__file__).with_name("both.py")


def run_with(python: str, out: Path) -> Any:
    done = subprocess.run([python, str(BOTH), str(out)], capture_output=True, text=True, cwd=out.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_adapter_file_runs_here(tmp_path: Path) -> None:
    found = run_with(sys.executable, tmp_path / "run")
    assert found["status"] == "partial"
    kinds = {case_id: kind for case_id, _, kind in found["cases"]}
    assert (kinds["P1"], kinds["P2"]) == ("order_only", "multiplicity")
    assert (kinds["P3"], kinds["P4"]) == ("argument_or_result", "tool_set")
    assert {reason for reason, _ in found["reasons"]} >= {"terminal_status_parse_failure", "terminal_status_tool_error"}


def test_the_same_adapter_file_gives_the_same_on_the_peer(tmp_path: Path) -> None:
    peer = os.environ.get("DFAH_PEER_PYTHON")
    if not peer:
        pytest.skip("no peer: set DFAH_PEER_PYTHON to the python of an environment with dfah-bench")
    ours, theirs = run_with(sys.executable, tmp_path / "ours"), run_with(peer, tmp_path / "theirs")
    assert ours.keys() == theirs.keys()
    for key, expected in theirs.items():
        close = key in ("dar", "tar", "gap", "flags", "sequence_flags", "cost")
        assert ours[key] == (pytest.approx(expected, abs=1e-12) if close else expected), key
