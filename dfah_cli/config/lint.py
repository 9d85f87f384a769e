"""Config and suite files on their own: strict YAML and the schema of their place, without composing or importing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from dfah_cli.config.files import config_refusals
from dfah_cli.config.groups import GROUPS
from dfah_cli.errors import ConfigurationError, DFAHError
from dfah_cli.loading import strict_yaml
from dfah_cli.loading.files import read_source
from dfah_cli.loading.policies import policy_of
from dfah_cli.loading.resources import SUFFIXES, is_name
from dfah_cli.loading.schema_files import KINDS
from dfah_cli.loading.source import Document
from dfah_cli.loading.suites import suite_of
from dfah_cli.loading.validate import check_document
from dfah_cli.loading.wording import escaped, quoted
from dfah_cli.workflow.lockfile import parse_lock

# How an editor is told the schema; it also says what a file outside the usual folders is.
SCHEMA_LINE = re.compile(r"\A\s*#\s*yaml-language-server:\s*\$schema=\S*?([a-z]+)\.json\s*$", re.MULTILINE)
LOCK = "plans.lock"


def files_in(paths: list[str]) -> list[Path]:
    """The files to look at: those named, and every YAML or JSON file below the folders named.

    Raises: ConfigurationError for a path that does not exist.
    """
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            found += sorted(_below(path))
        elif os.path.lexists(path):
            found.append(path)
        else:
            raise ConfigurationError(f"{escaped(name)}: no such file or folder")
    return list(dict.fromkeys(found))


def _below(top: Path) -> Iterator[Path]:
    for folder, subfolders, files in os.walk(top):
        # Version control, environments and run directories are nobody's configuration.
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in files:
            if name.endswith(SUFFIXES) or name == LOCK:
                yield Path(folder, name)


def kind_of(path: Path, text: str) -> str | None:
    """What a file is, by its folder or by its schema line; None when neither says."""
    folder = path.absolute().parent.name
    if path.name == LOCK:
        return "lock"
    if folder == "suites":
        return "suite"
    if folder in GROUPS:
        return GROUPS[folder].kind
    if folder == "configs":
        return "adapters" if path.stem == "adapters" else "run"
    match = SCHEMA_LINE.search(text[:4096])
    return match[1] if match is not None and match[1] in KINDS else None


def refusals(path: Path) -> list[str]:
    """Everything wrong with one file, one line each; empty when it is valid."""
    try:
        source = read_source(path)
        kind = kind_of(path, source.text)
        if kind == "lock":
            parse_lock(source.text, str(path))
            return []
        document = strict_yaml.load(path)
        return [*_name_refusals(path, kind), *_content_refusals(document, kind)]
    except DFAHError as refusal:
        return str(refusal).splitlines()


def _name_refusals(path: Path, kind: str | None) -> Iterator[str]:
    if kind in (None, "run", "adapters", "plan") or path.absolute().parent.name not in ("suites", *GROUPS):
        return
    if not is_name(path.stem):
        yield (
            f"{escaped(str(path))}: {quoted(path.stem)} cannot be asked for by name; "
            "names are lower-case words joined by '-'"
        )


def _content_refusals(document: Document, kind: str | None) -> list[str]:
    if kind is None:
        return []
    if kind in ("run", "manifest", "replay", "engine", "report"):
        return config_refusals(document, kind)
    if kind == "gate" and isinstance(document.value, dict) and _is_composed(document):
        return config_refusals(document, kind)
    CHECKS[kind](document)
    return []


def _is_composed(document: Document) -> bool:
    """Whether a gate is built on others or interpolates: then its records cannot be made of this file alone."""
    return "defaults" in document.value or "${" in document.source.text


CHECKS: dict[str, Callable[[Document], object]] = {
    "suite": suite_of,
    "gate": policy_of,
    "adapters": lambda document: check_document(document, "adapters"),
    "plan": lambda document: check_document(document, "plan"),
}
