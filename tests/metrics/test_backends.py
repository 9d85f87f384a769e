from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.backends import BackendTable, PairsAgree, backend_table, served, served_by
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.table import TableBuilder
from tests.metrics.build import add

Served = tuple[str | None, str, str | None]


def found(*cases: list[Served]) -> BackendTable | None:
    builder = TableBuilder([("t", str(number)) for number in range(len(cases))])
    for group, replays in enumerate(cases):
        for index, (decision, path, backend) in enumerate(replays):
            add(builder, group, index, decision, path)
            if backend is not None:
                builder.served_by(backend)
    table = builder.build()
    return backend_table(table, measure(table, replays=len(cases[0])))


def test_a_backend_is_what_the_adapter_says_served() -> None:
    assert served_by({"served_models": ["m-2", "m-1"], "fingerprints": ["fp"]}) == "m-1 + m-2 [fp]"
    assert served_by({"served_model": "m"}) == "m"
    assert served_by({"system_fingerprint": "fp"}) == "unknown model [fp]"


@pytest.mark.parametrize(
    "told", [{}, {"served_model": None}, {"served_models": []}, {"served_model": 3}, {"requests": 1}]
)
def test_nothing_said_is_not_a_backend(told: dict[str, object]) -> None:
    assert served_by(told) is None


def test_the_text_of_a_record_is_read_only_when_it_names_a_backend() -> None:
    assert served("no JSON at all") is None
    assert served('{"served_models":["m"]}') == "m"


def test_instability_that_comes_with_a_change_of_backend_is_counted_apart() -> None:
    table = found(
        [("Y", "a", "one"), ("Y", "a", "one"), ("N", "b", "two")],
        [("Y", "a", "one"), ("Y", "a", "one"), ("Y", "a", "one")],
    )
    assert table is not None
    assert table.same == PairsAgree(pairs=4, decision=4, path=4)
    assert table.different == PairsAgree(pairs=2, decision=0, path=0)
    assert (table.one, table.unstable_one, table.several, table.unstable_several) == (1, 0, 1, 1)
    assert [(row.name, row.replays, row.cases) for row in table.rows] == [("one", 5, 2), ("two", 1, 1)]


def test_a_replay_without_a_backend_is_in_no_pair() -> None:
    table = found([("Y", "a", "one"), ("Y", "a", None), ("N", "b", "one")])
    assert table is not None
    assert (table.unknown, table.same.pairs, table.different.pairs) == (1, 1, 0)


def test_no_recorded_backend_is_no_table() -> None:
    assert found([("Y", "a", None), ("Y", "a", None)]) is None


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("YN"), st.sampled_from(["a", "b"]), st.sampled_from([None, "one", "two"])),
            min_size=3,
            max_size=3,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_pair_of_known_backends_is_counted_once(cases: list[list[Served]]) -> None:
    table = found(*cases)
    known = [sum(backend is not None for _, _, backend in replays) for replays in cases]
    assert (table is None) == (sum(known) == 0)
    if table is not None:
        assert table.same.pairs + table.different.pairs == sum(n * (n - 1) // 2 for n in known)
        assert sum(row.within.pairs for row in table.rows) == table.same.pairs
        assert sum(row.within.path for row in table.rows) == table.same.path
        assert sum(row.replays for row in table.rows) + table.unknown == 3 * len(cases)
