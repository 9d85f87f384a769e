"""The JSON Schema of the report document, made of the record classes themselves, so that it cannot differ from them."""

from __future__ import annotations

import types
import typing
from datetime import datetime
from enum import Enum
from typing import Any

import attrs

from dfah_cli.metrics.histogram import Histogram
from dfah_cli.report.against import Move, TaskMove
from dfah_cli.report.record import ReportColumns

FORMAT = "dfah-report-1"
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
HEX64 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def report_schema() -> dict[str, Any]:
    """Draft 2020-12 schema of what `--json` and `-o report.json` write."""
    report = of(ReportColumns)
    identity = {"report_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "report_sha256": HEX64}
    derived = {"total_cost_usd": {"type": "number"}, "total_latency_ms": {"type": "number"}}
    report["properties"] = identity | derived | report["properties"]
    report["required"] = [*identity, *derived, *report["required"]]
    number = {"type": ["number", "null"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}",
        "title": "Report of a run; numbers are null, never 0, when nothing is eligible",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "report": report,
            "artifacts_verified": {"type": "boolean"},
            "flags_per_100_cases": number,
            "sequence_flags_per_100_cases": number,
            "tar_partial_order": {"type": ["object", "null"]},
            "gate": {"type": ["object", "null"], "required": ["passed", "verdict", "checks"]},
            "comparison": comparison_schema(),
            "distributions": {"type": "array", "items": distribution_schema()},
        },
        "required": ["format", "report", "artifacts_verified", "flags_per_100_cases", "gate"],
    }


def comparison_schema() -> dict[str, Any]:
    """What the report says beside its baseline; `found` is what `dfah compare --json` has under the same names."""
    told = {
        "base": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "base_name": {"type": "string"},
        "refused": {"type": ["string", "null"]},
        "moves": {"type": "array", "items": of(Move)},
        "tasks": {"type": "array", "items": of(TaskMove)},
        "found": {"type": ["object", "null"]},
    }
    return {"type": ["object", "null"], "properties": told, "required": list(told), "additionalProperties": False}


def distribution_schema() -> dict[str, Any]:
    """What `dfah analyze --times --json` says of one kind of time or cost."""
    told = {
        "of": {"enum": ["latency_us", "cost_nusd"]},
        "kind": {"enum": ["episode", "model", "tool"]},
        "name": {"type": ["string", "null"]},
        "histogram": of(Histogram),
    }
    return {"type": "object", "properties": told, "required": list(told), "additionalProperties": False}


def of(kind: Any) -> dict[str, Any]:
    """The schema of a type as it stands in a file."""
    if attrs.has(kind):
        return _record(kind)
    if kind is Any:
        return {}
    if kind in PLAIN:
        return {"type": PLAIN[kind]}
    if kind is datetime:
        return {"type": "string", "format": "date-time"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return _generic(kind)


def _record(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in attrs.fields(kind) if field.init]
    late = {field.name for field in attrs.fields(kind) if field.metadata.get("late")}
    return {
        "type": "object",
        "properties": {name: of(hints[name]) for name in names},
        "required": [name for name in names if name not in late],
        "additionalProperties": False,
    }


def _generic(kind: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [of(argument) for argument in arguments]}
    if origin is tuple:
        return {"type": "array", "items": of(arguments[0])}
    assert origin is dict, kind
    return {"type": "object", "additionalProperties": of(arguments[1])}
