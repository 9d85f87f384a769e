"""The published JSON Schemas by file kind, with the references between them replaced by what they refer to."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

KINDS = ("run", "suite", "manifest", "replay", "gate", "plan", "engine", "report", "adapters")


@cache
def schema(kind: str) -> dict[str, Any]:
    """The schema of a file kind, self-contained; do not change it."""
    expanded = _expand(_raw(kind))
    assert isinstance(expanded, dict)
    return expanded


def properties(kind: str) -> dict[str, Any]:
    """The keys of a file kind and their schemas."""
    found = schema(kind).get("properties", {})
    assert isinstance(found, dict)
    return found


@cache
def _raw(kind: str) -> Any:
    text = resources.files("dfah_cli.loading.schemas").joinpath(f"{kind}.json").read_text("utf-8")
    return json.loads(text)


def _expand(node: Any) -> Any:
    if isinstance(node, list):
        return [_expand(item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _expand(_referred(node["$ref"]))
    return {key: _expand(item) for key, item in node.items() if key not in ("$id", "$schema")}


def _referred(reference: str) -> Any:
    file_name, _, path = reference.partition("#")
    node = _raw(file_name.removesuffix(".json"))
    for part in path.split("/")[1:]:
        node = node[part]
    return node
