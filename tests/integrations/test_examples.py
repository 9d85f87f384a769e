"""Every example of a framework runs by itself, without a key, and measures something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import ROOT
from tests.cli.command import environment
from tests.integrations.build import needs

PLACE = ROOT / "examples" / "frameworks"
NEEDS = {
    "openai_sdk": ("openai", "openai"),
    "anthropic_sdk": ("anthropic", "anthropic"),
    "langgraph_graph": ("langchain_openai", "langgraph"),
    "pydantic_ai_agent": ("pydantic_ai", "pydantic-ai"),
    "openai_agents_sdk": ("agents", "openai-agents"),
    "mcp_tools": ("mcp", "openai,mcp"),
    "declared_process": ("dfah", "dev"),
}


def test_every_example_is_run_by_the_tests() -> None:
    assert {place.stem for place in PLACE.glob("*.py")} - {"refunds"} == set(NEEDS)


@pytest.mark.parametrize("example", list(NEEDS))
def test_an_example_measures_its_agent(example: str, tmp_path: Path) -> None:
    needs(*NEEDS[example])
    done = subprocess.run(
        [sys.executable, str(PLACE / f"{example}.py")],
        cwd=tmp_path,
        env=environment(OPENAI_API_KEY="", ANTHROPIC_API_KEY=""),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("status complete  DAR ")
