"""Where results go: standard output, in one of three forms, and never to the wrong one.

A terminal gets tables. A pipe, or `CI=true`, gets one fact a line, without colour and without wrapping. `--json` gives
one document. A reader that goes away (`| head`) is no error; a full disk is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from dfah_cli.errors import StorageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

HEIGHT = 25
FALSE = ("", "0", "false", "no", "off")


class Form(StrEnum):
    """How results are shown."""

    TABLES = "tables"
    LINES = "lines"
    JSON = "json"


def is_set(environment: Mapping[str, str], name: str) -> bool:
    """Whether a switch of the environment is on."""
    return environment.get(name, "").strip().lower() not in FALSE


def form_for(stream: IO[str], environment: Mapping[str, str], *, as_json: bool = False) -> Form:
    """The form that suits a stream."""
    if as_json:
        return Form.JSON
    if is_set(environment, "CI"):
        return Form.LINES
    if is_set(environment, "FORCE_COLOR") or is_terminal(stream):
        return Form.TABLES
    return Form.LINES


class Screen:
    """One command's standard output and standard error."""

    def __init__(
        self,
        *,
        as_json: bool = False,
        out: IO[str] | None = None,
        err: IO[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.out = out or sys.stdout or nowhere()
        self.err = err or sys.stderr or nowhere()
        self.environment = os.environ if environment is None else environment
        self.form = form_for(self.out, self.environment, as_json=as_json)
        self._gone = False

    @property
    def tables(self) -> bool:
        return self.form is Form.TABLES

    @property
    def json(self) -> bool:
        return self.form is Form.JSON

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self.console(self.out).width

    def line(self, text: str = "") -> None:
        """One line of text on standard output, as its encoding can write it."""
        from dfah_cli.render.text import writable

        self._write(writable(text, getattr(self.out, "encoding", None)) + "\n")

    def lines(self, texts: Iterable[str]) -> None:
        """Several lines."""
        for text in texts:
            self.line(text)

    def fact(self, **pairs: object) -> None:
        """One line of facts: words on a terminal, `key=value` elsewhere."""
        from dfah_cli.render.text import fact, spoken

        if self.tables:
            self.prose(spoken(**pairs))
        else:
            self.line(fact(**pairs))

    def prose(self, *texts: str) -> None:
        """Sentences: broken between their words on a terminal, one line each elsewhere."""
        if not self.tables:
            self.lines(texts)
            return
        from rich.text import Text

        self.show(map(Text, texts))

    def remarks(self, *texts: str) -> None:
        """Sentences on a terminal, facts of their own elsewhere."""
        if self.tables:
            self.prose(*texts)
            return
        for text in texts:
            self.fact(remark=text)

    def document(self, value: Any) -> None:
        """One JSON document."""
        from dfah_cli.render.json import json_text

        self._write(json_text(value))

    def show(self, renderables: Iterable[RenderableType]) -> None:
        """Rich renderables on standard output."""
        from dfah_cli.render.text import writable

        console = self.console(self.out)
        for renderable in renderables:
            with console.capture() as captured:
                console.print(renderable)
            self._write(writable(captured.get(), getattr(self.out, "encoding", None)))

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[str]], spare: Sequence[str] = ()) -> None:
        """A small table: aligned on a terminal that is wide enough for it, `column=value` lines elsewhere.

        spare: columns that a narrow terminal can do without, the least important first.
        """
        from dfah_cli.render.text import fact

        names, cells = list(columns), [list(row) for row in rows]
        if not self.tables:
            keys = [name.replace(" ", "_") for name in names]
            self.lines(fact(**dict(zip(keys, row, strict=True))) for row in cells)
            return
        from dfah_cli.render.grid import grid, heading

        self.show(grid([heading(name) for name in names], cells, self.width, [heading(name) for name in spare]))

    def note(self, text: str) -> None:
        """One line on standard error; lost when nobody can read it."""
        from dfah_cli.render.text import writable

        quietly(lambda: print(writable(text, getattr(self.err, "encoding", None)), file=self.err, flush=True))

    def console(self, stream: IO[str]) -> Console:
        """A Rich console that takes no text of ours or of the user's for markup."""
        from shutil import get_terminal_size

        from rich.console import Console

        columns = self.environment.get("COLUMNS", "")
        # Rich takes a terminal without cursor for 80 columns wide, whatever COLUMNS says, unless both sizes are given;
        # and it believes a COLUMNS of 0, which elsewhere means that nobody knows.
        given = columns.isdecimal()
        width, height = (int(columns) or get_terminal_size().columns, HEIGHT) if given else (None, None)
        return Console(
            width=width,
            height=height,
            file=stream,
            markup=False,
            highlight=False,
            emoji=False,
            force_terminal=True if self.tables else None,
            no_color=is_set(self.environment, "NO_COLOR") or None,
            soft_wrap=False,
            legacy_windows=False,
        )

    def flush(self) -> None:
        """Everything written so far has left the process.

        Raises: StorageError when it could not.
        """
        self._write("")

    def _write(self, text: str) -> None:
        if self._gone:
            return
        try:
            self.out.write(text)
            self.out.flush()
        except BrokenPipeError:
            self._give_up()
        except (OSError, ValueError) as problem:
            # ValueError: an adapter has closed the stream.
            self._give_up()
            why = getattr(problem, "strerror", None) or "it is closed"
            raise StorageError(
                f"standard output could not be written ({why}). What is recorded is safe; "
                "`dfah analyze RUN` shows the result again"
            ) from None

    def _give_up(self) -> None:
        self._gone = True
        abandon(self.out)


def nowhere() -> IO[str]:
    """A stream that nobody reads, for a descriptor that was closed before we began."""
    return open(os.devnull, "w", encoding="utf-8")


def is_terminal(stream: IO[str]) -> bool:
    """Whether a stream is a terminal; a closed one is not."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def abandon(stream: IO[str] | None) -> None:
    """The stream leads nowhere from now on, so that the interpreter's last flush cannot fail."""
    if stream is None:
        return
    try:
        number = os.open(os.devnull, os.O_WRONLY)
        os.dup2(number, stream.fileno())
        os.close(number)
    except (OSError, ValueError):
        return


def quietly(act: Callable[[], object]) -> None:
    """What cannot be said on standard error cannot be complained about anywhere."""
    try:
        act()
    except (OSError, ValueError):
        return
