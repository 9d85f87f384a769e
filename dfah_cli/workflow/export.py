"""Files for other people and tools: replaced as a whole or not at all, and never in the place of evidence."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, overload

from dfah_cli.errors import ConfigurationError, StorageError
from dfah_cli.report.record import ReportColumns
from dfah_cli.store.places import RunUrl, place_of, refuse_evidence
from dfah_cli.store.safe_io import storage_errors

DISK_FAILED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def check_place(path: str | Path | RunUrl) -> None:
    """Nothing, when a file can be written at `path`, as far as that can be told without writing.

    For files that are written after a run: before it, a wrong name costs nothing.
    Raises: ConfigurationError.
    """
    place = place_of(path)
    if isinstance(place, RunUrl):
        return
    try:
        refuse_evidence(place)
        problem = _in_the_way(place)
    except OSError as found:
        problem = found.errno
    if problem is not None:
        raise ConfigurationError(f"{place}: cannot be written ({os.strerror(problem)})")


def _in_the_way(place: Path) -> int | None:
    if place.is_dir():
        return errno.EISDIR
    if place.exists() and not place.is_file():
        return _refusal(place, os.W_OK)
    folder = next(parent for parent in place.absolute().parents if os.path.lexists(parent))
    return _refusal(folder, os.W_OK | os.X_OK) if folder.is_dir() else errno.ENOTDIR


def _refusal(target: Path, wanted: int) -> int | None:
    if os.access(target, wanted):
        return None
    return errno.EROFS if os.statvfs(target).f_flag & os.ST_RDONLY else errno.EACCES


@overload
def write_export(path: str | Path, text: str) -> Path: ...


@overload
def write_export(path: str | Path | RunUrl, text: str) -> Path | RunUrl: ...


def write_export(path: str | Path | RunUrl, text: str) -> Path | RunUrl:
    """The text at `path`, owner-only, replaced atomically; missing parent directories are made.

    Raises: ConfigurationError when the place cannot be written.
    """
    place = place_of(path)
    if isinstance(place, RunUrl):
        with storage_errors(f"writing {place}"):
            refuse_evidence(place)
            place.write_bytes(text.encode("utf-8"))
        return place
    return write_chunks(place, [text.encode("utf-8")])


def write_chunks(path: str | Path, chunks: Iterable[bytes]) -> Path:
    """The same for bytes that come one after the other.

    Raises: ConfigurationError when the place cannot be written.
    """
    return write_with(path, lambda file: file.writelines(chunks))


def write_with(path: str | Path, fill: Callable[[IO[bytes]], object]) -> Path:
    """The same for a function that fills an open file.

    Raises: ConfigurationError when the place cannot be written; StorageError when the disk is full or fails.
    """
    place = Path(path)
    try:
        refuse_evidence(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and not place.is_file():
            # A terminal, a pipe or /dev/stdout cannot be replaced.
            with place.open("wb") as file:
                fill(file)
            return place
        number, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=".tmp")
        _replace(number, name, fill, place)
    except OSError as problem:
        kind = StorageError if problem.errno in DISK_FAILED else ConfigurationError
        raise kind(f"{place}: cannot be written ({problem.strerror})") from None
    return place


def _replace(number: int, name: str, fill: Callable[[IO[bytes]], object], place: Path) -> None:
    try:
        with os.fdopen(number, "wb") as file:
            fill(file)
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_html(path: str | Path, report: ReportColumns) -> Path:
    """One self-contained page at `path`."""
    from dfah_cli.render.html import render_html

    return write_export(path, render_html(report))
