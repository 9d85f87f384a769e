"""What a tool call asks for, made recordable: the one form in which it is judged, executed and recorded. Pure."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from dfah_cli.canonical import copy_json, digest
from dfah_cli.errors import ValidationError
from dfah_cli.records.fields import check_printable
from dfah_cli.redaction import credential_shape, strings_in

UNNAMED = "(unrecordable tool name)"


@frozen
class Unreadable:
    """Stands for arguments or a result that cannot be recorded; `why` is told in place of what was found."""

    why: str


@frozen
class ToolRequest:
    """A call as asked for; `arguments` is a deep copy, None (as is the hash) when they are not JSON."""

    name: str
    arguments: dict[str, Any] | None
    arguments_hash: str | None
    captured: dict[str, Any] | None
    problem: str


def requested(name: object, arguments: dict[str, Any], capture: bool) -> ToolRequest:
    """The call as it is recorded. capture: keep the arguments, unless one has the shape of a credential."""
    recorded = name if isinstance(name, str) and _recordable(name) else UNNAMED
    copied, problem = readable(arguments)
    if copied is None:
        return ToolRequest(str(recorded), None, None, None, problem)
    arguments_hash = digest(copied)
    kept = copy_json(copied) if capture and not any(map(credential_shape, strings_in(copied))) else None
    return ToolRequest(str(recorded), copied, arguments_hash, kept, "")


def readable(arguments: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """A deep copy of the arguments of a call; None, and why, when they are no JSON."""
    why = next((value.why for value in arguments.values() if type(value) is Unreadable), None)
    if why is not None:
        return None, why
    try:
        copied = copy_json(arguments, "arguments")
    except Exception as problem:  # noqa: BLE001 - the arguments are the user's objects, with methods of their own
        found = str(problem) if isinstance(problem, ValidationError) else f"arguments raise {type(problem).__name__}"
        return None, found
    assert isinstance(copied, dict)
    return copied, ""


def _recordable(name: str) -> bool:
    return check_printable(name) is None and credential_shape(name) is None
