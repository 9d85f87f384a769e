"""The recipes of docs/store-format.md work on a finished run, and fail on an altered one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import fields

from dfah_cli.evidence.shapes import USAGE
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.records.journal import episode_body
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.store.vocabulary import RECORD_TYPES
from tests.builders import an_episode
from tests.store.test_run_directory import finish

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "store-format.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recipes") / "run"
    finish(directory, episodes=6)
    return directory


def follow(kind: str, recipe: str, directory: Path) -> int:
    words = [sys.executable, "-c", recipe] if kind == "python" else ["bash", "-euo", "pipefail", "-c", recipe]
    return subprocess.run(words, cwd=directory, capture_output=True, check=False).returncode


def test_there_are_recipes() -> None:
    assert [kind for kind, _ in BLOCKS] == ["sh", "sh", "sh", "sh", "python"]


@pytest.mark.parametrize(("kind", "recipe"), BLOCKS)
def test_a_recipe_works_as_it_stands(run: Path, kind: str, recipe: str) -> None:
    if kind == "sh" and shutil.which("jq") is None:
        pytest.skip("no jq; run: apt-get install jq")
    assert follow(kind, recipe, run) == 0


@pytest.mark.parametrize(("kind", "recipe"), [BLOCKS[0], BLOCKS[4]])
def test_a_recipe_fails_on_an_altered_run(run: Path, tmp_path: Path, kind: str, recipe: str) -> None:
    shutil.copytree(run, tmp_path / "copy")
    segment = tmp_path / "copy" / "segments" / "00000000.jsonl"
    content = segment.read_bytes()
    at = content.rindex(b'{"h":"', 0, content.index(b'"t":"episode"')) + 6
    segment.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert follow(kind, recipe, tmp_path / "copy") != 0


def test_the_page_names_every_record_type_and_required_field() -> None:
    for kind, known in RECORD_TYPES.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{kind}` |"))
        for field in known.allowed - {"t"}:
            assert f"`{field}`" in row, (kind, field)


def test_the_page_names_everything_inside_a_terminal_record_and_a_plan() -> None:
    inside = episode_body(an_episode("contract_error"), ordinal=0, key="0" * 64, parameters_sha256="0" * 64)
    parts = {"parse": inside["parse"], "wire_request": inside["wire_request"], "error": inside["error"]}
    parts |= {"trajectory": inside["trajectory"], "a call": inside["trajectory"]["calls"][0], "usage": USAGE}
    for part, names in parts.items():
        (row,) = (line for line in PAGE.splitlines() if line.startswith((f"| `{part}` |", f"| {part} |")))
        assert [name for name in names if f"`{name}`" not in row] == []
    section = PAGE.partition("## Plan and schedule")[2].partition("\n## ")[0]
    assert [field.name for field in fields(RunPlan) if f"`{field.name}`" not in section] == []
    told = PAGE.partition("| `status` |")[2].partition("\n")[0]
    assert [status.value for status in EpisodeStatus if f"`{status.value}`" not in told] == []
