"""The first command of a newcomer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make; run: apt-get install make")
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


@pytest.mark.skipif(shutil.which("make") is None, reason="no make; run: apt-get install make")
def test_another_python_is_not_laid_over_an_environment_that_is_there(tmp_path: Path) -> None:
    asked, python, own = tmp_path / "asked", tmp_path / "python", tmp_path / "venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    for program in (python, own):
        program.write_text(f'#!/bin/sh\necho "$0 $1 $2" >> {asked}\n')
        program.chmod(0o755)
    for name in (".ready", ".installed"):
        target = own.parents[1] / name
        subprocess.run(
            ["make", "-C", str(ROOT), str(target), f"PYTHON={python}", f"VENV={own.parents[1]}"],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
    calls = asked.read_text()
    assert f"{own} -m pip" in calls
    assert "-m venv" not in calls
