"""Runs the real command, in a directory of its own and with a clean environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

DFAH = [sys.executable, "-m", "dfah_cli.cli.main"]
ROOT = Path(__file__).resolve().parents[2]
PRELOADED = (
    "cattrs",
    "dfah.demo",
    "dfah_cli.adapter.tape",
    "dfah_cli.cli.progress",
    "dfah_cli.cli.show",
    "dfah_cli.gate.record",
    "dfah_cli.loading.policies",
    "dfah_cli.render.html",
    "dfah_cli.render.inspection",
    "dfah_cli.render.markdown",
    "dfah_cli.render.terminal",
    "dfah_cli.store.opening",
    "dfah_cli.store.writer",
    "dfah_cli.workflow.comparison",
    "dfah_cli.workflow.judging",
    "dfah_cli.workflow.rendering",
    "dfah_cli.workflow.run",
    "jinja2",
    "jsonschema",
    "rich.live",
)
STARTUP = frozenset({"LANG", "LC_ALL", "PYTHONIOENCODING", "PYTHONPATH", "PYTHONUTF8"})
DROPPED = (
    "CI",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LC_ALL",
    "LANG",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "GITHUB_STEP_SUMMARY",
)

AGENTS = """
import asyncio
import os
import sys

from dfah import agent
from dfah.demo import toy_agent, toy_suite


def made(function):
    return agent(manifest=toy_agent.manifest, tools=toy_agent.tools, suite=toy_suite)(function)


@made
async def raising(case, context):
    raise RuntimeError("first line\\nsk-ant-abcdefghijklmnopqrstuvwxyz \\x1b[31mred")


@made
async def leaving(case, context):
    sys.exit(0)


@made
async def slow(case, context):
    print("called", flush=True)
    await asyncio.sleep(30)


@made
async def garbled(case, context):
    result = await toy_agent.arun(case, context)
    import attrs
    return attrs.evolve(result, output_text="no marker here")


@made
async def first_case_only(case, context):
    if case.case_id != "RISK-001":
        raise ValueError("no")
    return await toy_agent.arun(case, context)


not_an_agent = 3
"""


def environment(**changes: str) -> dict[str, str]:
    """The environment of a plain shell, without what a CI server sets."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED and not name.startswith("DFAH_")}
    inherited = [str(ROOT), kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else [str(ROOT)]
    return kept | {"LANG": "C.UTF-8", "PYTHONPATH": os.pathsep.join(inherited)} | changes


def dfah(
    *arguments: str | Path,
    cwd: Path,
    timeout: float = 60,
    env: dict[str, str] | None = None,
    importable: bool = True,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """The finished command; its output as text.

    In a fork of the test, which saves starting Python, unless the test is about how a process starts: about its
    streams, or what Python reads from the environment. importable: Python itself finds the modules in `cwd`.
    """
    if not options and STARTUP.isdisjoint(env or {}):
        _preload()
        words = [str(argument) for argument in arguments]
        return forked(words, cwd, _main, timeout=timeout, env=env or {}, paths=[str(cwd)] if importable else [])
    return subprocess.run(
        [*DFAH, *map(str, arguments)],
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=timeout,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        **({"capture_output": True} | options),
    )


def forked(
    arguments: list[str],
    cwd: Path,
    act: Callable[[list[str]], int],
    *,
    timeout: float = 60,
    env: Mapping[str, str] = MappingProxyType({}),
    paths: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """What a child of this process did that acted on the arguments, with streams and an environment of its own."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            sys.path[:0] = paths
            os._exit(_in_child(lambda: act(arguments), cwd, env, [out.fileno(), err.fileno()]))
        code = _ended(child, time.monotonic() + timeout)
        out.seek(0)
        err.seek(0)
        shown = [stream.read().decode("utf-8", "surrogateescape") for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *shown)


@cache
def _preload() -> None:
    """So that a forked command need not import them."""
    from dfah_cli.cli.main import COMMANDS

    for module, _ in COMMANDS.values():
        import_module(f"dfah_cli.cli.commands.{module}")
    for name in PRELOADED:
        import_module(name)


def _main(arguments: list[str]) -> int:
    from dfah_cli.cli import main

    sys.argv = [main.__file__, *arguments]
    return main.main()


def _in_child(act: Callable[[], int], cwd: Path, env: Mapping[str, str], outputs: list[int]) -> int:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment(**env))
    for number, stream in enumerate((os.open(os.devnull, os.O_RDONLY), *outputs)):
        os.dup2(stream, number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    warnings.simplefilter("ignore")
    try:
        code = act()
    except BaseException:
        traceback.print_exc()
        code = 99
    for written in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            written.flush()
    return code


def _ended(child: int, until: float) -> int:
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the command did not end in time")


def documents(done: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document on standard output."""
    assert done.stdout.endswith("}\n")
    return json.loads(done.stdout)
