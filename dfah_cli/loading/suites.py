"""Suites by name or path: strictly read, checked against the schema, built with the place of every refusal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen

from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.loading import resources, strict_yaml
from dfah_cli.loading.source import Document
from dfah_cli.loading.source import Path as ValuePath
from dfah_cli.loading.validate import check_document, lines
from dfah_cli.records.case import Case
from dfah_cli.records.suite import Suite
from dfah_cli.records.tool_spec import ToolSpec

R = TypeVar("R")


@frozen
class SuiteFile:
    """A suite that can be asked for by name. origin: `project` or `packaged`."""

    name: str
    path: Path
    origin: str


def load_suite(source: Suite | str | os.PathLike[str]) -> Suite:
    """A suite from itself, a file, or the name of a project's or packaged suite.

    A string is a path when it holds a `/` or ends in .yaml, .yml or .json; a file `suites/NAME.yaml` of the current
    directory hides the packaged suite of that name.
    Raises: ConfigurationError naming the nearest name, or file, line and column.
    """
    if isinstance(source, Suite):
        return source
    return suite_of(strict_yaml.load(suite_path(source)))


def suite_path(source: str | os.PathLike[str]) -> Path:
    """The file that a suite reference means."""
    if not isinstance(source, str | os.PathLike):
        raise ConfigurationError(f"a suite is a Suite, a name or a path, not {type(source).__name__}")
    reference = os.fspath(source)
    if isinstance(source, str) and not is_path(reference):
        return resources.find("suites", reference, "suite")
    return Path(reference)


def is_path(reference: str) -> bool:
    """Whether a suite reference is a path rather than a name."""
    return os.sep in reference or reference.endswith(resources.SUFFIXES)


def list_suites() -> list[SuiteFile]:
    """The suites that have a name, sorted; a project's own hide packaged ones."""
    found: dict[str, SuiteFile] = {}
    for folder in reversed(resources.folders("suites")):
        found.update({name: SuiteFile(name, path, folder.origin) for name, path in folder.files().items()})
    return [found[name] for name in sorted(found)]


def suite_of(document: Document) -> Suite:
    """The suite in a loaded document.

    Raises: ValidationError, one line for each problem, each with `file:line:column`.
    """
    suite = _quick(document.value)
    if suite is not None:
        return suite
    # Something is wrong: the schema first, because it names unknown keys and every wrong type.
    check_document(document, "suite")
    value = document.value
    refusals: list[str] = []
    tools = _built(ToolSpec, document, "tools", refusals)
    cases = _built(Case, document, "cases", refusals)
    if refusals:
        raise ValidationError(lines(refusals))
    others = {key: item for key, item in value.items() if key not in ("tools", "cases")}
    return record_at(document, (), lambda: Suite(**others, tools=tools, cases=cases))


def _quick(value: Any) -> Suite | None:
    """The suite of a value, when nothing is wrong with it: the records check all that the schema does."""
    if not isinstance(value, dict) or any(type(value.get(key, [])) is not list for key in ("tools", "cases")):
        return None
    try:
        built = {
            "tools": [ToolSpec(**fields) for fields in value.get("tools", ())],
            "cases": [Case(**fields) for fields in value.get("cases", ())],
        }
        return Suite(**{**value, **built})
    except (ValidationError, TypeError):
        return None


def _built(kind: type[R], document: Document, key: str, refusals: list[str]) -> list[R]:
    built: list[R] = []
    for index, fields in enumerate(document.value.get(key, ())):
        try:
            built.append(record_at(document, (key, index), lambda fields=fields: kind(**fields)))  # type: ignore[misc]
        except ValidationError as refusal:
            refusals.append(str(refusal))
    return built


def record_at(document: Document, path: ValuePath, build: Callable[[], R]) -> R:
    """A record built from the part of a document at `path`.

    Raises: ValidationError of the record, with the place of the field it names.
    """
    try:
        return build()
    except ValidationError as refusal:
        field = str(refusal).partition(":")[0].partition(".")[2].partition("[")[0].partition(".")[0]
        place = document.place((*path, field) if field else path)
        raise ValidationError(f"{place}: {refusal}") from None


def suite_value(suite: Suite) -> dict[str, Any]:
    """The suite as the plain value of a suite file."""
    from dfah_cli.records.codec import plain

    value = plain(suite)
    assert isinstance(value, dict)
    return value
