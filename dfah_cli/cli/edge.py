"""The one error edge: whatever a command raises becomes one line on standard error and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dfah_cli.cli.screen import abandon, is_set, quietly
from dfah_cli.errors import DFAHError, ExitCode, StorageError

EXIT_CODES = (
    (0, "done; every gate that was asked for passes (shadow mode reports a failing gate and exits 0)"),
    (1, "a blocking gate failed, or check-agent found a violated contract"),
    (
        2,
        "the request is wrong: usage, config, suite, manifest, agent, policy or another design; nothing was dispatched",
    ),
    (3, "the evidence on disk cannot be believed: altered, corrupt, or a report that does not match"),
    (4, "not enough to decide: the run is not complete, a gate is inconclusive, or the disk failed"),
    (5, "another writer holds the run directory, or a stale lease needs --recover-stale-lease"),
    (70, "a bug in this program"),
    (130, "interrupted by the user"),
    (143, "terminated"),
)
MAX_LINE = 4000
LAST_WORD_S = 10.0


class Terminated(BaseException):
    """SIGTERM outside a running session."""


def guarded(name: str, act: Callable[[], int], *, traceback: bool = False) -> int:
    """The exit code of `act`, whatever happens in it.

    name: what the user called, for the message. traceback: show where an unexpected error came from.
    """
    if traceback:
        os.environ["DFAH_TRACEBACK"] = "1"
    try:
        with _sigterm_raises(), _own_streams():
            code = act()
        # Python would print its own complaint, and exit with 120, if the last flush failed after this.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
        return int(ExitCode.OK)
    except DFAHError as problem:
        tell(name, str(problem))
        return exit_code_of(problem)
    except KeyboardInterrupt:
        tell(name, "interrupted")
        return int(ExitCode.INTERRUPTED)
    except Terminated:
        tell(name, "terminated")
        return int(ExitCode.TERMINATED)
    except OSError as problem:
        return _operating_system(name, problem)
    except (Exception, RecursionError) as problem:  # noqa: BLE001 - the edge: nothing may leave as a traceback
        return _bug(name, problem)
    except SystemExit:
        raise
    except BaseException as problem:  # noqa: BLE001 - a panic inside an extension module is no Exception
        return _bug(name, problem)
    return code


def leave_soon(code: int) -> int:
    """The code; the process ends with it within `LAST_WORD_S`, whatever threads and exit hooks an adapter left."""
    last_word = threading.Timer(LAST_WORD_S, os._exit, args=(code,))
    last_word.daemon = True
    last_word.start()
    # Everything goes with the process: on its way out the collector would look through all of it, and free nothing.
    gc.freeze()
    return code


@contextmanager
def _own_streams() -> Iterator[None]:
    """Puts back the standard streams, in whose place an adapter may have put others."""
    streams = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _terminated(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def exit_code_of(problem: DFAHError) -> int:
    """The exit code of a failure; `DFAH_GATE_EXIT_CODE` replaces the 1 of a gate."""
    return replaced(problem.exit_code)


def replaced(code: ExitCode) -> int:
    """The code itself, or what `DFAH_GATE_EXIT_CODE` puts in place of 1.

    Raises: nothing; a value that is no number from 1 to 125 is said on standard error and not used.
    """
    wanted = os.environ.get("DFAH_GATE_EXIT_CODE", "").strip()
    if code is not ExitCode.NO or not wanted:
        return int(code)
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= 125:
        return int(wanted)
    tell("dfah", "DFAH_GATE_EXIT_CODE: expected a whole number from 1 to 125; the code stays 1")
    return int(code)


def tell(name: str, text: str) -> None:
    """One line on standard error: escaped, as its encoding can write it."""
    from dfah_cli.render.text import escape, writable

    shown = [f"{name}: {escape(line)}" for line in text.split("\n") if line.strip()] or [f"{name}: failed"]
    for line in shown:
        quietly(lambda line=line: _print(writable(line[:MAX_LINE], getattr(sys.stderr, "encoding", None))))  # type: ignore[misc]


def _print(line: str) -> None:
    # print would turn to standard output where standard error was closed before we began.
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201


def _operating_system(name: str, problem: OSError) -> int:
    abandon(sys.stdout)
    place = f"{problem.filename}: " if isinstance(problem.filename, str) else ""
    gone = problem.errno == errno.ENOENT and not place and not _is_somewhere()
    told = "the current directory is gone; change to another one" if gone else problem.strerror
    tell(name, f"{place}{told or type(problem).__name__}")
    return int(StorageError.exit_code)


def _is_somewhere() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _bug(name: str, problem: BaseException) -> int:
    if is_set(os.environ, "DFAH_TRACEBACK"):
        import traceback

        quietly(lambda: traceback.print_exception(problem, file=sys.stderr))
        return int(ExitCode.BUG)
    told = _text_of(problem)
    tell(name, f"a bug in this program ({type(problem).__name__}: {told}); --traceback or DFAH_TRACEBACK=1 shows where")
    return int(ExitCode.BUG)


def _text_of(problem: BaseException) -> str:
    try:
        from dfah_cli.redaction import redact

        return redact(" ".join(str(problem).split()))[:300]
    except Exception:  # noqa: BLE001 - the text is another's code, and modules may be gone by now
        return "its text could not be read"
