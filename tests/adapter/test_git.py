from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dfah_cli.adapter.git import NO_GIT, GitState, git_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git; run: apt-get install git")


def git(where: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *arguments]
    return subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", ".")
    (tmp_path / "code.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def a_run_directory(where: Path) -> Path:
    (where / "segments").mkdir(parents=True)
    (where / "plan.json").write_text("{}")
    (where / "segments" / "00000000.jsonl").write_text("")
    (where / "head").write_text("")
    return where


def test_a_clean_tree_has_its_commit(repository: Path) -> None:
    assert git_state(repository) == GitState(git(repository, "rev-parse", "HEAD"), False)


@pytest.mark.parametrize("name", ["code.py", "new.py", "folder/deep.py", "an odd näme.py"])
def test_a_changed_or_new_file_makes_it_dirty(repository: Path, name: str) -> None:
    place = repository / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("x = 2\n")
    assert git_state(repository).dirty is True


@pytest.mark.parametrize("place", ["run", "out/deep/run", ".dfah/runs/x"])
def test_our_own_output_never_makes_it_dirty(repository: Path, place: str) -> None:
    a_run_directory(repository / place)
    (repository / ".dfah").mkdir(exist_ok=True)
    (repository / ".dfah" / "notes").write_text("")
    assert git_state(repository).dirty is False


def test_a_file_beside_our_output_still_counts(repository: Path) -> None:
    a_run_directory(repository / "out" / "run")
    (repository / "out" / "agent.py").write_text("")
    assert git_state(repository).dirty is True


def test_a_subdirectory_sees_the_whole_tree(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "code.py").write_text("x = 2\n")
    assert git_state(repository / "sub").dirty is True


def test_no_repository_or_no_commit_is_unknown(tmp_path: Path) -> None:
    assert git_state(tmp_path) == NO_GIT
    git(tmp_path, "init", "-q", ".")
    assert git_state(tmp_path) == NO_GIT


def test_no_git_is_unknown(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_state(repository) == NO_GIT


def test_looking_starts_no_program_of_the_repository(repository: Path, tmp_path: Path) -> None:
    hook = tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    hook.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(hook))
    git_state(repository)
    assert not (tmp_path / "started").exists()
