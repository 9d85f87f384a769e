"""One input of a suite."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import JSONValue, copy_json
from dfah_cli.records import fields


@frozen(kw_only=True)
class Case:
    """One input and the task it is averaged under.

    case_id: raw and private; exists here and in the adapter only.
    artifact_case_id: its pseudonym, the only id in artifacts; None means that `case_id` itself is persisted.
    input: any JSON value; plain dict and list, a deep copy of what was given.
    """

    case_id: str = field(validator=fields.public_name)
    artifact_case_id: str | None = field(default=None, validator=fields.optional(fields.public_name))
    input: JSONValue = field(converter=fields.to_json, validator=fields.json_value)
    task: str = field(default="default", validator=fields.public_name)
    metadata: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.json_map)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    @property
    def effective_case_id(self) -> str:
        """The only id that leaves the process: the pseudonym, or the raw id where none is given."""
        return self.case_id if self.artifact_case_id is None else self.artifact_case_id

    def fresh(self) -> Case:
        """An equal case with an input and metadata of its own, for one call.

        Nothing is validated again: this case was, and a call must not pay for that.
        """
        twin = object.__new__(Case)
        for name in _SHARED:
            object.__setattr__(twin, name, getattr(self, name))
        object.__setattr__(twin, "input", copy_json(self.input))
        object.__setattr__(twin, "metadata", copy_json(self.metadata))
        return twin


_SHARED = ("case_id", "artifact_case_id", "task", "schema_version")
