from __future__ import annotations

from fractions import Fraction

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.diagnosis import diagnose_case, diagnose_run
from dfah_cli.metrics.ladder import ladder
from dfah_cli.metrics.measure import measure
from tests.metrics.build import Replay, a_table, steps

F = Fraction
TEXTS = ["kyc score=1", "kyc score=2>2", "score=1 kyc", "kyc kyc score=1", "kyc score=1>9"]
GROUP: list[Replay] = [("Y", text) for text in TEXTS]


def test_losses_of_one_case_add_up() -> None:
    found = ladder([steps(text) for text in TEXTS])
    assert found is not None
    assert list(found.agreement.values()) == [1, F(6, 10), F(3, 10), F(1, 10), 0]
    assert [loss for _, loss in found.losses] == [0, F(4, 10), F(3, 10), F(2, 10), F(1, 10)]
    assert ladder([steps("a")]) is None


def test_a_run_tells_causes_blame_and_variants() -> None:
    table = a_table({("t", "A"): GROUP, ("t", "B"): [("Y", "kyc")] * 5}, keep_examples=True)
    found = diagnose_run(table, measure(table, replays=5))
    assert dict(found.blame) == {"kyc": F(7, 20), "score": F(3, 20)}
    assert sum(count for _, count in found.causes) == 10
    assert found.first_divergences == ((0, 1),)
    assert [(variant.path, variant.count, variant.cases) for variant in found.variants][:2] == [
        (("kyc",), 5, 1),
        (("kyc", "score"), 3, 1),
    ]
    losses = [loss for _, loss in found.ladder.losses]
    assert losses == [0, F(2, 10), F(3, 20), F(1, 10), F(1, 20)]
    assert found.task_ladders[0][1].losses == found.ladder.losses


def test_a_case_is_told_against_its_typical_path() -> None:
    table = a_table({("t", "A"): GROUP}, keep_examples=True)
    found = diagnose_case(table, 0)
    assert [step[0] for step in found.reference] == ["kyc", "score"]
    assert [[change.edit.value for change in item.changes] for item in found.alignments] == [
        [],
        ["argument"],
        ["swap"],
        ["insert"],
        ["result"],
    ]
    assert found.first_divergence == 0
    assert found.decisions == ("Y",) * 5


def test_diagnosis_needs_the_paths() -> None:
    table = a_table({("t", "A"): GROUP})
    with pytest.raises(ConfigurationError, match="keep_examples"):
        diagnose_run(table, measure(table, replays=5))
    with pytest.raises(ConfigurationError, match="observed trajectory"):
        diagnose_case(a_table({("t", "A"): [("Y", None)]}, keep_examples=True), 0)
