"""The jobs a sweep stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfah_cli.config.overrides import check_overrides
from dfah_cli.config.sweep import sweep_jobs
from dfah_cli.errors import ConfigurationError


def jobs(*texts: str) -> list[str]:
    return [job.label for job in sweep_jobs(check_overrides(list(texts), sweep=True))]


def test_every_combination_is_a_job_in_the_order_written(project: Path) -> None:
    assert jobs("suite=acme-kyc", "replays=3,5", "seed=range(1,4)") == [
        f"replays={replays} seed={seed}" for replays in (3, 5) for seed in (1, 2, 3)
    ]


def test_a_glob_chooses_among_the_options_of_a_group(project: Path) -> None:
    assert jobs("suite=glob(acme*)", "gate=glob(*,exclude=[none,evidence])") == [
        "gate=acme", "gate=default", "gate=strict"
    ]  # fmt: skip


def test_values_that_need_quotes_keep_them(project: Path) -> None:
    found = sweep_jobs(check_overrides(["suite=acme-kyc", "case='a b','c,d'"], sweep=True))
    assert [job.overrides for job in found] == [("suite=acme-kyc", "case='a b'"), ("suite=acme-kyc", "case='c,d'")]


def test_a_value_of_the_adapters_own_is_added(project: Path) -> None:
    (first, _) = sweep_jobs(check_overrides(["suite=acme-kyc", "agent.flip_rate=0,0.1"], sweep=True))
    assert first.overrides[1] == "++agent.flip_rate=0"
    assert first.label == "agent.flip_rate=0"


def test_every_value_of_a_sweep_is_checked(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="'x' is not an integer"):
        jobs("suite=acme-kyc", "replays=3,x")
    with pytest.raises(ConfigurationError, match="no suite named 'nope'"):
        jobs("suite=acme-kyc,nope")


def test_a_sweep_without_a_job_or_with_too_many_is_refused(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="no suite matches"):
        jobs("suite=glob(nothing*)")
    with pytest.raises(ConfigurationError, match="at most 10000"):
        jobs("suite=acme-kyc", "seed=range(0,101)", "replays=range(2,102)")
