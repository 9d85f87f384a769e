"""What stands where a file of the store belongs: anything but the file is refused as altered evidence, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dfah_cli.errors import ArtifactError, ConfigurationError
from dfah_cli.workflow.analyze import analyze
from tests.builders import a_scripted_agent, replayed

KINDS: dict[str, Callable[[Path], object]] = {
    "directory": lambda path: path.mkdir(),
    "fifo": lambda path: os.mkfifo(path),
    "link": lambda path: path.symlink_to("/dev/null"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plan.json", "head", "segments/00000000.jsonl", "reports/1.json"])
def test_another_kind_of_file_is_altered_evidence(tmp_path: Path, name: str, kind: str) -> None:
    replayed(a_scripted_agent({"A": [("Y", "")]}), tmp_path / "run", replays=2)
    place = tmp_path / "run" / name
    place.unlink()
    KINDS[kind](place)
    with pytest.raises(ArtifactError, match=place.name):
        analyze(tmp_path / "run")


def test_a_file_in_place_of_the_run_directory_is_a_wrong_request(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(ConfigurationError, match="is no directory"):
        analyze(tmp_path / "run")
    with pytest.raises(ConfigurationError, match="is no directory"):
        replayed(a_scripted_agent({"A": [("Y", "")]}), tmp_path / "run", replays=2)
