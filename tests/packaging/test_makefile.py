"""The first command of a newcomer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not there; run: apt-get install make")
def test_a_python_of_a_wrong_version_leaves_no_environment_in_the_way_of_the_right_one(tmp_path: Path) -> None:
    asked, python = tmp_path / "asked", tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$1 $2" >> {asked}\nexit 1\n')
    python.chmod(0o755)
    for target in ("demo", "test"):
        done = subprocess.run(
            ["make", "-C", str(ROOT), target, f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode != 0
        assert "setting up" not in done.stdout
    assert not (tmp_path / "venv").exists()
    first = asked.read_text().splitlines()
    assert all(line.startswith("-c import sys;") for line in first)
    assert len([line for line in first if "version_info" in line]) == 2
