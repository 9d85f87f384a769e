import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.render.text import PLAIN, escape, fact, quoted, spoken, writable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C-017", "C-017"),
        ("naïve 日本", "naïve 日本"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2028b\u00a0c", "a\\u2028b\\xa0c"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_act_on_is_written_as_an_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


@given(st.text(alphabet=st.characters(codec=None)))
def test_escaped_text_is_one_printable_line_and_stays_so(text: str) -> None:
    shown = escape(text)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    assert escape(shown) == shown


@given(st.text(alphabet=st.characters(codec=None)), st.sampled_from(["ascii", "latin-1", "utf-8", "cp1252", "no-such"]))
def test_every_text_can_be_written_in_every_encoding(text: str, encoding: str) -> None:
    shown = writable(escape(text), encoding)
    shown.encode("ascii" if encoding == "no-such" else encoding)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", None])
def test_our_own_signs_fall_back_to_ascii(encoding: str | None) -> None:
    assert writable("DAR ≥ 0.9 — a ⇄ b", encoding) == "DAR >= 0.9 - a <> b"
    for sign, plain in PLAIN.items():
        assert plain.isascii()
        assert len(sign) == 1


def test_letters_that_an_encoding_has_stay() -> None:
    assert writable("naïve · 日", "latin-1") == "naïve · \\u65e5"
    assert writable("naïve —", "utf-8") == "naïve —"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a", "a"), ("", '""'), ("a b", '"a b"'), ('say "x"', '"say \\"x\\""'), ("k=v", '"k=v"'), ("a\nb", '"a\\nb"')],
)
def test_a_value_is_quoted_when_a_line_would_be_split_at_it(value: str, shown: str) -> None:
    assert quoted(value) == shown


def test_a_fact_leaves_out_what_is_none() -> None:
    assert fact(metric="dar", value="0.9", low=None, n=3) == "metric=dar value=0.9 n=3"


def test_a_truth_value_is_a_word_for_people_and_json_for_programs() -> None:
    assert spoken(sealed=True, torn=False) == "sealed yes · torn no"
    assert fact(sealed=True, torn=False) == "sealed=true torn=false"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\x3a\x3aerror::x"),
        (" ::stop-commands::x", r" \x3a\x3astop-commands::x"),
        ("a ##[group]x", r"a \x23\x23[group]x"),
        ("##vso[task.setvariable]x", r"\x23\x23vso[task.setvariable]x"),
        ("std::vector ## C++", "std::vector ## C++"),
    ],
)
def test_no_text_of_a_user_is_a_command_to_a_ci_server(text: str, shown: str) -> None:
    assert escape(text) == shown
    assert escape(escape(text)) == shown
