"""`dfah init`: what it writes is valid, runs at once, and overwrites nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dfah_cli.cli.commands.init import name_of
from dfah_cli.cli.main import main
from dfah_cli.loading.strict_yaml import load
from tests.cli.command import dfah


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )


@pytest.mark.slow
def test_a_new_project_lints_locks_tests_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "Acme KYC"
    assert main(["init", str(folder)]) == 0
    assert "dfah-run -cn acme-kyc" in capsys.readouterr().out
    for words, code in (("lint", 0), ("plan check", 2), ("plan lock", 0), ("plan check", 0)):
        told = dfah(*words.split(), cwd=folder)
        assert told.returncode == code, (words, told.stdout, told.stderr)
    for command, code in (
        (("-m", "dfah_cli.cli.hydra_app", "-cn", "acme-kyc", "mode=blocking", "report=[html,junit]"), 0),
        (("-m", "dfah_cli.cli.hydra_app", "suite=acme-kyc", "replays=2"), 0),
        (("-m", "pytest", "-q", "-p", "no:cacheprovider"), 0),
    ):
        done = run(folder, *command)
        assert done.returncode == code, (command, done.stdout, done.stderr)


def test_its_ci_files_are_yaml(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "x")]) == 0
    for name in (".github/workflows/dfah.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"):
        text = (tmp_path / "x" / name).read_text()
        assert "NAME" not in text.replace("BASE_REF", "")
    assert load(tmp_path / "x" / ".gitlab-ci.yml").value["stages"] == ["review", "replay"]


def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Makefile").write_text("mine")
    assert main(["init", str(tmp_path), "--name", "acme"]) == 2
    assert "because these exist: Makefile" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
    assert (tmp_path / "Makefile").read_text() == "mine"


@pytest.mark.parametrize("name", ["Acme", "no", "a b", "../x"])
def test_a_name_that_no_suite_can_have_is_refused(tmp_path: Path, name: str) -> None:
    assert main(["init", str(tmp_path / "x"), "--name", name]) == 2
    assert not (tmp_path / "x").exists()


def test_a_folder_gives_a_usable_name() -> None:
    assert [name_of(Path(name)) for name in ("/x/Acme KYC_v2", "/x/9lives", "/x/___")] == [
        "acme-kyc-v2",
        "lives",
        "my-suite",
    ]
