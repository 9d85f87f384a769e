"""What a command does not import: each of these names is time at the start of every call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import dfah, environment

DFAH, DFAH_RUN = "dfah_cli.cli.main", "dfah_cli.cli.hydra_app"
PAGES = ("jinja2", "dfah_cli.render.html")
COMPOSING = ("hydra", "omegaconf")
CHECKING = ("jsonschema", "yaml")
NUMBERS = ("numpy", "dfah_cli.metrics.table", "dfah_cli.report.record", "dfah_cli.gate.record")
WRITING = ("asyncio", "dfah_cli.store.writer", "dfah_cli.store.sharded", "dfah_cli.store.follow")
RUNNING = ("dfah_cli.store.log", "dfah_cli.engines.local", "dfah_cli.execution.runner", "dfah_cli.workflow.run")
TOOLS = ("dfah_cli.adapter.tape", "dfah_cli.workflow.tool_recording")

HELP = (*PAGES, *COMPOSING, *CHECKING, *NUMBERS, *WRITING, *RUNNING, *TOOLS, "cattrs", "rich")
READING = (*COMPOSING, *CHECKING, *WRITING, *TOOLS, "dfah_cli.engines.local", "rich")
PLAN = (*PAGES, *NUMBERS, *RUNNING, *TOOLS, "cattrs", "rich")
FILES = (*PAGES, *COMPOSING, *NUMBERS, *WRITING, *RUNNING, *TOOLS, "cattrs", "rich")

# Nothing but logs is written through structlog, and no command here writes one.
UNNEEDED: dict[tuple[str, str], tuple[str, ...]] = {
    (DFAH, "--help"): HELP,
    (DFAH, "--version"): HELP,
    (DFAH, "run --help"): HELP,
    (DFAH, "completion bash"): HELP,
    (DFAH, "ls run"): (*READING, *PAGES, *NUMBERS),
    (DFAH, "verify run"): (*READING, *PAGES),
    (DFAH, "analyze run"): (*READING, *PAGES),
    (DFAH, "report run -o report.html"): READING,
    (DFAH, "report run -o report.md"): (*READING, *PAGES),
    (DFAH, "lint configs"): FILES,
    (DFAH, "suites list"): FILES,
    (DFAH, "plan show suite=toy-risk"): PLAN,
    (DFAH, "check-agent --agent dfah.demo:toy_agent"): (*PAGES, *COMPOSING, "rich"),
    (DFAH, "run --agent dfah.demo:toy_agent --out fresh"): (*PAGES, *COMPOSING, *TOOLS, "rich"),
    (DFAH_RUN, "--help"): HELP,
    (DFAH_RUN, "suite=toy-risk plan=only"): PLAN,
    (DFAH_RUN, "suite=toy-risk out=fresh"): (*PAGES, *TOOLS, "rich"),
}
SHOW = """
import sys
from {program} import main
code = main(sys.argv[1:])
print(code, *sorted({unneeded!r} & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def ungated_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that no gate was applied to: what judges is needed to tell a verdict."""
    place = tmp_path_factory.mktemp("ungated")
    assert dfah("run", "--agent", "dfah.demo:toy_agent", "--out", "run", cwd=place).returncode == 0
    return place / "run"


@pytest.mark.parametrize(("program", "arguments"), UNNEEDED, ids=lambda text: text)
def test_a_command_imports_nothing_it_does_not_need(
    tmp_path: Path, ungated_run: Path, program: str, arguments: str
) -> None:
    (tmp_path / "run").symlink_to(ungated_run)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.yaml").write_text("defaults: [dfah_run, {override suite: toy-risk}, _self_]\n")
    code = SHOW.format(program=program, unneeded={*UNNEEDED[program, arguments], "structlog"})
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "0"
