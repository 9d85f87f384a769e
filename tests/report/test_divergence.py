import pytest

from dfah_cli.report.details import case_details
from dfah_cli.report.divergence import Cause, divergence_tree, first_parting
from dfah_cli.report.words import parting_text
from tests.metrics.build import Replay, a_table


def detail(paths: list[str]):  # type: ignore[no-untyped-def]
    replays: list[Replay] = [("escalate", path) for path in paths]
    (one,) = case_details(a_table({("t", "A"): replays}, keep_examples=True))
    return one


@pytest.mark.parametrize(
    ("paths", "step", "cause", "told"),
    [
        (["a b", "a c", "a b"], 2, Cause.TOOL, "step 2: b or c"),
        (["a b", "a", "a b"], 2, Cause.TOOL, "step 2: b is left out"),
        (["a b", "a x b", "a b"], 2, Cause.TOOL, "step 2: x comes in"),
        (["a b", "a a b", "a b"], 1, Cause.COUNT, "step 1: one more call of a"),
        (["a b c", "a c b", "a b c"], 2, Cause.ORDER, "step 2: b ⇄ c"),
        (["a k=x", "a k=y", "a k=x"], 2, Cause.ARGUMENTS, "step 2: k, argument x… or y…"),
        (["a k=x>1", "a k=x>2", "a k=x>1"], 2, Cause.RESULT, "step 2: k, result 1… or 2… for equal arguments"),
    ],
)
def test_each_kind_of_variation_is_named_with_its_step(paths: list[str], step: int, cause: Cause, told: str) -> None:
    found = first_parting(detail(paths))
    assert found is not None
    assert (found.step, found.cause) == (step, cause)
    assert parting_text(found) == told


def test_an_inserted_call_does_not_hide_behind_an_earlier_argument() -> None:
    found = first_parting(detail(["a=1 b c", "a=2 b b c", "a=1 b c"]))
    assert found is not None
    assert found.cause is Cause.COUNT


def test_equal_paths_do_not_part() -> None:
    assert first_parting(detail(["a b", "a b"])) is None
    assert parting_text(None) == "—"


def test_the_tree_holds_every_replay_once_and_shared_steps_once() -> None:
    tree = divergence_tree(detail(["a b c", "a c b", "a b c", "a b"]).variants)
    assert [step[0] for step in tree.steps] == ["a"]
    assert tree.replays == (0, 1, 2, 3)
    assert sorted(replay for child in tree.children for replay in child.replays) == [0, 1, 2, 3]
    first, second = tree.children
    assert (first.replays, second.replays) == ((0, 2, 3), (1,))
    assert [child.replays for child in first.children] == [(0, 2), (3,)]


def test_variants_are_ordered_by_frequency_and_cells_point_at_them() -> None:
    one = detail(["b", "a", "a"])
    assert [variant.replays for variant in one.variants] == [(1, 2), (0,)]
    assert [cell.variant for cell in one.replays] == [1, 0, 0]
