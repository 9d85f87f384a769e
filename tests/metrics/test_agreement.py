from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.agreement import first_anchored, modal_agreement, modal_share


def test_a_tie_reports_every_mode_sorted_by_repr() -> None:
    found = modal_agreement(["b", "a", "b", "a", "c"])
    assert found is not None
    assert (found.share, found.modes, found.tied, found.denominator) == (Fraction(2, 5), ("a", "b"), True, 5)
    assert found.value == 0.4


def test_nothing_observed_is_unavailable() -> None:
    assert modal_agreement([]) is None
    assert first_anchored([]) is None


def test_first_anchored_counts_the_first_replay_itself() -> None:
    assert first_anchored(["a", "b", "b"]) == Fraction(1, 3)


@given(st.lists(st.integers(0, 3), min_size=1))
def test_anchoring_on_the_first_replay_never_exceeds_the_modal_share(labels: list[int]) -> None:
    anchored, modal = first_anchored(labels), modal_share(labels)
    assert anchored is not None
    assert modal is not None
    assert Fraction(1, len(labels)) <= anchored <= modal <= 1
