from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.unknowns import unknown_outcomes
from tests.metrics.build import Replay, a_table

F = Fraction
STABLE: list[Replay] = [("Y", "T")] * 3
SPLIT: list[Replay] = [("Y", "T"), ("N", "T"), ("Y", "T")]


def test_without_unknowns_both_outcomes_are_the_number() -> None:
    run = measure(a_table({("a", "A"): STABLE, ("b", "B"): SPLIT}), replays=3)
    found = unknown_outcomes(run, labels=2)
    assert found["dar"].agreeing == found["dar"].worst == run.dar
    assert found["gap"].agreeing == found["gap"].worst == run.gap
    assert found["flags_per_100"].worst == run.flags_per_100


def test_a_lost_group_may_have_agreed_or_been_as_bad_as_possible() -> None:
    run = measure(a_table({("a", "A"): STABLE, ("a", "B"): STABLE[:2], ("b", "C"): STABLE[:1]}), replays=3)
    found = unknown_outcomes(run, labels=2)
    assert (found["dar"].agreeing, found["dar"].worst) == (1, ((1 + F(2, 3)) / 2 + F(2, 3)) / 2)
    assert (found["tar.seq"].agreeing, found["tar.seq"].worst) == (1, F(1, 2))
    assert (found["gap"].agreeing, found["gap"].worst) == (0, F(1, 2))
    assert (found["flags_per_100"].agreeing, found["flags_per_100"].worst) == (0, F(200, 3))


def test_nothing_eligible_leaves_everything_open() -> None:
    found = unknown_outcomes(measure(a_table({("a", "A"): STABLE[:2]}), replays=3))
    assert (found["dar"].worst, found["dar"].agreeing) == (F(1, 3), 1)
    assert unknown_outcomes(measure(a_table({}), replays=3)) == {}


GROUPS = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.sampled_from("ABCD")), st.sampled_from([STABLE, SPLIT]), min_size=1
)


@given(GROUPS, st.data())
def test_the_truth_lies_between_the_outcomes(groups: dict, data: st.DataObject) -> None:
    lost = data.draw(st.sets(st.sampled_from(sorted(groups))))
    whole = measure(a_table(groups), replays=3)
    seen = measure(a_table({key: group[:2] if key in lost else group for key, group in groups.items()}), replays=3)
    found = unknown_outcomes(seen, labels=2)
    assert whole.dar is not None
    assert found["dar"].worst <= whole.dar <= found["dar"].agreeing
