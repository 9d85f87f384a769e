"""Files for other people and tools: replaced as a whole or not at all, and never in the place of evidence."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, overload

from dfah_cli.errors import ConfigurationError
from dfah_cli.report.record import ReportColumns
from dfah_cli.store.places import RunUrl, place_of, refuse_evidence
from dfah_cli.store.safe_io import storage_errors


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

    Raises: ConfigurationError when the place cannot be written.
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
        raise ConfigurationError(f"{place}: cannot be written ({problem.strerror})") from None
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
