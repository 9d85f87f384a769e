"""The published JSON Schemas (Draft 2020-12) of what commands print with `--json`, by the `format` that each names.

A format is never changed: a document with other fields has another number at its end.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from dfah_cli.errors import ConfigurationError
from dfah_cli.report.schema import FORMAT, report_schema

FOLDER = "dfah_cli.loading.schemas.documents"


def document_formats() -> tuple[str, ...]:
    """Every format, sorted."""
    files = (entry.name for entry in resources.files(FOLDER).iterdir())
    return tuple(sorted({FORMAT, *(name.removesuffix(".json") for name in files if name.endswith(".json"))}))


def document_schema(name: str) -> dict[str, Any]:
    """The schema of a format, self-contained.

    Raises: ConfigurationError for a format that is not known.
    """
    if name == FORMAT:
        return report_schema()
    if name not in document_formats():
        raise ConfigurationError(f"no document of that format; there are {', '.join(document_formats())}")
    schema = json.loads(resources.files(FOLDER).joinpath(f"{name}.json").read_text("utf-8"))
    assert isinstance(schema, dict)
    return schema
