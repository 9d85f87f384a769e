from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dfah_cli.render.wrapping import LEAST_ROOM, hanging, middle

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]), min_size=1, max_size=30)


@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(20, 60), st.sampled_from(["", "│  ├─ ", "   " * 12]))
def test_no_line_is_wider_than_the_terminal_and_no_character_is_lost(pieces: list[str], width: int, lead: str) -> None:
    lines = list(hanging(pieces, width, lead, lead))
    assert all(cell_len(line) <= width for line in lines)
    shown = lead[max(0, len(lead) - (width - LEAST_ROOM)) :]
    text = "".join(line[len(shown.rstrip()) if not line.startswith(shown) else len(shown) :] for line in lines)
    assert text.replace(" ", "") == "".join(pieces).replace(" ", "")


def test_a_piece_is_broken_only_when_no_line_holds_it() -> None:
    assert list(hanging(["aaa bbb", "ccc ddd", "ee"], 16, "├─ ", "│  ")) == ["├─ aaa bbb", "│  ccc ddd ee"]
    assert list(hanging(["one two three four"], 14, "", "  ")) == ["one two three", "  four"]


@given(TEXTS, st.integers(4, 40))
def test_a_name_that_is_cut_keeps_its_beginning_and_its_end(name: str, most: int) -> None:
    shown = middle(name, most)
    if cell_len(name) <= most:
        assert shown == name
    else:
        before, after = shown.split("…", 1) if "…" not in name else (shown[:0], name[-1])
        assert name.startswith(before)
        assert name.endswith(after)
