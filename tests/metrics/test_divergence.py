from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.divergence import FirstCause, first_cause, first_divergence, prefix_tree, tabulate_causes
from dfah_cli.metrics.paths import Step
from tests.metrics.build import steps
from tests.metrics.test_diagnosis import TEXTS

P = ["abcd", "abcd", "abdc", "abd", "xbcd"]


@pytest.mark.parametrize(
    ("paths", "expected"), [(P, 0), (P[:4], 2), (P[:2], None), ([], None), (["ab", "abc"], 2), (["", "a"], 0)]
)
def test_first_divergence(paths: list[str], expected: int | None) -> None:
    assert first_divergence(paths) == expected


def test_first_cause_vectors() -> None:
    group = [steps(text) for text in TEXTS]
    causes = [first_cause(group[0], other) for other in group[1:]]
    assert [(c.position, c.cause.value, c.tool) for c in causes if c] == [
        (1, "arguments", "score"),
        (0, "tool", "kyc"),
        (1, "tool", "score"),
        (1, "result", "score"),
    ]
    assert first_cause(group[0], group[0]) is None


def test_a_longer_path_is_named_by_its_first_extra_call() -> None:
    assert first_cause(steps("a"), steps("a b c")) == FirstCause(1, "length", "b")  # type: ignore[arg-type]
    assert first_cause(steps("a b"), steps("a")) == FirstCause(1, "length", "b")  # type: ignore[arg-type]


def test_a_hash_that_was_not_captured_is_no_cause() -> None:
    assert first_cause([Step("a", None, "x")], [Step("a", "1", "x")]) is None


def test_causes_are_counted_over_pairs_of_replays() -> None:
    table = tabulate_causes([[steps("a"), steps("a"), steps("b")], [steps("a"), steps("b")]])
    assert table == ((FirstCause(0, "tool", "a"), 3),)  # type: ignore[arg-type]


def test_the_prefix_tree_shows_where_replays_part() -> None:
    root = prefix_tree([steps(text) for text in ("a b c", "a b", "a b d", "a b c")])
    assert [step[0] for step in root.steps] == ["a", "b"]
    assert (root.count, root.ended) == (4, (1,))
    assert [([s[0] for s in child.steps], child.replays) for child in root.children] == [(["c"], (0, 3)), (["d"], (2,))]


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=4).map(" ".join), min_size=1, max_size=6))
def test_every_replay_can_be_read_back_from_the_tree(texts: list[str]) -> None:
    paths = [steps(text) for text in texts]
    found: dict[int, list[tuple]] = {}

    def walk(node: object, before: list[tuple]) -> None:
        here = before + list(node.steps)  # type: ignore[attr-defined]
        found.update(dict.fromkeys(node.ended, here))  # type: ignore[attr-defined]
        for child in node.children:  # type: ignore[attr-defined]
            walk(child, here)

    walk(prefix_tree(paths), [])
    assert found == dict(enumerate(paths))
