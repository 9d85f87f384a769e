"""docs/bring-your-own-agent.md: its files and commands, run as a newcomer would run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.integrations.loopback.server import LoopbackProvider
from tests.builders import ROOT
from tests.cli.command import dfah, environment
from tests.integrations.build import needs

PAGE = (ROOT / "docs" / "bring-your-own-agent.md").read_text("utf-8")
FILES = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory with the files of the page."""
    needs("openai", "openai")
    for name, text in FILES.items():
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    return tmp_path


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    """The environment in which the SDK talks to an unstable provider."""
    with LoopbackProvider(Seeded(order_swap_rate=0.5, flip_rate=0.2)) as provider:
        yield {"OPENAI_BASE_URL": provider.openai_url, "OPENAI_API_KEY": "none"}


def test_the_page_has_the_files_it_speaks_of() -> None:
    assert set(FILES) == {"support_agent.py", "suites/refunds.yaml", "under_test.py", "configs/refunds.yaml"}


def test_the_newcomer_writes_fewer_than_fifteen_lines() -> None:
    assert sum(bool(line.strip()) for line in FILES["under_test.py"].splitlines()) < 15


def test_an_existing_agent_is_checked_run_and_inspected(project: Path, variables: dict[str, str]) -> None:
    checked = dfah(
        "check-agent", "--agent", "under_test:refunds", "--episode-timeout-s", "30", cwd=project, env=variables
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    arguments = ("--replays", "5", "--episode-timeout-s", "60", "--out", ".dfah/runs/refunds")
    done = dfah("run", "--agent", "under_test:refunds", *arguments, "--json", cwd=project, env=variables)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)["report"]
    assert report["status"] == "complete"
    assert report["tar"]["seq"] < 1.0
    assert dfah("inspect", ".dfah/runs/refunds", cwd=project).returncode == 0


def test_an_edit_of_the_agents_own_code_makes_a_new_experiment(project: Path, variables: dict[str, str]) -> None:
    def manifest_hash() -> str:
        code = "import under_test; print(under_test.refunds.manifest.hash)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=project, env=environment(**variables), capture_output=True, text=True, check=True
        )
        return done.stdout

    before = manifest_hash()
    assert manifest_hash() == before
    place = project / "support_agent.py"
    place.write_text(place.read_text().replace("90 days", "60 days"))
    assert manifest_hash() != before


def test_the_declared_agent_runs_from_its_config(project: Path) -> None:
    with LoopbackProvider(Seeded()) as provider:
        config = project / "configs" / "refunds.yaml"
        config.write_text(config.read_text().replace("http://127.0.0.1:8321/v1", provider.openai_url))
        done = subprocess.run(
            [sys.executable, "-m", "dfah_cli.cli.hydra_app", "--config-name", "refunds", "replays=2"],
            cwd=project,
            env=environment(OPENAI_API_KEY="none"),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(provider.served) >= 8
