from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import ROOT, shared

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(script: str, where: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments, script], cwd=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda place: place.stem)
def test_every_example_runs_by_itself(example: Path, tmp_path: Path) -> None:
    run(str(example), tmp_path)


def test_the_quick_start_measures_a_steady_agent(tmp_path: Path) -> None:
    shown = run(str(ROOT / "examples" / "dfah_quickstart.py"), tmp_path)
    assert shown == "status complete  DAR 1.0  TAR.seq 1.0  gap 0.0\n"
    assert (tmp_path / ".dfah" / "runs" / "toy-risk").is_dir()


@pytest.mark.parametrize("module", ["dfah_quickstart", "bring_your_own_agent"])
def test_the_example_agents_pass_the_preflight(module: str, tmp_path: Path) -> None:
    code = (
        f"from {module} import my_agent\n"
        "from dfah.testing import check_agent\n"
        "check_agent(my_agent, budget_usd=1.0, estimated_max_episode_cost_usd=0.1, episode_timeout_s=20.0,\n"
        "            raise_on_error=True)\n"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'examples')!r})\n{code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bringing_your_own_agent_takes_thirty_lines() -> None:
    assert len((ROOT / "examples" / "bring_your_own_agent.py").read_text().splitlines()) <= 30


def test_the_program_of_the_specification_runs_unchanged(tmp_path: Path) -> None:
    text = shared("spec", "quickstart.txt").read_text()
    start, end = text.index("import hashlib\n"), text.index(".run(my_agent)") + len(".run(my_agent)")
    program = tmp_path / "program.py"
    program.write_text(text[start:end] + "\nprint(report.status, report.dar, report.tar.seq, report.gap)\n")
    assert run(str(program), tmp_path) == "complete 1.0 1.0 0.0\n"
    again = "import program; print(program.report.episodes_completed)"
    done = subprocess.run([sys.executable, "-c", again], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "6"
