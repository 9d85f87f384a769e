from __future__ import annotations

import pytest

from dfah_cli.metrics.eligibility import judge
from dfah_cli.metrics.table import TableBuilder
from tests.metrics.build import a_table, add

STABLE = [("Y", "T")] * 2


def test_missing_replays_are_named_with_their_number() -> None:
    verdict = judge(a_table({("t", "A"): [], ("t", "B"): STABLE[:1], ("t", "C"): STABLE[:1]}), replays=2)
    assert verdict.counts() == (("expected_2_replays_observed_0", 1), ("expected_2_replays_observed_1", 2))
    assert verdict.reasons(0) == ("expected_2_replays_observed_0",)
    assert not verdict.eligible.any()


@pytest.mark.parametrize(
    "status",
    [
        "parse_failure",
        "tool_error",
        "provider_error",
        "contract_error",
        "interrupted",
        "budget_stop",
        "refusal",
    ],
)
def test_every_status_but_valid_is_a_reason(status: str) -> None:
    verdict = judge(a_table({("t", "A"): STABLE}, status={("A", 1): status}), replays=2)
    assert verdict.reasons(0) == ("decision_missing_or_invalid", f"terminal_status_{status}")


def test_an_unavailable_trajectory_is_a_reason() -> None:
    verdict = judge(a_table({("t", "A"): [("Y", "T"), ("Y", None)]}), replays=2)
    assert verdict.reasons(0) == ("trajectory_missing_or_malformed",)


def test_an_empty_path_is_not_an_unavailable_one() -> None:
    assert judge(a_table({("t", "A"): [("Y", ""), ("Y", "")]}), replays=2).eligible.all()


@pytest.mark.parametrize(
    ("second", "reason"),
    [(("b" * 64, None), "wire_payload_mismatch"), (("a" * 64, "https://x"), "wire_endpoint_mismatch")],
)
def test_replays_must_have_sent_one_request_to_one_place(second: tuple[str, str | None], reason: str) -> None:
    builder = TableBuilder([("t", "A")])
    path = builder.paths.intern([])
    builder.add(0, 0, "valid", "y", path, "a" * 64, None, 0, 0)
    builder.add(0, 1, "valid", "y", path, *second, 0, 0)
    assert judge(builder.build(), replays=2).reasons(0) == (reason,)


def test_a_repeated_replay_index_is_named() -> None:
    builder = TableBuilder([("t", "A")])
    add(builder, 0, 0, "y", "")
    add(builder, 0, 0, "y", "")
    assert judge(builder.build(), replays=2).reasons(0) == ("duplicate_replay_index",)


def test_recordings_without_a_design_need_two_replays() -> None:
    verdict = judge(a_table({("t", "A"): [], ("t", "B"): STABLE[:1], ("t", "C"): STABLE}), replays=None)
    assert verdict.counts() == (("no_replays", 1), ("single_replay_nothing_to_compare", 1))
    assert verdict.eligible.tolist() == [False, False, True]
