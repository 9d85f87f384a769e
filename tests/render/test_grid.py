"""Small tables on terminals of any width."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from dfah_cli.render.grid import arranged, fitted, grid, roster

NAMES = ("run", "suite", "told")
ROW = (".dfah/runs/toy-risk-2ddc8aed95d5", "toy-risk 1.0.0", "a sentence of several words")


def shown(names: tuple[str, ...], rows: list[tuple[str | tuple[str, ...], ...]], width: int) -> list[str]:
    return printed(grid(names, rows, width), width)


def printed(renderables: Iterable[RenderableType], width: int) -> list[str]:
    console = Console(file=StringIO(), width=width, markup=False, highlight=False, color_system=None)
    with console.capture() as captured:
        for renderable in renderables:
            console.print(renderable)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_terminal_that_is_wide_enough_shows_one_line_a_row() -> None:
    assert len(shown(NAMES, [ROW, ROW], 90)) == 3


def test_a_path_is_never_broken_where_it_fits_a_line() -> None:
    for width in range(len(ROW[0]) + 8, 90):
        assert any(ROW[0] in line for line in shown(NAMES, [ROW], width)), width


def test_a_row_that_does_not_fit_becomes_a_paragraph_with_its_names() -> None:
    text = " ".join(" ".join(shown(NAMES, [ROW], 40)).split())
    assert text == f"run {ROW[0]} suite {ROW[1]} · told {ROW[2]}"


def test_a_cell_of_two_lines_is_one_bracket_in_a_paragraph() -> None:
    rows: list[tuple[str | tuple[str, ...], ...]] = [("a" * 30, ("0.9", "0.8 – 1.0"))]
    assert shown(("run", "DAR"), rows, 36)[1] == "  DAR 0.9 (0.8 – 1.0)"


def test_what_users_wrote_cannot_begin_a_line_or_a_colour() -> None:
    lines = shown(("case", "told"), [("A\nrun=forged", "\x1b[31mred [bold]x[/]")], 80)
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
    assert "[bold]x[/]" in lines[1]


@given(
    st.lists(st.tuples(*[st.text("ab -", min_size=1, max_size=30)] * 3), min_size=1, max_size=3),
    st.integers(min_value=12, max_value=120),
)
def test_no_letter_is_lost_at_any_width(rows: list[tuple[str, ...]], width: int) -> None:
    found = "".join(shown(NAMES, list(rows), width))
    for letter in "ab":
        wanted = sum(cell.count(letter) for row in rows for cell in row)
        assert found.count(letter) >= wanted


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=6), st.integers(0, 200))
def test_columns_share_the_room_and_keep_their_least(pairs: list[tuple[int, int]], room: int) -> None:
    least = [low for low, _ in pairs]
    widest = [low + more for low, more in pairs]
    widths = fitted(widest, least, room)
    if sum(least) > room:
        assert widths is None
        return
    assert widths is not None
    assert sum(widths) == min(room, sum(widest))
    assert all(low <= width <= high for low, width, high in zip(least, widths, widest, strict=True))


def test_a_roster_shows_a_name_in_full_so_that_it_can_be_copied_and_leaves_out_columns_instead() -> None:
    names = ("run", "suite", "changed")
    rows = [(".dfah/runs/compliance-triage-18e5ada51c68", "compliance-triage 1.0.0", "2026-11-30 18:52")]
    for width in range(50, 100):
        assert rows[0][0] in printed(roster(names, rows, width, ("changed", "suite")), width)[1], width


def test_a_roster_leaves_out_columns_before_it_cuts_names_to_nothing() -> None:
    names = ("run", "suite", "state")
    rows = [("runs/compliance-triage-2026-11-30", "compliance-triage 1.0.0", "sealed")]
    wide, narrow = (printed(roster(names, rows, width, ("suite",)), width) for width in (90, 40))
    assert "runs/compliance-triage-2026-11-30  compliance-triage 1.0.0" in wide[1]
    assert "…" in narrow[1]
    assert narrow[1].split()[0].endswith("2026-11-30")
    assert "suite" in " ".join(narrow[2:])
    assert all(len(line) <= 40 for line in narrow)


def test_columns_that_may_go_save_the_table_in_the_order_given() -> None:
    names, row = ("run", "gap", "cost", "verdict"), ("toy", "a" * 20, "b" * 20, "pass")
    for width, gone in ((80, []), (50, ["gap"]), (24, ["gap", "cost"])):
        lines = printed(grid(names, [row], width, ("gap", "cost")), width)
        assert [name for name in ("gap", "cost") if name not in lines[0]] == gone
        assert (f"shows also: {', '.join(gone)}" in " ".join(lines)) == bool(gone)


def test_a_table_that_nothing_can_save_becomes_paragraphs_with_every_column() -> None:
    text = " ".join(printed(grid(("run", "gap"), [("x" * 40, "y" * 10)], 30, ("gap",)), 30))
    assert "gap" in text
    assert "shows also" not in text


def test_columns_are_as_wide_as_saves_lines() -> None:
    names = ("case", "decision", "kind", "parts at")
    row = (
        "KYC-003",
        "investigate 2, dismiss 1",
        "arguments or results",
        "step 1: check_documents, argument 60… or d7…",
    )
    for width in range(58, 110):
        lines = shown(names, [row], width)
        assert len(lines) <= (4 if width < 63 else 3), (width, lines)


@given(
    st.lists(st.tuples(*[st.text("ab ", min_size=1, max_size=30)] * 3), min_size=1, max_size=3),
    st.integers(min_value=3, max_value=100),
)
def test_arranged_columns_keep_their_least_and_use_the_room(rows: list[tuple[str, ...]], room: int) -> None:
    columns = [[(cell,) for cell in column] for column in zip(*rows, strict=True)]
    widest = [max(len(text) for (text,) in column) for column in columns]
    least = [max(len(word) for (text,) in column for word in text.split(" ")) or 1 for column in columns]
    widths = arranged(columns, widest, least, room)
    if sum(least) > room:
        assert widths is None
        return
    assert widths is not None
    assert sum(widths) == min(room, sum(widest))
    assert all(low <= width <= high for low, width, high in zip(least, widths, widest, strict=True))


def test_a_very_long_text_takes_no_long_time() -> None:
    names = ("run", "why")
    rows: list[tuple[str | tuple[str, ...], ...]] = [("toy", "word " * 20_000)] * 3
    assert len(shown(names, rows, 80)) > 1000
