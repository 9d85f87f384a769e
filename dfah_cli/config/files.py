"""A config file -> plain value, read by the strict loader and checked against the schema of its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfah_cli.config.groups import GROUPS
from dfah_cli.errors import ValidationError
from dfah_cli.loading import strict_yaml
from dfah_cli.loading.source import Document
from dfah_cli.loading.validate import lines, located, problems

# Keys of a config file that compose it and are no part of what it says.
COMPOSING = ("defaults",)


def read_config(path: Path, kind: str) -> dict[str, Any]:
    """The plain value of a config file, its defaults list included.

    Raises: ConfigurationError, one line for each problem, each with `file:line:column`.
    """
    document = strict_yaml.load(path)
    refusals = config_refusals(document, kind)
    if refusals:
        raise ValidationError(lines(refusals))
    value: dict[str, Any] = document.value
    return value


def config_refusals(document: Document, kind: str) -> list[str]:
    """Everything wrong with a config file, each with its place."""
    if "# @package" in document.source.text[:512]:
        return [f"{document.place(())}: a package line is not read: the folder says where the file stands; remove it"]
    value = document.value
    body = {key: item for key, item in value.items() if key not in COMPOSING} if isinstance(value, dict) else value
    found = problems(body, kind, lenient=True)
    refusals = [located(document, problem) for problem in found]
    return refusals + _defaults_refusals(document)


def _defaults_refusals(document: Document) -> list[str]:
    """What Hydra would refuse in a defaults list without saying where."""
    value = document.value
    if not isinstance(value, dict) or "defaults" not in value:
        return []
    entries = value["defaults"]
    if not isinstance(entries, list):
        return [f"{document.place(('defaults',))}: defaults: not a list"]
    return [
        f"{document.place(('defaults', index))}: defaults: {reason}"
        for index, entry in enumerate(entries)
        if (reason := _entry_refusal(entry)) is not None
    ]


def _entry_refusal(entry: Any) -> str | None:
    if isinstance(entry, str):
        return None
    if not isinstance(entry, dict) or len(entry) != 1:
        return "an entry is the name of a config, or one 'group: option'"
    ((key, option),) = entry.items()
    group = key.split(" ")[-1]
    if "@" in group:
        return "the place of a group is fixed; leave out '@…'"
    if group not in GROUPS and not group.startswith("hydra/"):
        return f"no group named '{group}'; the groups are {', '.join(GROUPS)}"
    if option is not None and not isinstance(option, str | list):
        return "an option is a name; put it in double quotes"
    return None
