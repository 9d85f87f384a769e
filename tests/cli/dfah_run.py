"""Runs `dfah-run`: as a shell starts it, or in a fork of the test, which saves starting Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import cattrs
from hydra.core.plugins import Plugins

from dfah import demo
from dfah_cli.cli import hydra_sweep, progress, show
from dfah_cli.cli.hydra_app import main
from dfah_cli.config import compose, plans
from dfah_cli.render import html, terminal
from dfah_cli.store import opening, writer
from dfah_cli.workflow import run

# So that a forked command need not import them, nor look for Hydra's plugins.
PRELOADED = (
    *(cattrs, demo, compose, plans, hydra_sweep, progress, show, html, terminal, opening, writer, run),
    Plugins.instance(),
)


def spawned(project: Path, arguments: tuple[str, ...]) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "dfah_cli.cli.hydra_app", *arguments],
        cwd=project, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def forked(project: Path, arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """The command in a child of this process: its own file descriptors, its own state."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os._exit(in_child(project, arguments, [out.fileno(), err.fileno()]))
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode()


def in_child(project: Path, arguments: tuple[str, ...], outputs: list[int]) -> int:
    os.chdir(project)
    for number, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    sys.dont_write_bytecode = True
    try:
        code = main(list(arguments))
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    return code
