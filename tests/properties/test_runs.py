"""What holds of every run, whatever the agent did."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dfah_cli.report.record import Report
from dfah_cli.store.memory import MemoryStore
from dfah_cli.workflow import replay as replay_module
from tests.builders import a_scripted_agent, replayed

PATHS = st.lists(st.sampled_from(["T", "U", "k=x", "k=y"]), max_size=3).map(" ".join)
SCRIPTS = st.tuples(st.sampled_from(["Y", "N", "Y", "Y", "maybe"]), PATHS)
RUNS = st.dictionaries(st.sampled_from("ABC"), st.lists(SCRIPTS, min_size=1, max_size=3), min_size=1)


def ran(paths: Any, **options: Any) -> tuple[Report, MemoryStore]:
    """The report of a run that is kept in memory."""
    store = MemoryStore()
    kept, replay_module._run_store = replay_module._run_store, lambda path, shards: store
    try:
        return replayed(a_scripted_agent(paths), "run", **options), store
    finally:
        replay_module._run_store = kept


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(RUNS, st.integers(2, 4))
def test_finer_paths_never_agree_more_and_shares_stay_shares(paths: Any, replays: int) -> None:
    report, _ = ran(paths, replays=replays)
    for case in report.case_reports:
        assert case.tar.strong is not None
        assert 0 < case.tar.strong <= case.tar.seq <= case.tar.bag <= case.tar.set <= 1
        assert abs(case.gap - (case.dar - case.tar.seq)) < 1e-12
        assert case.unanimous_with_path_change == (case.dar == 1 and case.tar.strong < 1)
        assert case.unanimous_with_sequence_change == (case.dar == 1 and case.tar.seq < 1)
        assert not case.unanimous_with_sequence_change or case.unanimous_with_path_change
        assert (case.path_variation_kind == "none") == (case.tar.strong == 1)
    assert report.observed_groups + report.ineligible_groups == len(paths)
    assert report.episodes_completed == len(paths) * replays
    assert report.episodes_eligible == report.observed_groups * replays
    assert (report.dar is None) == (report.observed_groups == 0)
    assert (report.status == "complete") == (report.ineligible_groups == 0)
    assert report.sequence_flagged_groups <= report.flagged_groups <= report.observed_groups


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(RUNS, st.sampled_from([2, 5, 64]))
def test_concurrency_and_the_order_of_endings_change_no_statement(paths: Any, concurrency: int) -> None:
    one, _ = ran(paths)
    other, _ = ran(paths, concurrency=concurrency)
    assert one.report_sha256 == other.report_sha256


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(RUNS)
def test_every_slot_has_one_intent_before_its_one_terminal_record(paths: Any) -> None:
    _, store = ran(paths, concurrency=3)
    seen: dict[str, list[str]] = {}
    for _, body in store.open_reader().records():
        if body["t"] in ("dispatching", "episode"):
            seen.setdefault(body["k"], []).append(body["t"])
    assert len(seen) == len(paths) * 3
    assert set(map(tuple, seen.values())) == {("dispatching", "episode")}
