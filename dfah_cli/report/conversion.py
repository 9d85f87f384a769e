"""Converters of the report's enum fields: a string value becomes the member; the rest is left to the validator."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from dfah_cli.records.enums import ReplayMode, ReportStatus


def member(value: Any, kind: type[StrEnum]) -> Any:
    """The member with that string value; everything else unchanged."""
    try:
        return kind(value) if type(value) is str else value
    except ValueError:
        return value


def to_status(value: Any) -> Any:
    """A `ReportStatus` from its string value."""
    return member(value, ReportStatus)


def to_mode(value: Any) -> Any:
    """A `ReplayMode` from its string value."""
    return member(value, ReplayMode)
