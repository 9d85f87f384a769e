"""The first page: what it shows is what the program prints, and what it names is there."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import ROOT
from tests.cli.command import environment

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- output -->\n```\n\$ (.*?)\n(.*?)```\n<!-- /output -->", TEXT, re.DOTALL)
WIDTH = 104
STYLE = re.compile(r"\x1b\[[0-9;]*m")
DIGEST = re.compile(r"\b[0-9a-f]{4}…[0-9a-f]{4}\b|\b[0-9a-f]{12}\b")


def facts(text: str) -> list[str]:
    """Lines without styles, and without the digests of a run, which belong to that run alone."""
    return [DIGEST.sub("…", STYLE.sub("", line)).rstrip() for line in text.splitlines()]


def test_the_page_shows_what_the_demonstrations_print() -> None:
    assert [command.split()[1] for command, _ in BLOCKS] == ["suite=toy-risk", "suite=compliance-triage"]


@pytest.mark.parametrize(("command", "shown"), BLOCKS)
def test_the_output_on_the_page_is_what_a_terminal_shows(command: str, shown: str, tmp_path: Path) -> None:
    _, *arguments = shlex.split(command)
    done = subprocess.run(
        [sys.executable, "-m", "dfah_cli.cli.hydra_app", *arguments],
        cwd=tmp_path,
        env=environment(FORCE_COLOR="1", NO_COLOR="1", COLUMNS=str(WIDTH)),
        timeout=120,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    plan, *rest = facts(shown)
    assert plan == facts(done.stderr)[0]
    assert [line for line in rest if line] == [line for line in facts(done.stdout) if line]


def test_every_file_the_page_names_is_there() -> None:
    for place in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert "://" in place or (ROOT / place).exists(), place


def test_the_page_has_a_picture() -> None:
    assert re.search(r"!\[[^\]]+\]\(docs/pictures/[\w.]+\)", TEXT)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make; run: apt-get install make")
def test_the_demonstration_installs_what_it_needs_and_says_only_what_it_measured(tmp_path: Path) -> None:
    steps = subprocess.run(
        ["make", "-n", "demo", f"VENV={tmp_path / 'venv'}"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    install = next(line for line in steps.splitlines() if "pip install" in line)
    assert " -qq " in install
    assert install.endswith("-e .")
