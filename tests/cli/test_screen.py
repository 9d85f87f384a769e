from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest

from dfah_cli.cli.edge import EXIT_CODES, exit_code_of, guarded
from dfah_cli.cli.screen import Form, Screen, form_for
from dfah_cli.errors import ConfigurationError, DFAHError, ExitCode, GateViolationError, LeaseError, StorageError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environment", "as_json", "form"),
    [
        (True, {}, False, Form.TABLES),
        (False, {}, False, Form.LINES),
        (True, {"CI": "true"}, False, Form.LINES),
        (True, {"CI": "0"}, False, Form.TABLES),
        (False, {"FORCE_COLOR": "1"}, False, Form.TABLES),
        (False, {"FORCE_COLOR": "1", "CI": "1"}, False, Form.LINES),
        (True, {}, True, Form.JSON),
    ],
)
def test_the_form_follows_terminal_ci_and_json(
    terminal: bool, environment: dict[str, str], as_json: bool, form: Form
) -> None:
    assert form_for(Terminal() if terminal else io.StringIO(), environment, as_json=as_json) is form


class Broken(io.StringIO):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str) -> int:
        raise OSError(self.number, "x")


def test_a_reader_that_left_is_ignored_from_then_on() -> None:
    screen = Screen(out=Broken(errno.EPIPE), err=io.StringIO(), environment={})
    screen.line("a")
    screen.line("b")


def test_a_full_disk_is_said_once() -> None:
    screen = Screen(out=Broken(errno.ENOSPC), err=io.StringIO(), environment={})
    with pytest.raises(StorageError, match="standard output"):
        screen.line("a")
    screen.line("b")


def test_a_table_shows_markup_as_text() -> None:
    out = Terminal()
    Screen(out=out, err=io.StringIO(), environment={"NO_COLOR": "1"}).table(("case",), [["[red]x[/red] [/x]"]])
    assert "[red]x[/red] [/x]" in out.getvalue()


def test_a_column_is_named_for_people_on_a_terminal_and_for_programs_elsewhere() -> None:
    shown, piped = Terminal(), io.StringIO()
    for out in (shown, piped):
        Screen(out=out, err=io.StringIO(), environment={"NO_COLOR": "1"}).table(
            ("dar", "not_counted"), [["1.000", "2"]]
        )
    assert "DAR" in shown.getvalue()
    assert "not counted" in shown.getvalue()
    assert piped.getvalue() == "dar=1.000 not_counted=2\n"


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (ConfigurationError("x"), 2),
        (GateViolationError("x"), 1),
        (LeaseError("x"), 5),
        (StorageError("x"), 4),
        (DFAHError("x"), 2),
        (KeyboardInterrupt(), 130),
        (OSError(errno.EIO, "x"), 4),
        (ZeroDivisionError("x"), 70),
        (RecursionError(), 70),
        (MemoryError(), 70),
        (GeneratorExit("a panic in an extension module is no Exception either"), 70),
        (ExceptionGroup("x", [ValueError()]), 70),
    ],
)
def test_whatever_is_raised_becomes_a_line_and_a_code(
    problem: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DFAH_TRACEBACK", raising=False)

    def act() -> int:
        raise problem

    assert guarded("dfah x", act) == code
    told = capsys.readouterr().err
    assert told.startswith("dfah x: ")
    assert len(told.splitlines()) == 1


def test_a_directory_that_is_gone_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert guarded("dfah x", lambda: len(os.getcwd())) == 4
    assert capsys.readouterr().err == "dfah x: the current directory is gone; change to another one\n"


def test_every_code_has_a_meaning() -> None:
    assert [code for code, _ in EXIT_CODES] == sorted(int(code) for code in ExitCode)


def test_an_error_of_several_lines_names_the_program_on_each(capsys: pytest.CaptureFixture[str]) -> None:
    def act() -> int:
        raise ConfigurationError("a.yaml:1:1: one\na.yaml:2:1: two \x1b[31m")

    assert guarded("dfah x", act) == 2
    assert capsys.readouterr().err == "dfah x: a.yaml:1:1: one\ndfah x: a.yaml:2:1: two \\x1b[31m\n"


def test_the_code_of_a_gate_is_replaced_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DFAH_GATE_EXIT_CODE", "42")
    assert exit_code_of(GateViolationError("x")) == 42
    assert exit_code_of(ConfigurationError("x")) == 2


def test_facts_are_words_on_a_terminal_and_pairs_elsewhere() -> None:
    for environment, told in (({"FORCE_COLOR": "1"}, "log n 3 - run a b"), ({}, 'log_n=3 run="a b"')):
        out = io.StringIO()
        Screen(out=out, err=io.StringIO(), environment=environment).fact(log_n=3, run="a b", nothing=None)
        assert out.getvalue() == told + "\n"


def test_a_table_in_a_pipe_has_keys_without_blanks_and_a_remark_is_a_fact() -> None:
    out = io.StringIO()
    screen = Screen(out=out, err=io.StringIO(), environment={})
    screen.table(("same path", "to fix it"), [("3 of 5", "")])
    screen.remarks("one run beside this one", "another")
    assert out.getvalue() == ('same_path="3 of 5" to_fix_it=""\nremark="one run beside this one"\nremark=another\n')


def test_a_sentence_is_broken_between_words_on_a_terminal_and_nowhere_else() -> None:
    told = "six episodes recorded in .dfah/runs/toy-risk-2ddc8aed95d5"
    for environment, lines in (({"FORCE_COLOR": "1", "COLUMNS": "40", "TERM": "dumb"}, 2), ({}, 1)):
        out = io.StringIO()
        Screen(out=out, err=io.StringIO(), environment=environment).prose(told)
        assert out.getvalue().split() == told.split()
        assert out.getvalue().count("\n") == lines


def test_a_terminal_that_does_not_know_its_width_is_no_terminal_without_columns() -> None:
    out = io.StringIO()
    Screen(out=out, err=io.StringIO(), environment={"FORCE_COLOR": "1", "COLUMNS": "0"}).prose("one sentence")
    assert out.getvalue() == "one sentence\n"
