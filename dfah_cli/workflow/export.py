"""Files for other people and tools: replaced as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from dfah_cli.errors import ConfigurationError, OptionalDependencyError
from dfah_cli.report.record import ReportColumns


def write_export(path: str | Path, text: str) -> Path:
    """The text at `path`, owner-only, replaced atomically; missing parent directories are made.

    Raises: ConfigurationError when the place cannot be written.
    """
    place = Path(path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists() and not place.is_file():
            # A terminal, a pipe or /dev/stdout cannot be replaced.
            place.write_text(text, encoding="utf-8")
            return place
        number, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".tmp")
        _fill(number, name, text, place)
    except OSError as problem:
        raise ConfigurationError(f"{place}: cannot be written ({problem.strerror})") from None
    return place


def _fill(number: int, name: str, text: str, place: Path) -> None:
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_html(path: str | Path, report: ReportColumns) -> Path:
    """One self-contained page at `path`."""
    from dfah_cli.render.html import render_html

    return write_export(path, render_html(report))


def export_every_eval_ever(*arguments: Any, **named: Any) -> NoReturn:
    """Not part of this version.

    Raises: OptionalDependencyError always.
    """
    raise OptionalDependencyError(
        "the every-eval-ever exporter is not part of this version; use `dfah report RUN -o run.json`"
    )


def validate_every_eval_ever(*arguments: Any, **named: Any) -> NoReturn:
    """Not part of this version.

    Raises: OptionalDependencyError always.
    """
    raise OptionalDependencyError("the every-eval-ever validator is not part of this version")
