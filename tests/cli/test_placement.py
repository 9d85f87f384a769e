"""Where episodes run is chosen alike by every command that makes runs."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from dfah_cli.cli.commands.attribute import command as attribute
from dfah_cli.cli.commands.rerun import command as rerun
from dfah_cli.cli.commands.run import command as run
from dfah_cli.cli.options import stacked
from dfah_cli.cli.placement import PLACEMENT, placed
from dfah_cli.records.engine import Engine
from tests.cli.command import dfah

HERE = ("isolation", "worker_memory_mb")
OPTIONS = {param.name: param for param in click.command()(stacked(PLACEMENT)(lambda **_: None)).params}


@pytest.mark.parametrize("command", [run, rerun, attribute], ids=["run", "rerun", "attribute"])
def test_every_command_that_makes_runs_has_the_same_options(command: click.Command) -> None:
    mine = {param.name: param.to_info_dict() for param in command.params}
    assert {name: mine[name] for name in OPTIONS} == {name: param.to_info_dict() for name, param in OPTIONS.items()}


def test_options_of_the_engine_become_the_engine() -> None:
    given = dict.fromkeys(OPTIONS) | {"engine": "ray", "engine_address": "auto", "engine_workers": 3, "seed": 1}
    assert placed(given) == dict.fromkeys(HERE) | {"seed": 1, "engine": Engine(name="ray", address="auto", workers=3)}


def test_the_engine_is_refused_alike_before_anything_is_called(stable_run: Path, here: Path) -> None:
    agent = ("--agent", "dfah.demo:toy_agent")
    for words in (
        ("run", *agent, "--out", "new"),
        ("attribute", *agent, "--out", "new", "--tools-file", "tools.jsonl"),
    ):
        done = dfah(*words, "--engine", "ray", "--isolation", "process", cwd=here)
        assert (done.returncode, "isolation needs engine=local" in done.stderr) == (2, True)
    assert not (here / "new").exists()
