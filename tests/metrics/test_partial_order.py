from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.partial_order import Parallel, under_partial_order
from dfah_cli.metrics.paths import Step
from dfah_cli.records.enums import PathMode
from tests.metrics.build import a_table, steps

PARALLEL = Parallel.of([["a", "b"]])


def test_declared_calls_may_swap_and_others_may_not() -> None:
    groups = {("t", "A"): [("Y", "a b c"), ("Y", "b a c")], ("t", "B"): [("Y", "a c"), ("Y", "c a")]}
    table = a_table(groups, keep_examples=True)
    strict = [case.tar[PathMode.SEQ] for case in measure(table, replays=2).cases]
    relaxed = [case.tar[PathMode.SEQ] for case in measure(under_partial_order(table, PARALLEL), replays=2).cases]
    assert strict == [0.5, 0.5]
    assert relaxed == [1, 0.5]


def test_a_call_does_not_move_over_one_it_depends_on() -> None:
    assert PARALLEL.normal_form(steps("b c a")) == tuple(steps("b c a"))
    assert PARALLEL.normal_form(steps("b b=1 a")) == tuple(steps("a b=1 b"))


def test_a_table_without_paths_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="examples"):
        under_partial_order(a_table({("t", "A"): [("Y", "a"), ("Y", "a")]}), PARALLEL)


def reachable(path: tuple[Step, ...]) -> set[tuple[Step, ...]]:
    seen, todo = {path}, [path]
    while todo:
        here = todo.pop()
        for i in range(len(here) - 1):
            if PARALLEL.commute(here[i][0], here[i + 1][0]):
                other = (*here[:i], here[i + 1], here[i], *here[i + 2 :])
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
    return seen


@given(st.lists(st.sampled_from(["a", "b", "c", "a=1"]), max_size=5).map(" ".join))
def test_paths_have_one_normal_form_exactly_when_allowed_swaps_connect_them(text: str) -> None:
    path = tuple(steps(text))
    connected = reachable(path)
    for other in set(permutations(path)):
        assert (PARALLEL.normal_form(other) == PARALLEL.normal_form(path)) == (other in connected)
