"""The strict loader: what it reads is exact, what it does not read is refused with its place."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.loading import strict_yaml
from dfah_cli.loading.json_text import parse_json, quick_json
from dfah_cli.loading.plain_scalars import trap_of
from dfah_cli.loading.source import Source
from dfah_cli.loading.strict_yaml import load, loads

TRICKY = (
    *(
        "no",
        "on",
        "y",
        "010",
        "1e3",
        "1.10",
        "12:30:00",
        "2024-01-01",
        "~",
        "null",
        "<<",
        "=",
        "0x1F",
        "1_0",
        ".5",
    ),
    *(
        "${x}",
        "???",
        "- a",
        "a: b",
        "#c",
        " x",
        "x ",
        "\u2028",
        "\x85",
        "\ufeff",
        "😀",
        "\x7f",
        "\x00",
        "0o7",
        "a:1",
    ),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(TRICKY)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e-07, 1e300, -0.0])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON texts: 1, 1.0 and true are three values, -0.0 is not 0.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(JSON, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
@example({"a": "😀", "b": "\u2028", "c": 1e-07}, None, True)
def test_every_json_text_loads_back_exactly(value: Any, indent: Any, ascii_only: bool) -> None:
    whole = {"suite_id": value}
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_only)
    assert same(loads(text, "suite.json").value, whole)
    assert same(loads(text, "suite.yaml").value, whole)


@given(JSON, st.booleans())
def test_json_that_a_yaml_writer_could_have_meant_otherwise_is_refused_or_exact(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        loaded = loads(text, "suite.yaml").value
    except ValidationError:
        assert "e" in text.lower()
        return
    assert same(loaded, value)


def test_a_list_that_json_and_yaml_read_differently_is_refused() -> None:
    assert same(yaml.safe_load("[0E0]"), ["0E0"])
    with pytest.raises(ValidationError, match="exponent"):
        loads("[0E0]", "suite.yaml")


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_the_quick_decoder_and_the_one_with_places_agree(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    is_json, quick = quick_json(text)
    slow, _ = parse_json(Source("x", text))
    assert same(slow, value)
    assert same(quick, value) if is_json else "\\u" in text


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', "[NaN]", "[-Infinity]", "[1e999]", '["\\ud83d"]', "[" * 101 + "]" * 101, "[" * 99_999, "{}x"],
)
def test_the_quick_decoder_leaves_what_is_odd_to_the_one_with_places(text: str) -> None:
    assert quick_json(text)[0] is False


@given(JSON, st.sampled_from([None, True, False]), st.booleans(), st.sampled_from([10, 80, 10_000]))
def test_json_written_as_yaml_loads_back_exactly_or_is_refused(
    value: Any, flow: bool | None, unicode: bool, width: int
) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=unicode, width=width, sort_keys=False)
    try:
        loaded = loads(text).value
    except ValidationError:
        return
    assert same(loaded, value)


@given(JSON, st.booleans())
def test_json_inside_a_yaml_file_loads_back_exactly_or_is_refused(value: Any, ascii_only: bool) -> None:
    text = "# a comment makes this YAML\ninput: " + json.dumps(value, ensure_ascii=ascii_only)
    try:
        loaded = loads(text).value
    except ValidationError:
        return
    assert same(loaded, {"input": value})


PIECES = (*"ab01-:?,[]{}#&*!|>'\"%@`.~ \\\n\t\ufeff", "a: ", "- ", "\n  ", "\n\n", "|\n  ", "\r", "? ", "\\x")
YAML_PIECES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def outcome(text: str, reader: Any) -> Any:
    """Value and marks, or None for a refusal."""
    try:
        return strict_yaml._Composer(Source("x", text), reader).document()
    except ValidationError:
        return None


@settings(max_examples=300)
@given(YAML_PIECES)
def test_both_readers_of_pyyaml_give_one_value_where_both_accept(text: str) -> None:
    if strict_yaml.FAST_READER is None:
        pytest.skip("PyYAML was built without libyaml")
    fast, slow = outcome(text, strict_yaml.FAST_READER), outcome(text, yaml.SafeLoader)
    assert fast is None or slow is None or same(fast[0], slow[0])


@given(st.text(st.sampled_from("0123456789_.:eE+-xob yntrufals~"), max_size=8))
def test_an_unquoted_scalar_is_a_value_only_where_every_reader_agrees(text: str) -> None:
    if trap_of(text) is not None or text.strip() != text or text[:1] in ("-", "") or ": " in text or text[-1] == ":":
        return
    value = loads(f"- {text}").value[0]
    by_yaml_1_1 = yaml.safe_load(f"- {text}")[0]
    assert type(value) is type(by_yaml_1_1)
    assert value == by_yaml_1_1
    assert isinstance(value, str) or same(value, json.loads(text))


REFUSED = [
    ("a: no", "f.yaml:1:4: `no` is read as false"),
    ("a: Yes", 'write "Yes" for text, or true'),
    ("- on", "f.yaml:1:3: `on` is read as true"),
    ("n: 1", "f.yaml:1:1: `n` is read as false"),
    ("a: ~", 'write null, or "~" for text'),
    ("a: NULL", "write null"),
    ("a: True", "write true"),
    ("a: FALSE", "write false"),
    ("a: 010", "leading zero"),
    ("a: 08", "leading zero"),
    ("a: 0x1F", "hexadecimal"),
    ("a: 0o17", "octal"),
    ("a: 0b11", "binary"),
    ("a: 1_000", "underscores"),
    ("a: 1_0.5", "underscores"),
    ("a: 12:30:00", "base 60"),
    ("a: 1:30", "base 60"),
    ("a: 2024-01-31", "date"),
    ("a: 2024-01-31 10:00:00", "date"),
    ("a: 1e3", "exponent"),
    ("a: 1e-07", "write it like 1.0e+3"),
    ("a: 1.5E3", "exponent"),
    ("a: .5", "write it like 0.5"),
    ("a: 1.", "not written as in JSON"),
    ("a: +1", "not written as in JSON"),
    ("a: .inf", "not a JSON number"),
    ("a: -.INF", "not a JSON number"),
    ("a: .NaN", "not a JSON number"),
    ("a: =", "meaning of its own"),
    ("a: <<", "meaning of its own"),
    ("<<: {a: 1}", "f.yaml:1:1: merge keys are not read"),
    ("a: &x 1", "f.yaml:1:4: the anchor &x is not read"),
    ("a: *x", "f.yaml:1:4: the alias *x is not read"),
    ("a: !!str 1", "the tag tag:yaml.org,2002:str is not read"),
    ("a: !python/object:os.system []", "is not read"),
    ("a: ! x", "the tag ! is not read"),
    ("!!map {a: 1}", "f.yaml:1:1: the tag"),
    ("a: 1\nb: 2\na: 3", "f.yaml:3:1: duplicate key 'a', first at 1:1"),
    ('{"a": 1, "a": 2}', "f.yaml:1:10: duplicate key 'a', first at 1:2"),
    ("a: 1\n---\nb: 2", "f.yaml:2:1: a second document begins"),
    ("%YAML 1.1\n---\na: 1", "directives are not read"),
    ("%TAG ! x:\n---\na: 1", "directives are not read"),
    ("", "f.yaml:1:1: the file is empty"),
    ("# only a comment\n", "the file is empty"),
    ("? [a]\n: b", "a key must be text"),
    ("1: a", 'f.yaml:1:1: a key must be text; write "1"'),
    ("true: a", 'a key must be text; write "true"'),
    ("{a:1}", "f.yaml:1:2: a key that contains ':' and has no value"),
    ("a:\n\t- b", "f.yaml:2:1: a tab cannot indent YAML"),
    ("a: b: c", "': ' inside unquoted text"),
    ('a: "x', "a quoted text does not end"),
    ('a: "\\q"', "unknown escape"),
    ('a: "\\u12"', "an escape is too short"),
    ('a: "\\U00110000"', "f.yaml:1:5: an escape names no Unicode character"),
    ('a: "\\ud83d"', "f.yaml:1:4: text with a lone surrogate"),
    ('{"a": "\\ud83d"}', "f.yaml:1:7: text with a lone surrogate"),
    ("a: [1, 2", "write ',' or ']'"),
    ("a: {b: 1", "write ',' or '}'"),
    ("a: @x", "unquoted text cannot begin with this character"),
    ("a: 'x\u2028y'", "f.yaml:1:6: the character U+2028 breaks lines"),
    ("a: x\x85y", "the character U+0085 breaks lines"),
    ("a: x\x00y", "f.yaml:1:5: the character U+0000 is not allowed"),
    ("a: x\x1by", "the character U+001B is not allowed"),
    ("a: 1.0e+400", "number too large for a double"),
    ("a: " + "9" * 4301, "f.yaml:1:4: integer with more than 4300 digits"),
    ("[" * 101 + "]" * 101, "f.yaml:1:101: nested deeper than 100 levels"),
    ("- " * 101 + "x", "nested deeper than 100 levels"),
    ("[" * 100_000, "nested deeper than 100 levels"),
    ('{"a":' * 100_000, "nested deeper than 100 levels"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[repr(text[:20]) for text, _ in REFUSED])
def test_what_readers_disagree_about_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        loads(text, "f.yaml")
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("f.yaml:")
    assert "\n" not in str(refusal.value)


ACCEPTED = [
    ("a: 1.0.0", {"a": "1.0.0"}),
    ("a: 0.90", {"a": 0.9}),
    ("a: 1.0e+3", {"a": 1000.0}),
    ("a: -0.0", {"a": -0.0}),
    ("a:", {"a": None}),
    ("a: ${x}\nb: ???", {"a": "${x}", "b": "???"}),
    ('a: "\\ud83d\\ude00"', {"a": "😀"}),
    ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
    ('{"case": 1e-07, "b": "\u2028", "c": 1e3}', {"case": 1e-07, "b": "\u2028", "c": 1000.0}),
    ("--- \na: 1\n...\n", {"a": 1}),
    ("\ufeffa: 1".removeprefix("\ufeff"), {"a": 1}),
    ("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100)),
    ("a: " + "9" * 4300, {"a": int("9" * 4300)}),
    ("a: yes sir\nb: 1 apple\nc: 10.0.0.1", {"a": "yes sir", "b": "1 apple", "c": "10.0.0.1"}),
]


@pytest.mark.parametrize(("text", "value"), ACCEPTED, ids=[repr(text[:20]) for text, _ in ACCEPTED])
def test_what_every_reader_takes_alike_is_read(text: str, value: Any) -> None:
    assert same(loads(text).value, value)


def test_positions_are_known_by_json_pointer() -> None:
    document = loads("a:\n  - x\n  - b/c: 1\n    d~: 2\n")
    assert document.positions == {
        "": (1, 1),
        "/a": (2, 3),
        "/a/0": (2, 5),
        "/a/1": (3, 5),
        "/a/1/b~1c": (3, 10),
        "/a/1/d~0": (4, 9),
    }
    assert document.place(["a", 1, "d~"], of_key=True) == "text:4:5"
    assert document.place(["a", 1, "missing"]) == "text:3:5"
    assert document.place(["a", 7, "x"]) == "text:2:3"


def test_columns_count_characters_and_lines_count_every_line_end() -> None:
    document = loads("é: 1\r\n😀x: 2\rb: 3\n")
    assert [document.position([key], of_key=True) for key in ("é", "😀x", "b")] == [(1, 1), (2, 1), (3, 1)]
    assert document.position(["😀x"]) == (2, 5)


def test_a_json_file_must_be_json(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text("a: 1\n")
    with pytest.raises(ValidationError, match=r"suite\.json:1:1: not JSON"):
        load(path)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "[1,]", "{'a': 1}", "[1] 2", '"a\tb"', "01"])
def test_a_json_file_has_no_extensions(tmp_path: Path, word: str) -> None:
    path = tmp_path / "suite.json"
    path.write_text(word)
    with pytest.raises(ValidationError, match="not JSON"):
        load(path)


def test_a_million_values_are_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dfah_cli.loading.json_text.MAX_NODES", 10)
    assert len(loads("[" + ",".join("1" * 9) + "]").value) == 9
    for text in ("[" + ",".join("1" * 10) + "]", "- 1\n" * 10):
        with pytest.raises(ValidationError, match="more than 10 values"):
            loads(text)


def test_a_utf8_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert load(path).value == {"a": 1}


def test_floats_stay_finite_and_integers_stay_integers() -> None:
    value = loads("[1, 1.0, -1, 0.1]").value
    assert [type(item) for item in value] == [int, float, int, float]
    assert all(math.isfinite(item) for item in value)


def test_the_loader_refuses_with_the_error_of_a_wrong_request() -> None:
    assert issubclass(ValidationError, ConfigurationError)
