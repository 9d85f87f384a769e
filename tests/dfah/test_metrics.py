from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

import dfah.metrics as metrics
from dfah import ChannelState, DFAHError, PathVariationKind
from dfah.report import format_metric, render_html, render_markdown
from dfah_cli.records.trajectory import UNAVAILABLE, ToolCall
from tests.builders import a_call, a_scripted_agent, a_wire, an_episode, replayed


def path(text: str) -> tuple[ToolCall, ...]:
    words = [word.partition("=") for word in text.split()]
    return tuple(a_call(name, {"x": argument} if argument else None) for name, _, argument in words)


VECTORS = [
    # decisions, paths, DAR, seq, bag, set, strong
    ("YYY", ["T U"] * 3, 1, 1, 1, 1, 1),
    ("YYY", ["T U", "U T", "T U"], 1, 2 / 3, 1, 1, 2 / 3),
    ("YYY", ["T U", "T T U", "T U"], 1, 2 / 3, 2 / 3, 1, 2 / 3),
    ("YYY", ["T U", "T", "T U"], 1, 2 / 3, 2 / 3, 2 / 3, 2 / 3),
    ("YYY", ["k=x", "k=y", "k=x"], 1, 1, 1, 1, 2 / 3),
    ("YYY", ["", "T", "T"], 1, 2 / 3, 2 / 3, 2 / 3, 2 / 3),
    ("YYY", ["T U", "U T", "T T U"], 1, 1 / 3, 2 / 3, 1, 1 / 3),
    ("YNY", ["T", "U", "T U"], 2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3),
    ("YYNN", ["T", "T", "U", "U"], 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1 / 2),
    ("YNY", ["T"] * 3, 2 / 3, 1, 1, 1, 1),
]


@pytest.mark.parametrize(("decisions", "paths", "dar", "seq", "bag", "set_", "strong"), VECTORS)
def test_published_vectors(
    decisions: str, paths: list[str], dar: float, seq: float, bag: float, set_: float, strong: float
) -> None:
    taken = [path(text) for text in paths]
    assert metrics.dar(list(decisions)) == pytest.approx(dar, abs=1e-12)
    for mode, expected in (("seq", seq), ("bag", bag), ("set", set_), ("strong", strong)):
        assert metrics.tar(taken, mode) == pytest.approx(expected, abs=1e-12)
    assert metrics.delta_dt(list(decisions), taken) == pytest.approx(dar - seq, abs=1e-12)


def test_labels_are_compared_stripped_and_lower_cased() -> None:
    assert metrics.dar([" Yes", "yes", "YES "]) == 1.0


def test_nothing_gives_nothing_rather_than_zero() -> None:
    assert (metrics.dar([]), metrics.tar([]), metrics.delta_dt([], [])) == (None, None, None)


def test_decisions_and_paths_belong_together() -> None:
    with pytest.raises(DFAHError, match="1 decisions and 0 paths"):
        metrics.delta_dt(["y"], [])


def reasons(*episodes: Any, required_replays: int = 2) -> tuple[str, ...]:
    return metrics.evaluate_group(episodes, required_replays=required_replays).reasons


def replays(*changes: dict[str, Any]) -> list[Any]:
    return [evolve(an_episode(), replay_index=index, **change) for index, change in enumerate(changes)]


def test_a_whole_group_is_eligible() -> None:
    found = metrics.evaluate_group(replays({}, {}), required_replays=2)
    assert (found.eligible, found.reasons) == (True, ())
    assert (found.decision, found.trajectory) == (ChannelState.OBSERVED_NONEMPTY, ChannelState.OBSERVED_NONEMPTY)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{}], ("expected_2_replays_observed_1",)),
        ([{}, {"manifest_hash": "3" * 64}], ("manifest_mismatch",)),
        ([{}, {"wire_request": a_wire(payload={"nonce": 1})}], ("wire_payload_mismatch",)),
        ([{}, {"wire_request": a_wire(endpoint="https://e.invalid")}], ("wire_endpoint_mismatch",)),
        ([{}, {"decision": None}], ("replay_1:decision_missing_or_invalid",)),
        ([{}, {"trajectory": UNAVAILABLE}], ("replay_1:trajectory_missing_or_malformed",)),
    ],
)
def test_each_reason_against_a_group_is_named(changes: list[dict[str, Any]], expected: tuple[str, ...]) -> None:
    assert reasons(*replays(*changes)) == expected


def test_a_failed_replay_names_its_status_and_its_missing_decision() -> None:
    found = metrics.evaluate_group([an_episode("parse_failure")], required_replays=1)
    assert found.reasons == ("replay_0:terminal_status_parse_failure", "replay_0:decision_missing_or_invalid")
    assert found.decision is ChannelState.UNAVAILABLE


def test_no_episode_at_all_is_unavailable_rather_than_empty() -> None:
    found = metrics.evaluate_group([], required_replays=3)
    assert found.reasons == ("expected_3_replays_observed_0",)
    assert found.trajectory is ChannelState.UNAVAILABLE


def test_asked_for_evidence_is_missing() -> None:
    assert metrics.evaluate_episode(an_episode(), require_evidence=True).reasons == ("evidence_missing_or_malformed",)


def test_the_weighting_of_a_report_can_be_redone(tmp_path: Path) -> None:
    agent = a_scripted_agent({"A": [("Y", "T"), ("Y", "U"), ("N", "T")], "B": [("Y", "T U")]})
    report = replayed(agent, tmp_path / "run", replays=3)
    again = metrics.task_weighted(report.case_reports)
    assert (again.n_tasks, again.n_cases) == (1, 2)
    assert again.dar == pytest.approx(report.dar, abs=1e-12)
    assert again.gap == pytest.approx(report.gap, abs=1e-12)
    assert report.case_reports[0].path_variation_kind in PathVariationKind
    assert "vec 1.2.3" in render_markdown(report)
    assert render_html(report).lstrip().lower().startswith("<!doctype html>")
    with pytest.raises(DFAHError, match="no eligible case"):
        metrics.task_weighted([])


def test_an_unavailable_metric_is_a_dash_and_zero_is_not() -> None:
    assert (format_metric(None), format_metric(0.0), format_metric(0.5, digits=1)) == ("—", "0.000", "0.5")


def test_the_store_facade_reads_a_run(tmp_path: Path) -> None:
    from dfah.store import FileStore, RunPlan

    replayed(a_scripted_agent(), tmp_path / "run")
    reader = FileStore(tmp_path / "run").open_reader()
    assert reader.plan_bytes.startswith(b"{")
    assert RunPlan.__name__ == "RunPlan"
