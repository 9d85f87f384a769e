from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics.agreement import modal_share
from dfah_cli.metrics.family import agree_k, expected_modal, flag_at_k, modal_at_k, pairwise

VECTORS = [
    ((3,), 1, 1, 1),
    ((2, 1), 0.666667, 0.333333, 0),
    ((1, 1, 1), 0.333333, 0, 0),
    ((4, 1), 0.8, 0.6, 0.4),
    ((3, 2), 0.6, 0.4, 0.1),
    ((2, 2, 1), 0.4, 0.2, 0),
    ((7, 2, 1), 0.7, 0.488888889, 0.291666667),
]
LABELS = st.lists(st.sampled_from("abc"), min_size=2, max_size=6)


@pytest.mark.parametrize(("counts", "modal", "two", "three"), VECTORS)
def test_counts_have_the_published_agreement(counts: tuple[int, ...], modal: float, two: float, three: float) -> None:
    got = (modal_at_k(counts, sum(counts)), pairwise(counts), agree_k(counts, 3))
    assert [float(value) for value in got] == pytest.approx([modal, two, three], abs=1e-6)


@pytest.mark.parametrize(
    ("counts", "expected"), [((4, 1), 0.8), ((3, 2), 0.7), ((2, 2, 1), 0.533333333), ((7, 2, 1), 0.725)]
)
def test_rarefaction_to_three_replays(counts: tuple[int, ...], expected: float) -> None:
    assert float(modal_at_k(counts, 3)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("probabilities", "replays", "expected"),
    [
        (("9/10", "1/10"), 2, 0.91),
        (("9/10", "1/10"), 3, 0.91),
        (("9/10", "1/10"), 5, 0.9019),
        (("9/10", "1/10"), 10, 0.900031281),
        (("6/10", "2/10", "2/10"), 3, 0.696),
        (("6/10", "2/10", "2/10"), 5, 0.64544),
    ],
)
def test_few_replays_flatter_by_a_known_amount(probabilities: tuple[str, ...], replays: int, expected: float) -> None:
    assert float(expected_modal([Fraction(p) for p in probabilities], replays)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("probabilities", "biases"),
    [
        (("19/20", "1/20"), (0.0025, 0.0025, 0.0002, 0.0)),
        (("9/10", "1/10"), (0.01, 0.01, 0.0019, 0.0)),
        (("7/10", "3/10"), (0.09, 0.09, 0.0459, 0.0119)),
        (("1/2", "1/2"), (0.25, 0.25, 0.1875, 0.1230)),
        (("3/5", "1/5", "1/5"), (0.12, 0.096, 0.0454, 0.0136)),
    ],
)
def test_bias_table(probabilities: tuple[str, ...], biases: tuple[float, ...]) -> None:
    shares = [Fraction(p) for p in probabilities]
    got = [float(expected_modal(shares, replays) - max(shares)) for replays in (2, 3, 5, 10)]
    assert got == pytest.approx(biases, abs=6e-5)


def test_flag_at_k_vectors() -> None:
    mixed = {("A", "p"): 3, ("A", "q"): 1, ("B", "p"): 1}
    assert [float(flag_at_k(mixed, k)) for k in (2, 3)] == [0.3, 0.3]
    assert [float(flag_at_k({("A", "p"): 4, ("A", "q"): 1}, k)) for k in (2, 3, 5)] == [0.4, 0.6, 1.0]


def test_mean_pairwise_is_the_observed_agreement_of_fleiss() -> None:
    inter_rater = pytest.importorskip(
        "statsmodels.stats.inter_rater", reason="no statsmodels; run: python -m pip install 'dfah-cli[dev]'"
    )
    table = [[3, 0], [2, 1], [3, 0], [0, 3]]
    observed = float(sum(pairwise(row) for row in table) / 4)
    assert observed == pytest.approx(0.833333333, abs=1e-9)
    chance = sum((sum(column) / 12) ** 2 for column in zip(*table, strict=True))
    assert (observed - chance) / (1 - chance) == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-12)


@pytest.mark.parametrize("k", [0, 4])
def test_more_replays_than_observed_are_refused(k: int) -> None:
    with pytest.raises(ConfigurationError, match="3 observed"):
        agree_k((2, 1), k)


@given(LABELS, st.integers(1, 6))
def test_rarefaction_is_the_mean_over_all_subsets(labels: list[str], k: int) -> None:
    k = min(k, len(labels))
    subsets = list(combinations(labels, k))
    shares = [modal_share(subset) for subset in subsets]
    assert modal_at_k(Counter(labels).values(), k) == sum(shares) / len(shares)  # type: ignore[arg-type]
    alike = Fraction(sum(len(set(subset)) == 1 for subset in subsets), len(subsets))
    assert agree_k(Counter(labels).values(), k) == alike


@given(
    st.lists(st.tuples(st.sampled_from("YN"), st.sampled_from("pq")), min_size=2, max_size=6),
    st.integers(2, 6),
)
def test_flag_at_k_is_the_share_of_flagged_subsets(replays: list[tuple[str, str]], k: int) -> None:
    k = min(k, len(replays))
    subsets = list(combinations(replays, k))
    flagged = [len({d for d, _ in subset}) == 1 and len({p for _, p in subset}) > 1 for subset in subsets]
    assert flag_at_k(Counter(replays), k) == Fraction(sum(flagged), len(subsets))
