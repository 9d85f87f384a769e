from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.records.enums import REFINEMENT, PathMode, PathVariationKind
from tests.metrics.build import Replay, a_table

F = Fraction
SEQ, BAG, SET, STRONG = PathMode.SEQ, PathMode.BAG, PathMode.SET, PathMode.STRONG

ORDER: list[Replay] = [("Y", "T U"), ("Y", "U T"), ("Y", "T U")]
ARGS: list[Replay] = [("Y", "k=x"), ("Y", "k=y"), ("Y", "k=x")]
STABLE: list[Replay] = [("Y", "T U")] * 3

VECTORS = {
    "none": (STABLE, "1 1 1 1 1", "none", 0, 0),
    "order": (ORDER, "1 2/3 1 1 2/3", "order_only", 100, 100),
    "mult": ([("Y", "T U"), ("Y", "T T U"), ("Y", "T U")], "1 2/3 2/3 1 2/3", "multiplicity", 100, 100),
    "set": ([("Y", "T U"), ("Y", "T"), ("Y", "T U")], "1 2/3 2/3 2/3 2/3", "tool_set", 100, 100),
    "args": (ARGS, "1 1 1 1 2/3", "argument_or_result", 100, 0),
    "empty": ([("Y", ""), ("Y", "T"), ("Y", "T")], "1 2/3 2/3 2/3 2/3", "tool_set", 100, 100),
    "mixed": ([("Y", "T U"), ("Y", "U T"), ("Y", "T T U")], "1 1/3 2/3 1 1/3", "multiplicity", 100, 100),
    "not unanimous": ([("Y", "T"), ("N", "U"), ("Y", "T U")], "2/3 1/3 1/3 1/3 1/3", "tool_set", 0, 0),
    "tie": ([("Y", "T"), ("Y", "T"), ("N", "U"), ("N", "U")], "1/2 1/2 1/2 1/2 1/2", "tool_set", 0, 0),
    "negative gap": ([("Y", "T"), ("N", "T"), ("Y", "T")], "2/3 1 1 1 1", "none", 0, 0),
}


@pytest.mark.parametrize("name", VECTORS)
def test_one_case_has_the_published_numbers(name: str) -> None:
    replays, shares, kind, flags, sequence_flags = VECTORS[name]
    dar, seq, bag, coarse, strong = (F(text) for text in shares.split())
    run = measure(a_table({("default", "A"): replays}), replays=len(replays))
    (case,) = run.cases
    assert (case.dar, case.gap) == (dar, dar - seq)
    assert {mode: case.tar[mode] for mode in (SEQ, BAG, SET, STRONG)} == {
        SEQ: seq,
        BAG: bag,
        SET: coarse,
        STRONG: strong,
    }
    assert case.path_variation_kind == kind
    assert (run.flags_per_100, run.sequence_flags_per_100) == (flags, sequence_flags)
    assert (run.dar, run.tar[SEQ], run.gap) == (dar, seq, dar - seq)


def test_tasks_weigh_equally_whatever_their_number_of_cases() -> None:
    run = measure(
        a_table(
            {
                ("t1", "A"): [("Y", "T"), ("Y", "T"), ("N", "T")],
                ("t1", "B"): [("Y", "T")] * 3,
                ("t2", "C"): [("Y", "T"), ("Y", "U"), ("N", "T U")],
            }
        ),
        replays=3,
    )
    assert (run.dar, run.tar[SEQ], run.gap, run.flags_per_100) == (F(3, 4), F(2, 3), F(1, 12), 0)
    assert [(task.task, task.cases, task.dar) for task in run.tasks] == [
        ("t1", 2, F(5, 6)),
        ("t2", 1, F(2, 3)),
    ]


def test_flags_are_pooled_and_queued_by_kind() -> None:
    groups = {
        ("default", "A"): ORDER,
        ("default", "B"): ARGS,
        ("default", "C"): STABLE,
        ("default", "D"): [("N", "T"), ("Y", "U"), ("Y", "T")],
    }
    run = measure(a_table(groups), replays=3)
    assert run.dar == F(11, 12)
    assert [run.tar[mode] for mode in (SEQ, BAG, SET, STRONG)] == [F(5, 6), F(11, 12), F(11, 12), F(3, 4)]
    assert (run.flags_per_100, run.sequence_flags_per_100) == (50, 25)
    assert dict(run.review_queue) == {"order_only": 1, "argument_or_result": 1}
    assert run.tasks[0].unanimous_with_path_change_rate == F(1, 2)


def test_one_bad_replay_drops_its_group() -> None:
    groups = {("default", "A"): [("Y", "T"), (None, "T"), ("Y", "T")], ("default", "B"): STABLE}
    run = measure(a_table(groups, status={("A", 1): "parse_failure"}), replays=3)
    assert (run.dar, run.tar[STRONG], run.episodes_eligible, run.episodes) == (1, 1, 3, 6)
    assert run.reasons == (("decision_missing_or_invalid", 1), ("terminal_status_parse_failure", 1))
    assert [case.case_id for case in run.cases] == ["B"]
    assert (run.groups_total, run.groups_ineligible) == (2, 1)
    assert run.groups[0].dar is None
    assert run.groups[0].decision_denominator == 2


