from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.alignment import align, edit_distance
from tests.metrics.build import steps


@pytest.mark.parametrize(
    ("left", "right", "expected"), [("abcd", "abdc", 2), ("abcd", "abd", 1), ("kitten", "sitting", 3), ("", "ab", 2)]
)
def test_edit_distance_vectors(left: str, right: str, expected: int) -> None:
    assert edit_distance(left, right) == expected


@pytest.mark.parametrize(
    ("path", "changes", "back"),
    [
        ("a b c d", [], None),
        ("a x b c d", [(1, "insert", "x", None)], 1),
        ("a c d", [(1, "drop", "b", None)], 2),
        ("a c b d", [(1, "swap", "b", "c")], 3),
        ("a x c d", [(1, "replace", "b", "x")], 2),
        ("a b=1 c d", [(1, "argument", "b", None)], 2),
        ("a b=none>1 c d", [(1, "result", "b", None)], 2),
        ("a b c", [(3, "drop", "d", None)], None),
        ("x a b c d=1", [(0, "insert", "x", None), (3, "argument", "d", None)], None),
    ],
)
def test_a_path_is_explained_by_few_changes(path: str, changes: list[tuple], back: int | None) -> None:
    found = align(steps("a b c d"), steps(path))
    assert [(c.at, c.edit.value, c.tool, c.instead) for c in found.changes] == changes
    assert found.reconverges_at == back


PATHS = st.lists(st.sampled_from("abc"), max_size=5).map(" ".join)


@given(PATHS, PATHS)
def test_an_alignment_never_needs_more_changes_than_the_edit_distance(left: str, right: str) -> None:
    found = align(steps(left), steps(right))
    assert len(found.changes) <= edit_distance(left.split(), right.split())
    assert (found.changes == ()) == (left == right)
