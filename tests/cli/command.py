"""Runs the real command, in a directory of its own and with a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DFAH = [sys.executable, "-m", "dfah_cli.cli.main"]
ROOT = Path(__file__).resolve().parents[2]
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
    *arguments: str | Path, cwd: Path, timeout: float = 60, env: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The finished command; its output as text."""
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


def documents(done: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON document on standard output."""
    assert done.stdout.endswith("}\n")
    return json.loads(done.stdout)
