"""The one encoder: strict JSON, one spelling, and one error class for everything else."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.canonical import canonical_bytes, check_json, copy_json, count_nodes, digest
from dfah_cli.errors import DFAHError, ValidationError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=("Cs",))),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 1.5, "é"]}, '{"a":[true,null,1.5,"é"],"b":1}'),
        ([1, 1.0, -0.0, 1e16, 1e-7], "[1,1.0,-0.0,1e+16,1e-07]"),
        ((1, (2,)), "[1,[2]]"),
        ({"é": 1, "z": 2, "😀": 3, "\uffff": 4}, '{"z":2,"é":1,"\uffff":4,"😀":3}'),
        ('\u2028\n"\\/\x7f', '"\u2028\\n\\"\\\\/\x7f"'),
        (2**200, str(2**200)),
        ({}, "{}"),
    ],
)
def test_every_value_has_one_spelling(value: Any, text: str) -> None:
    assert canonical_bytes(value) == text.encode()


@given(JSON)
def test_the_encoding_is_what_the_standard_encoder_gives_with_sorted_keys(value: Any) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert canonical_bytes(value) == expected.encode()


@given(JSON)
def test_decoding_and_encoding_again_gives_the_same_digest(value: Any) -> None:
    assert digest(json.loads(canonical_bytes(value))) == digest(value)


@given(JSON)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(value: Any) -> None:
    copied = copy_json(value)
    assert canonical_bytes(copied) == canonical_bytes(value)
    if isinstance(value, list | dict):
        assert copied is not value


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


NOT_JSON: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "bytes": b"x",
    "set": {1},
    "object": object(),
    "complex": 1j,
    "integer key": {1: 2},
    "boolean key": {True: 2},
    "null key": {None: 1},
    "bytes key": {b"k": 1},
    "lone surrogate": "a\ud800",
    "lone surrogate in a key": {"\udfff": 1},
    "4301 digits": 10**4300,
    "itself": endless(),
    "named tuple": namedtuple("Point", "x y")(1, 2),
}


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON.keys())
@pytest.mark.parametrize("use", [canonical_bytes, copy_json, check_json, digest])
def test_what_is_no_json_is_refused_with_the_one_error_class(use: Any, value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        use({"deep": [value]})
    assert isinstance(caught.value, DFAHError)
    assert isinstance(caught.value, ValueError)


def test_the_refusal_names_the_place_and_the_type_but_not_the_value() -> None:
    with pytest.raises(ValidationError, match=r"^input\.a\[1\]: bytes is not a JSON value") as caught:
        check_json({"a": ["fine", b"secret-value"]}, "input")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [10**4300 - 1, -(10**4300 - 1), 10**4299], ids=["nines", "minus nines", "one"])
def test_an_integer_of_4300_digits_is_the_largest(value: int) -> None:
    assert len(canonical_bytes(value).strip(b"-")) == 4300


def test_a_hundred_levels_are_the_deepest_and_a_record_may_wrap_them() -> None:
    assert copy_json(nested(100)) == nested(100)
    assert canonical_bytes({"record": [nested(100)]}).count(b"[") == 101
    for use, levels in ((copy_json, 101), (check_json, 101), (canonical_bytes, 111), (digest, 100_000)):
        with pytest.raises(ValidationError, match="nested deeper than 100 levels") as caught:
            use(nested(levels))
        assert len(str(caught.value)) < 300


def test_subclasses_of_json_types_are_written_as_their_base() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Size(IntEnum):
        BIG = 3

    class Text(str):
        pass

    class Real(float):
        def __repr__(self) -> str:
            return "hacked"

    assert canonical_bytes([Colour.RED, Size.BIG, Text("t"), Real(1.5)]) == b'["red",3,"t",1.5]'
    assert type(copy_json(Text("t"))) is str


def test_any_mapping_is_an_object() -> None:
    assert canonical_bytes(MappingProxyType({"b": 1, "a": OrderedDict(c=2)})) == b'{"a":{"c":2},"b":1}'
    assert type(copy_json(MappingProxyType({"a": 1}))) is dict


def test_the_order_of_keys_does_not_matter_and_the_spelling_of_numbers_does() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.0})
    assert digest("é") != digest("e\u0301")


@given(JSON)
def test_nodes_are_counted_with_the_value_itself(value: Any) -> None:
    def count(item: Any) -> int:
        inner = item.values() if isinstance(item, Mapping) else item if isinstance(item, list) else ()
        return 1 + sum(map(count, inner))

    assert count_nodes(value) == count(value)
