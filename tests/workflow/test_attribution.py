"""Seeded agents that are unstable through one thing: the split names that thing and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError, ExitCode
from dfah_cli.workflow.attribution import (
    LATENCY,
    RESULTS,
    SCHEDULING,
    Attribution,
    announce,
    attribute,
    document,
    sentences,
)
from dfah_cli.workflow.request import RunRequest
from dfah_cli.workflow.verification import verify_run
from tests.workflow import attribution_agents

AGENT = "the agent"
HERE = "tests.workflow.attribution_agents"


@pytest.fixture(autouse=True)
def same_coins() -> None:
    attribution_agents.asked.clear()
    attribution_agents.thought.clear()


def a_request(name: str, place: Path, **options: Any) -> RunRequest:
    recording = {"tools": "record", "tools_file": str(place / "tools.jsonl")}
    given = {"adapter": f"{HERE}:{name}", "concurrency": 4, **recording, **options}
    return RunRequest(**given)


def attributed(name: str, place: Path, *sources: str, **options: Any) -> Attribution:
    request = a_request(name, place, **options)
    return attribute(request, announce(request, place / "split", sources or (RESULTS, LATENCY, SCHEDULING)))


def shown(found: Attribution, metric: str) -> set[str]:
    (one,) = [split for split in found.splits if split.metric == metric]
    parts = {**one.sources, AGENT: one.remaining}
    return {name for name, part in parts.items() if part is not None and part.shown}


@pytest.mark.parametrize(
    ("name", "source"), [("tools_only", RESULTS), ("agent_only", AGENT), ("scheduling_only", SCHEDULING)]
)
def test_the_split_names_the_one_source(name: str, source: str, tmp_path: Path) -> None:
    found = attributed(name, tmp_path, replays=3)
    assert shown(found, "dar") == {source}
    (dar,) = [split for split in found.splits if split.metric == "dar"]
    assert dar.live.value > 0.1
    assert dar.unexplained is not None
    part = dar.remaining if source == AGENT else dar.sources[source]
    assert part is not None
    assert part.low <= part.value <= part.high
    for arm in found.arms:
        assert arm.status == "complete"
    assert found.code is ExitCode.OK
    assert any("1 − DAR" in text and source in text for text in sentences(found))


@pytest.mark.soak
def test_the_split_names_the_time_a_tool_takes(tmp_path: Path) -> None:
    assert shown(attributed("latency_only", tmp_path, LATENCY, concurrency=48), "dar") == {LATENCY}


def test_where_nothing_varies_nothing_else_is_run(tmp_path: Path) -> None:
    found = attributed("steady", tmp_path)
    assert [arm.arm.name for arm in found.arms] == ["live"]
    assert found.splits == ()
    assert "nothing to attribute" in sentences(found)[0]


def test_the_calls_are_announced_and_nothing_is_written(tmp_path: Path) -> None:
    request = a_request("tools_only", tmp_path, max_episode_cost_usd=0.5)
    announced = announce(request, tmp_path / "split")
    assert announced.calls == 5 * 24 * 3
    assert announced.cost_usd == 180.0
    assert list(tmp_path.iterdir()) == []


def test_a_source_can_be_left_out_and_the_same_command_again_calls_nobody(tmp_path: Path) -> None:
    found = attributed("tools_only", tmp_path, RESULTS, limit=8)
    assert [arm.arm.name for arm in found.arms] == ["live", "results", "everything"]
    assert not any(verify_run(arm.run_dir).broken for arm in found.arms)
    again = attributed("tools_only", tmp_path, RESULTS, limit=8)
    assert [arm.calls for arm in again.arms] == [0] * 3
    assert again.splits == found.splits


@pytest.mark.parametrize(
    ("options", "sources", "message"),
    [
        ({"tools": "live", "tools_file": None}, (RESULTS,), "name a file"),
        ({}, ("moon",), "found moon; expected some of tool results"),
    ],
)
def test_what_cannot_be_attributed_is_refused_before_anything_runs(
    options: dict[str, Any], sources: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        announce(a_request("tools_only", tmp_path, **options), tmp_path / "split", sources)


def test_runs_that_record_tools_are_on_this_machine(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="out: found a URL; expected a directory"):
        announce(a_request("tools_only", tmp_path), "s3://acme-evidence/split", (RESULTS,))


def test_the_document_says_what_cannot_be_separated(tmp_path: Path) -> None:
    told = document(attributed("steady", tmp_path))
    assert told["planned_calls"] == 360
    assert any("need not add up" in text for text in told["cannot_separate"])
