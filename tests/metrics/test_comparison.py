from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError
from dfah_cli.metrics import comparison
from dfah_cli.metrics.comparison import (
    drift_exact_p,
    drift_index,
    holm,
    mcnemar_exact_p,
    signflip_exact_p,
    tango_z,
)


def pair(text: str) -> tuple[Counter[str], Counter[str]]:
    base, candidate = text.split("/")
    return Counter(base), Counter(candidate)


@pytest.mark.parametrize(
    ("runs", "expected"), [("AAA/BBB", 1), ("AAB/ABB", -0.111111111), ("AAA/AAA", 0), ("AAA/AAB", 0)]
)
def test_drift_index_vectors(runs: str, expected: float) -> None:
    assert float(drift_index(*pair(runs))) == pytest.approx(expected, abs=1e-9)


def test_drift_p_vectors() -> None:
    assert drift_exact_p([pair("AAA/BBB")]).p == pytest.approx(0.1, abs=1e-12)
    assert drift_exact_p([pair("AAA/BBB")] * 2).p == pytest.approx(0.01, abs=1e-12)
    mixed = drift_exact_p([pair(text) for text in ["AAA/AAA"] * 7 + ["AAA/BBB", "AAB/ABB", "AAA/AAB"]])
    assert float(mixed.mean) == pytest.approx(0.088888889, abs=1e-9)
    assert mixed.p == pytest.approx(0.19, abs=1e-12)


def test_drift_p_with_unequal_replays_equals_enumeration() -> None:
    from itertools import combinations

    pooled = "AABBB"
    observed = drift_index(*pair("AA/BBB"))
    splits = list(combinations(range(5), 2))
    hits = 0
    for taken in splits:
        base = Counter(pooled[i] for i in taken)
        rest = Counter(pooled[i] for i in range(5) if i not in taken)
        hits += drift_index(base, rest) >= observed
    assert drift_exact_p([pair("AA/BBB")]).p == pytest.approx(hits / len(splits), abs=1e-12)


def test_identical_runs_never_alarm() -> None:
    assert drift_exact_p([pair("AAA/AAA")] * 5).p == 1.0
    with pytest.raises(ConfigurationError):
        drift_exact_p([])


def test_many_cases_agree_with_few_by_either_way_of_adding(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [pair("AAB/ABB"), pair("AAA/ABB"), pair("AABB/ABBB"), pair("ABC/ABC")] * 30
    direct = drift_exact_p(cases).p
    monkeypatch.setattr(comparison, "DIRECT_LIMIT", 0)
    assert drift_exact_p(cases).p == pytest.approx(direct, abs=1e-12)
    assert 0.001 < direct < 0.999


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [((1, 8), 0.0390625), ((0, 5), 0.0625), ((0, 6), 0.03125), ((3, 3), 1), ((10, 2), 0.038574219)],
)
def test_mcnemar_vectors(pairs: tuple[int, int], expected: float) -> None:
    assert mcnemar_exact_p(*pairs) == pytest.approx(expected, abs=1e-9)
    assert mcnemar_exact_p(*reversed(pairs)) == mcnemar_exact_p(*pairs)


def test_signflip_vector_equals_scipy() -> None:
    differences = [1, 1, 2, 1, 0, 0, -1, 1, 1, 2]
    assert signflip_exact_p(differences) == pytest.approx(0.0546875, abs=1e-12)
    stats = pytest.importorskip("scipy.stats", reason="no scipy; run: python -m pip install 'dfah-cli[dev]'")
    oracle = stats.permutation_test((np.array(differences),), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert signflip_exact_p(differences) == pytest.approx(oracle.pvalue, abs=1e-12)


def test_holm_vector() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    multitest = pytest.importorskip(
        "statsmodels.stats.multitest", reason="no statsmodels; run: python -m pip install 'dfah-cli[dev]'"
    )
    p_values = [0.2, 0.001, 0.04, 0.04, 0.9]
    assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]))


@pytest.mark.parametrize(
    ("b", "c", "n", "expected"),
    [(2, 3, 100, -2.104219555), (0, 0, 100, -2.294157339), (5, 2, 200, -2.022499203)],
)
def test_tango_vectors(b: int, c: int, n: int, expected: float) -> None:
    assert tango_z(b, c, n, 0.05) == pytest.approx(expected, abs=1e-8)


RUN = st.lists(st.sampled_from("AB"), min_size=2, max_size=4).map("".join)


@given(st.lists(st.tuples(RUN, RUN), min_size=1, max_size=4))
def test_swapping_the_runs_or_the_labels_changes_nothing(runs: list[tuple[str, str]]) -> None:
    cases = [(Counter(a), Counter(b)) for a, b in runs]
    swapped = [(b, a) for a, b in cases]
    renamed = [
        (Counter(a.translate(str.maketrans("AB", "XY"))), Counter(b.translate(str.maketrans("AB", "XY"))))
        for a, b in runs
    ]
    assert drift_exact_p(cases).mean == drift_exact_p(swapped).mean
    assert drift_exact_p(cases).p == pytest.approx(drift_exact_p(swapped).p, abs=1e-12)
    assert drift_exact_p(cases).p == pytest.approx(drift_exact_p(renamed).p, abs=1e-12)
