"""The commands of the page about recorded tools are run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from dfah_cli.records.keyed import ARGUMENTS, KEY_ID, PAYLOAD, RESULT
from dfah_cli.workflow.attribution import CANNOT_SEPARATE, FIRST_ARM, FREEZING, LAST_ARM
from tests.builders import ROOT
from tests.cli.command import dfah

PAGE = (ROOT / "docs" / "recorded-tools.md").read_text("utf-8")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.mark.parametrize("number", range(3))
def test_every_command_of_the_page_works(here: Path, number: int) -> None:
    block = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)[number]
    commands = [line for line in block.splitlines() if line.startswith("dfah ")]
    assert len(commands) >= 2
    for command in commands:
        done = dfah(*shlex.split(command)[1:], cwd=here, env={"DFAH_KEY_OF_DIGESTS": "k" * 64})
        assert done.returncode == 0, (command, done.stderr)


def test_the_key_that_the_page_makes_is_long_enough() -> None:
    (snippet,) = re.findall(r'python -c "(.*?)"\)', PAGE)
    made = os.popen(f"{sys.executable} -c '{snippet}'").read().strip()
    assert len(made) == 64


def test_the_page_has_every_run_of_an_attribution_and_every_limit() -> None:
    for arm in (FIRST_ARM, *FREEZING.values(), LAST_ARM):
        assert f"| `{arm.name}` |" in PAGE
    assert len(re.findall(r"^\* ", PAGE.partition("What it cannot separate:")[2].partition("##")[0], re.M)) == (
        len(CANNOT_SEPARATE) + 1
    )


def test_the_recipe_of_a_keyed_digest_has_the_labels_of_the_code() -> None:
    recipe = (ROOT / "docs" / "store-format.md").read_text("utf-8")
    for label in (ARGUMENTS, RESULT, PAYLOAD, KEY_ID):
        assert f"`{label.decode().strip()}`" in recipe
