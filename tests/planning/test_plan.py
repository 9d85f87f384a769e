"""Plan and schedule: frozen, seeded, named by what is in them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.canonical import canonical_bytes, digest
from dfah_cli.errors import ConfigurationError, ManifestMismatchError, ValidationError
from dfah_cli.planning.plan import Design, default_directory_name, differing_fields, make_plan, plan_from_bytes
from dfah_cli.planning.schedule import Schedule
from dfah_cli.planning.selection import sample, select
from dfah_cli.records.codec import plain
from tests.builders import a_case, a_manifest, a_planned, a_suite

IDS = st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=5), min_size=1, max_size=6)


@given(IDS, st.integers(2, 5), st.integers(-5, 1000))
def test_the_schedule_is_the_seeded_shuffle_of_every_slot(ids: list[str], replays: int, seed: int) -> None:
    tasks = {case_id: f"task {index % 2}" for index, case_id in enumerate(ids)}
    slots = [
        {"case_id": case_id, "task": tasks[case_id], "replay_index": replay}
        for case_id in sorted(tasks)
        for replay in range(replays)
    ]
    Random(seed).shuffle(slots)
    schedule = Schedule(tasks, replays, seed)
    assert [(s.case_id, s.task, s.replay_index) for s in schedule] == [tuple(s.values()) for s in slots]
    assert schedule.sha256() == digest(slots)


def test_a_long_schedule_is_hashed_in_pieces_to_the_same_digest() -> None:
    schedule = Schedule({f"C{index}": "t" for index in range(1001)}, 5, 1)
    slots = [{"case_id": s.case_id, "task": s.task, "replay_index": s.replay_index} for s in schedule]
    assert (len(slots), schedule.sha256()) == (5005, digest(slots))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"replays": 4}, {"replays", "schedule_sha256"}),
        ({"seed": 1}, {"seed", "schedule_sha256"}),
        ({"sample_rate": 0.5}, {"sample_rate", "case_tasks", "schedule_sha256"}),
        ({"episode_timeout_s": 5.0}, {"episode_timeout_s"}),
        ({"limit": 1}, {"case_tasks", "schedule_sha256"}),
        ({"only": ("A",)}, {"case_tasks", "schedule_sha256"}),
    ],
)
def test_a_plan_that_differs_has_another_digest_and_the_difference_has_a_name(
    change: dict[str, Any], named: set[str]
) -> None:
    one, other = a_planned().plan, a_planned(**change).plan
    assert one.sha256 != other.sha256
    assert set(differing_fields(one, other)) == named


def test_the_plan_covers_manifest_cases_tasks_replays_seed_rate_and_schedule() -> None:
    planned = a_planned(a_suite(("A", a_case("B", artifact_case_id="P", task="t2"))))
    said = plain(planned.plan)
    assert said["case_tasks"] == {"A": "default", "P": "t2"}
    assert (said["replays"], said["seed"], said["sample_rate"], said["episodes_planned"]) == (3, 42, 1.0, 6)
    assert said["schedule_sha256"] == planned.schedule.sha256()
    assert said["suite_cases_total"] == 2


def test_a_raw_id_with_a_pseudonym_stays_out_of_the_plan() -> None:
    planned = a_planned(a_suite((a_case("private-4711", artifact_case_id="P"),)))
    assert b"4711" not in planned.plan.encoded


def test_a_manifest_of_another_suite_is_refused_naming_what_differs() -> None:
    for suite, named in (
        (a_suite(suite_version="9.0.0"), "suite_version"),
        (a_suite(("A",)), "fixture_hash"),
        (a_suite(tools=("T",)), "tool_schema_hash"),
        (a_suite(decisions=("Y", "no")), "decision_ontology"),
        (a_suite(suite_id="other"), "suite_id"),
    ):
        with pytest.raises(ManifestMismatchError, match=named):
            make_plan(suite, a_manifest(), Design())


def test_a_plan_comes_back_from_its_bytes_and_from_no_others() -> None:
    plan = a_planned().plan
    assert plan_from_bytes(plan.encoded) == plan
    for bad in (b"", b"[]", b"{}", plan.encoded + b"\n", plan.encoded.replace(b":", b": ", 1), b"\xff", b"nul"):
        with pytest.raises(ValidationError):
            plan_from_bytes(bad)
    changed = {**plain(plan), "colour": 1}
    with pytest.raises(ValidationError, match="colour"):
        plan_from_bytes(canonical_bytes(changed))


@pytest.mark.parametrize(
    ("suite_id", "slug"),
    [("vec", "vec"), ("a b/c", "a-b-c"), ("..x..", "x"), ("é", "run"), ("x" * 60, "x" * 48), ("a--b", "a--b")],
)
def test_the_default_directory_is_a_slug_and_twelve_digits(suite_id: str, slug: str) -> None:
    name = default_directory_name(a_manifest(a_suite(suite_id=suite_id)), Design())
    assert name.rpartition("-")[0] == slug
    assert len(name.rpartition("-")[2]) == 12


def test_a_schedule_that_no_machine_can_hold_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="100000000"):
        a_planned(a_suite(tuple(f"C{index}" for index in range(101))), replays=1_000_000)


@given(st.integers(1, 40), st.floats(0.001, 0.999), st.integers(0, 50))
def test_a_sample_has_the_rounded_size_and_keeps_the_order_of_the_suite(count: int, rate: float, seed: int) -> None:
    cases = [a_case(f"C{index:02}") for index in range(count)]
    drawn = sample(cases, rate, seed)
    assert len(drawn) == max(1, round(count * rate))
    assert [case.case_id for case in drawn] == sorted({case.case_id for case in drawn})
    assert sample(cases, rate, seed) == drawn


def test_a_selection_takes_pseudonyms_and_raw_ids_and_names_what_it_does_not_know() -> None:
    cases = (a_case("A", artifact_case_id="P"), a_case("B"), a_case("C"))
    assert [case.case_id for case in select(cases, ("C", "P"))] == ["A", "C"]
    assert [case.case_id for case in select(cases, ("A",))] == ["A"]
    assert [case.case_id for case in select(cases, (), 2)] == ["A", "B"]
    with pytest.raises(ConfigurationError, match="'D'"):
        select(cases, ("A", "D"))


def test_blocks_finish_whole_cases_early_and_hold_the_same_slots() -> None:
    tasks = {f"C{index:03}": "t" for index in range(50)}
    blocks, shuffled = Schedule(tasks, 3, 7, "blocks"), Schedule(tasks, 3, 7)
    assert sorted(blocks.ranks) == sorted(shuffled.ranks) == list(range(150))
    first = [slot.case_id for slot in blocks][:60]
    assert {first.count(case_id) for case_id in set(first)} == {3}
    assert len(set(first)) == 20
    assert set(first) != set(sorted(tasks)[:20])
    assert blocks.sha256() != shuffled.sha256()
    assert Schedule(tasks, 3, 7, "blocks").sha256() == blocks.sha256()


def test_the_schedule_enters_an_identity_only_when_it_is_not_the_default() -> None:
    usual, blocks = Design(), Design(schedule="blocks")
    assert "schedule" not in usual.identity("0" * 64)
    assert blocks.identity("0" * 64)["schedule"] == "blocks"
    with pytest.raises(ValidationError, match="schedule"):
        Design(schedule="sorted")


def test_parallel_calls_stand_in_the_plan_only_when_the_suite_declares_them() -> None:
    declared = a_planned(a_suite(parallel=[["U", "T"]])).plan
    assert declared.parallel == (("T", "U"),)
    assert plan_from_bytes(declared.encoded) == declared
    assert b"parallel" not in a_planned().plan.encoded
    assert "parallel" in differing_fields(declared, a_planned().plan)
