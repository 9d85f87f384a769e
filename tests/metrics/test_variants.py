from __future__ import annotations

from fractions import Fraction

import pytest

from dfah_cli.metrics.variants import leave_one_tool_out, medoid, position_entropy, variants
from tests.metrics.build import steps
from tests.metrics.test_diagnosis import TEXTS

P = ["abcd", "abcd", "abdc", "abd", "xbcd"]


def test_medoid_vector() -> None:
    assert medoid(P) == "abcd"
    assert medoid([]) is None


def test_medoid_ties_go_to_the_frequent_then_to_the_first() -> None:
    assert medoid(["b", "a"]) == "a"
    assert medoid(["b", "b", "a"]) == "b"


def test_position_entropy_vector() -> None:
    assert position_entropy(P) == pytest.approx((0.721928095, 0, 0.970950594, 1.370950594), abs=1e-9)
    assert position_entropy([]) == ()


def test_leave_one_tool_out_vector() -> None:
    found = leave_one_tool_out([[steps(text) for text in TEXTS]])
    assert found == {"kyc": Fraction(7, 10), "score": Fraction(3, 10)}
    assert leave_one_tool_out([]) == {}


def test_variants_count_replays_cases_and_decisions() -> None:
    found = variants([("A", "Y", steps("a b")), ("A", "N", steps("a b=1")), ("B", None, steps("a b")), ("B", "Y", [])])
    assert [(v.path, v.count, v.share, v.cases, v.decisions) for v in found] == [
        (("a", "b"), 3, Fraction(3, 4), 2, (("N", 1), ("Y", 1))),
        ((), 1, Fraction(1, 4), 1, (("Y", 1),)),
    ]
