"""What a sweep shows at the end, on terminals of any width."""

from __future__ import annotations

from io import StringIO

import pytest

from dfah_cli.cli.hydra_sweep import METRICS, PAIRWISE, JobOutcome, short_names, show_outcomes
from dfah_cli.cli.screen import Screen
from dfah_cli.errors import ExitCode

NUMBERS = {name: {"value": "0.967", "interval": "0.850 – 0.996"} for name in (*METRICS, *PAIRWISE)}


def job(number: int, replays: int, swap: str) -> JobOutcome:
    about = {"status": "complete", "verdict": "pass", "calls_made": 60, "reused": 0, "cost_usd": 0.25}
    facts = {**NUMBERS, **about, "replays": replays, "run_dir": f".dfah/runs/compliance-triage-{number:012}"}
    varied = {"replays": str(replays), "agent.order_swap_rate": swap}
    return JobOutcome(number=number, varied=varied, exit_code=0, facts=facts)


def shown(width: int, *jobs: JobOutcome) -> list[str]:
    out = StringIO()
    screen = Screen(out=out, environment={"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": str(width)})
    assert show_outcomes(screen, jobs, len(jobs)) is ExitCode.OK
    return [line.rstrip() for line in out.getvalue().replace("\x1b[2m", "").replace("\x1b[0m", "").splitlines()]


def heads(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("job  ")]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_sweep_is_two_tables_with_verdict_and_run(width: int) -> None:
    lines = shown(width, job(1, 3, "0"), job(2, 3, "0.3"))
    numbers, about = heads(lines)
    assert "replays  order_swap_rate  DAR" in numbers
    assert "TAR.seq" in numbers
    assert about.split()[0] == "job"
    assert {"verdict", "run"} <= set(about.split())
    assert any(line.startswith("2 ") and line.endswith("compliance-triage-000000000002") for line in lines)
    assert all(len(line) <= width for line in lines)


def test_where_replays_differ_the_numbers_that_can_be_compared_stay() -> None:
    numbers, _ = heads(shown(68, job(1, 3, "0"), job(2, 5, "0")))
    assert numbers.endswith("order_swap_rate  two agree: decision  two agree: path")
    numbers, _ = heads(shown(68, job(1, 3, "0"), job(2, 3, "0.3")))
    assert "DAR" in numbers


def test_what_is_left_out_is_named() -> None:
    lines = shown(80, job(1, 3, "0"), job(2, 3, "0.3"))
    assert sum(line.startswith("a wider terminal, or --json, shows also: ") for line in lines) == 2


def test_a_narrow_terminal_gets_a_paragraph_a_job_with_everything() -> None:
    text = " ".join(shown(40, job(1, 3, "0"), job(2, 3, "0.3")))
    assert heads(shown(40, job(1, 3, "0"))) == []
    for name in (
        "DAR",
        "TAR.seq",
        "gap",
        "flags / 100",
        "two agree: decision",
        "two agree: path",
        "verdict pass",
        "exit 0",
    ):
        assert name in " ".join(text.split()), name


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["replays", "agent.order_swap_rate"], ["replays", "order_swap_rate"]),
        (["agent.rate", "gate.rate"], ["agent.rate", "gate.rate"]),
        (["x.job", "y.gap"], ["x.job", "y.gap"]),
    ],
)
def test_a_key_is_shortened_only_where_nothing_else_is_called_so(keys: list[str], names: list[str]) -> None:
    assert short_names(keys) == names
