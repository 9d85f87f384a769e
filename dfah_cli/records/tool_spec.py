"""The declared contract of one tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Attribute, field, frozen

from dfah_cli.errors import ValidationError
from dfah_cli.records import fields, json_schema


def _object_schema(instance: ToolSpec, attribute: Attribute[Any], value: Any) -> None:
    fields.json_map(instance, attribute, value)
    json_schema.check(value, f"ToolSpec.{attribute.name}")
    if value.get("type") != "object":
        raise ValidationError(
            f'ToolSpec.{attribute.name}: found no "type": "object" at the top; arguments are an object'
        )


@frozen(kw_only=True)
class ToolSpec:
    """Name, description and Draft 2020-12 schema of a tool's arguments."""

    name: str = field(validator=fields.public_name)
    description: str = field(default="", validator=fields.prose)
    input_schema: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=_object_schema)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def validate_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Nothing, when the arguments satisfy the schema.

        Raises: ValidationError (a ValueError) naming location and keyword, never the value.
        """
        if not isinstance(arguments, Mapping):
            raise ValidationError(
                f"arguments of tool {self.name}: found {fields.kind_of(arguments)}; expected an object"
            )
        problem = json_schema.first_problem(self.input_schema, dict(arguments))
        if problem:
            raise ValidationError(f"arguments of tool {self.name}: {problem}")
