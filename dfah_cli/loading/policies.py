"""Gate policies by name or path: strictly read, checked against the schema."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import resources, strict_yaml
from dfah_cli.loading.source import Document
from dfah_cli.loading.suites import is_path, record_at
from dfah_cli.loading.validate import check_document
from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, NonInferiorityPolicy, TaskGatePolicy, Waiver

LISTS: dict[str, Any] = {"by_task": TaskGatePolicy, "by_case": CaseGatePolicy, "waivers": Waiver}


def load_policy(source: GatePolicy | str | os.PathLike[str]) -> GatePolicy:
    """A policy from itself, a file, or the name of a gate config of the project or the package.

    Raises: ConfigurationError naming the nearest name, or file, line and column.
    """
    if isinstance(source, GatePolicy):
        return source
    if not isinstance(source, str | os.PathLike):
        raise ConfigurationError(f"a policy is a GatePolicy, a name or a path, not {type(source).__name__}")
    reference = os.fspath(source)
    by_path = is_path(reference) or not isinstance(source, str)
    path = Path(reference) if by_path else resources.find("configs/gate", reference, "gate")
    return policy_of(strict_yaml.load(path))


def policy_of(document: Document) -> GatePolicy:
    """The policy in a loaded document; a key that is null counts as absent.

    Raises: ValidationError, one line for each problem, each with `file:line:column`.
    """
    check_document(document, "gate")
    return record_at(document, (), lambda: policy_from(document.value))


def policy_from(value: dict[str, Any]) -> GatePolicy:
    """The policy in a valid plain value."""
    given = asked_for(value)
    for key, kind in LISTS.items():
        if key in given:
            given[key] = [kind(**entry) for entry in given[key]]
    if "non_inferiority" in given:
        # A baseline that is null was left out, and the record says that it is needed.
        given["non_inferiority"] = NonInferiorityPolicy(**({"baseline": None} | given["non_inferiority"]))
    return GatePolicy(**given)


def asked_for(value: dict[str, Any]) -> dict[str, Any]:
    """What is not null in a plain policy; an object of nulls counts as null."""
    inner = {key: asked_for(item) if isinstance(item, dict) else item for key, item in value.items()}
    return {key: item for key, item in inner.items() if item is not None and item != {}}
