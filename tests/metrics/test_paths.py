from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.paths import PathInterner, Step, StepLike, path_key
from dfah_cli.records.enums import REFINEMENT, PathMode

HASHES = st.sampled_from([None, "a", "b"])
STEPS = st.builds(
    Step,
    st.sampled_from("TU"),
    HASHES,
    HASHES,
    st.just("observed_empty"),
    st.sampled_from(["executed", "rejected"]),
)
PATHS = st.lists(STEPS, max_size=4)


@given(st.lists(PATHS, min_size=2, max_size=6))
def test_interned_identities_are_equal_exactly_when_the_keys_are(paths: list[list[Step]]) -> None:
    interner = PathInterner()
    rows = [interner.intern(path) for path in paths]
    ids = interner.identities()[rows]
    for column, mode in enumerate(REFINEMENT):
        keys = [path_key(path, mode) for path in paths]
        for i, key in enumerate(keys):
            assert (ids[i][column] == -1) == (key is None)
            for j, other in enumerate(keys):
                assert (key == other) == (ids[i][column] == ids[j][column])


@given(PATHS)
def test_a_named_step_and_a_plain_tuple_are_one_path(path: list[Step]) -> None:
    interner = PathInterner()
    plain: list[StepLike] = [tuple(step) for step in path]  # type: ignore[misc]
    assert interner.intern(path) == interner.intern(plain)
    assert len(interner) == 1


def test_a_call_without_an_output_is_complete_only_when_it_was_not_executed() -> None:
    assert path_key([Step("T", "a", None, "unavailable", "rejected")], PathMode.STRONG) is not None
    assert path_key([Step("T", "a", None)], PathMode.STRONG) is None
    assert path_key([Step("T", "a", None)], PathMode.ARGS) is not None


def test_examples_are_kept_only_on_demand() -> None:
    kept, lean = PathInterner(keep_examples=True), PathInterner()
    for interner in (kept, lean):
        interner.intern([Step("T", "a", "b")])
        interner.intern([Step("T", "a", "b")])
    assert kept.examples == [(Step("T", "a", "b"),)]
    assert lean.examples == []
