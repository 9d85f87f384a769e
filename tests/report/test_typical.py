"""The typical path of a case and how the others differ from it."""

from __future__ import annotations

import pytest

from dfah_cli.report.details import CaseDetail, case_details
from dfah_cli.report.typical import typical_object, typical_path, typical_texts, variant_objects
from tests.metrics.build import Replay, a_table


def detail(replays: list[Replay]) -> CaseDetail:
    (one,) = case_details(a_table({("t", "A"): replays}, keep_examples=True))
    return one


def test_the_typical_path_is_the_nearest_to_all_and_not_the_most_frequent() -> None:
    one = detail([("Y", "a b"), ("Y", "a b"), ("Y", "a b c"), ("N", "a b c d"), ("N", "a b c e")])
    assert one.variants[0].replays == (0, 1)
    found = typical_path(one)
    assert found is not None
    assert (found.names, one.variants[found.path].replays) == (("a", "b", "c"), (2,))


def test_of_the_forms_of_the_typical_path_the_most_frequent_stands_for_it() -> None:
    one = detail([("Y", "k=x"), ("Y", "k=y"), ("Y", "k=y")])
    found = typical_path(one)
    assert found is not None
    assert one.variants[found.path].replays == (1, 2)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("x a b c", "step 1: x comes in; back at step 1"),
        ("a c", "step 2: b is left out; back at step 3"),
        ("a x c", "step 2: x in place of b; back at step 3"),
        ("b a c", "step 1: a ⇄ b; back at step 3"),
        ("a b c d", "step 4: d comes in; does not come back"),
    ],
)
def test_every_difference_is_told_with_where_the_path_comes_back(path: str, told: str) -> None:
    one = detail([("Y", "a b c"), ("Y", "a b c"), ("Y", path)])
    assert list(typical_texts(one))[-1] == f"replay 2 from the typical path: {told}"


def test_paths_by_tool_names_come_with_their_decisions() -> None:
    one = detail([("Y", "k=x"), ("N", "k=y"), ("Y", "k=x"), ("Y", "T")])
    assert list(typical_texts(one)) == [
        "typical path: k (replays 0 2)",
        "path k: 3 replays, Y 2, N 1",
        "path T: 1 replay, Y 1",
        "replay 1 from the typical path: step 1: k, another argument; does not come back",
        "replay 3 from the typical path: step 1: T in place of k; does not come back",
    ]
    assert variant_objects(typical_path(one))[0] == {"path": ["k"], "replays": 3, "decisions": {"Y": 2, "N": 1}}


def test_equal_paths_say_nothing_and_no_path_is_null() -> None:
    assert list(typical_texts(detail([("Y", "T U")] * 3))) == []
    nothing = detail([("Y", None)])
    assert list(typical_texts(nothing)) == []
    assert typical_object(typical_path(nothing)) is None
    assert variant_objects(None) == []
