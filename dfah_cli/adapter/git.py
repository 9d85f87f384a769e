"""The commit of a directory: provenance, never part of an identity unless the caller asks for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from attrs import frozen

TIMEOUT_S = 2.0
# What makes a directory one of our run directories.
PLAN_FILE, LOG_DIRECTORY = "plan.json", "segments"


@frozen
class GitState:
    """sha: HEAD, 40 or 64 hex digits; None without git or commit. dirty: None when it could not be told in time."""

    sha: str | None
    dirty: bool | None


NO_GIT = GitState(None, None)


def git_state(cwd: str | Path = ".") -> GitState:
    """The commit of a directory and whether its tree differs from it; run directories and `.dfah` never count."""
    sha = _git(cwd, "rev-parse", "--verify", "HEAD")
    top = _git(cwd, "rev-parse", "--show-toplevel")
    if sha is None or top is None:
        return NO_GIT
    root = Path(top.strip("\n"))
    changes = _git(root, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    if changes is None:
        return GitState(sha.strip(), None)
    paths = [entry[3:] for entry in changes.split("\0") if entry]
    return GitState(sha.strip(), any(not _is_ours(root, path) for path in paths))


def _is_ours(root: Path, path: str) -> bool:
    """Whether a changed path lies in `.dfah` or in a run directory."""
    folders = Path(path).parts[:-1]
    if ".dfah" in folders or Path(path).name == ".dfah":
        return True
    places = (root.joinpath(*folders[: depth + 1]) for depth in range(len(folders)))
    return any((place / PLAN_FILE).is_file() and (place / LOG_DIRECTORY).is_dir() for place in places)


def _git(cwd: str | Path, *arguments: str) -> str | None:
    """What git prints; None when it is missing, fails or is too slow."""
    # A repository's own configuration must not start programs (fsmonitor), and looking must not write (locks).
    command = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
            env={**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")