def test_nothing_eligible_is_unavailable_and_not_zero() -> None:
    groups = {("default", "A"): [(None, None)] * 2}
    run = measure(a_table(groups, status={("A", 0): "provider_error", ("A", 1): "provider_error"}), replays=2)
    assert (run.dar, run.gap, run.tar[SEQ], run.flags_per_100, run.sequence_flags_per_100) == (None,) * 5
    assert (run.pairwise_decision, list(run.cases), list(run.tasks)) == (None, [], [])
    assert (run.cost_nusd, run.latency_us) == (200, 2000)


def test_a_missing_level_is_unavailable_but_a_coarser_change_still_flags() -> None:
    table = a_table({("t", "A"): ORDER, ("t", "B"): [("Y", "T")] * 3})
    ids = table.path_ids.copy()
    ids[:, 3:] = -1
    run = measure(evolve(table, path_ids=ids), replays=3)
    assert (run.tar[STRONG], run.tar[SEQ]) == (None, F(5, 6))
    assert [case.unanimous_with_path_change for case in run.cases] == [True, None]
    assert [case.path_variation_kind for case in run.cases] == [PathVariationKind.ORDER_ONLY, None]
    assert (run.flags_per_100, run.sequence_flags_per_100) == (None, 50)


def test_groups_of_different_size_count_with_their_own_denominator() -> None:
    groups = {("t", "A"): [("Y", "T"), ("N", "T")], ("t", "B"): ARGS, ("t", "C"): [("Y", "T")]}
    run = measure(a_table(groups), replays=None)
    assert (run.dar, run.tar[STRONG]) == (F(3, 4), F(5, 6))
    assert run.reasons == (("single_replay_nothing_to_compare", 1),)


def test_rows_behave_like_a_sequence() -> None:
    run = measure(a_table({("t", name): STABLE for name in "ABC"}), replays=3)
    assert [row.case_id for row in run.cases] == ["A", "B", "C"]
    assert run.cases[-1].case_id == "C"
    assert [row.case_id for row in run.cases[1:]] == ["B", "C"]
    with pytest.raises(IndexError):
        run.cases[3]


REPLAYS = st.lists(
    st.tuples(
        st.sampled_from("YN"),
        st.lists(st.sampled_from(["T", "U", "k=x", "k=y", "k=x>1"]), max_size=4).map(" ".join),
    ),
    min_size=2,
    max_size=5,
)
TABLES = st.dictionaries(st.tuples(st.sampled_from(["t1", "t2"]), st.sampled_from("ABCDE")), REPLAYS, min_size=1)


@given(TABLES)
def test_a_finer_path_identity_never_agrees_more(groups: dict[tuple[str, str], list[Replay]]) -> None:
    run = measure(a_table(groups), replays=None)
    for shares in [run.tar, run.pairwise_path, *(case.tar for case in run.groups)]:
        values = [shares[mode] for mode in reversed(REFINEMENT)]
        assert values == sorted(values)  # type: ignore[type-var]


@given(TABLES, st.randoms(use_true_random=False))
def test_order_of_episodes_and_names_of_values_change_nothing(groups: dict, random: object) -> None:
    table = a_table(groups)
    order = np.arange(len(table))
    random.shuffle(order)  # type: ignore[attr-defined]
    columns = ("group", "replay", "status", "decision", "path", "wire", "endpoint", "cost_nusd", "latency_us")
    shuffled = evolve(table, **{name: getattr(table, name)[order] for name in columns})
    relabelled = evolve(shuffled, decision=7 - shuffled.decision, path_ids=99 - shuffled.path_ids)
    assert numbers(relabelled) == numbers(table)


def numbers(table: EpisodeTable) -> tuple:
    run = measure(table, replays=None)
    return (run.dar, run.tar, run.gap, run.pairwise_path, run.flagged, run.sequence_flagged, list(run.groups))


@given(TABLES)
def test_columns_equal_the_definition_case_by_case(groups: dict[tuple[str, str], list[Replay]]) -> None:
    run = measure(a_table(groups), replays=None)
    for case in run.groups:
        replays = groups[case.task, case.case_id]
        decisions, sequences = (
            [d for d, _ in replays],
            [[w[0] for w in p.split()] for _, p in replays if p is not None],
        )
        assert case.dar == F(max(map(decisions.count, decisions)), len(replays))
        assert case.tar[SEQ] == F(max(map(sequences.count, sequences)), len(replays))
        agreeing = sum(a == b for i, a in enumerate(decisions) for j, b in enumerate(decisions) if i != j)
        assert case.pairwise_decision == F(agreeing, len(replays) * (len(replays) - 1))
