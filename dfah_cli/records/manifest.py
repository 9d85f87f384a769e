"""The pinned request contract of one adapter on one suite."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from attrs import Attribute, define, field

from dfah_cli.canonical import digest
from dfah_cli.errors import ManifestMismatchError, ValidationError
from dfah_cli.records import fields
from dfah_cli.records.codec import plain
from dfah_cli.records.suite import LABEL, Suite
from dfah_cli.records.wire import WireRequest, same_value


def _ontology(instance: Any, attribute: Attribute[Any], value: tuple[Any, ...]) -> None:
    fields.tuple_of(fields.matching(LABEL, "lower-case labels"), 2)(instance, attribute, value)
    if len(set(value)) != len(value):
        raise fields.refuse(instance, attribute, "a label that stands more than once", "unique labels")


@define(kw_only=True, frozen=True, slots=False)
class Manifest:
    """Everything that must stay the same for two replays to be replays of one thing."""

    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    decision_ontology: tuple[str, ...] = field(converter=fields.to_tuple, validator=_ontology)
    provider: str = field(validator=fields.public_name)
    model: str = field(validator=fields.public_name)
    endpoint: str | None = field(default=None, validator=fields.optional(fields.public_name))
    temperature: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0))
    )
    top_p: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1.0))
    )
    seed: int | None = field(default=None, validator=fields.optional(fields.integer(-(2**63), 2**64 - 1)))
    tool_schema_hash: str = field(validator=fields.digest64)
    fixture_hash: str = field(validator=fields.digest64)
    request_parameters: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.public_json_map)
    adapter: str = field(validator=fields.public_name)
    adapter_version: str | None = field(default=None, validator=fields.optional(fields.public_name))
    library_version: str = field(validator=fields.public_name)
    git_sha: str | None = field(default=None, validator=fields.optional(fields.git_sha))
    implementation_hash: str | None = field(default=None, validator=fields.optional(fields.digest64))
    capture_raw_content: bool = field(default=False, validator=fields.flag)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)

    def __attrs_post_init__(self) -> None:
        if self.git_sha is None and self.implementation_hash is None:
            raise ValidationError(
                "Manifest: found neither git_sha nor implementation_hash; expected one of them, to name the code"
            )
        _ = self.hash

    @cached_property
    def hash(self) -> str:
        """Digest of all fields, nulls included."""
        return digest(plain(self))

    def check_suite(self, suite: Suite) -> None:
        """Nothing, when this manifest was made for the suite.

        Raises: ManifestMismatchError naming every field that differs.
        """
        expected = {
            "suite_id": suite.suite_id,
            "suite_version": suite.suite_version,
            "fixture_hash": suite.fixture_hash,
            "tool_schema_hash": suite.tool_schema_hash,
            "decision_ontology": suite.ontology,
        }
        differing = [name for name, value in expected.items() if getattr(self, name) != value]
        if differing:
            raise ManifestMismatchError(
                f"the agent's manifest does not match suite {suite.suite_id} {suite.suite_version}: "
                f"{', '.join(differing)} differ; build the manifest from this suite"
            )

    def wire_problem(self, wire: WireRequest) -> str | None:
        """Name of the first field in which a wire echo breaks this manifest; None when it matches."""
        if not wire.parameters_attested:
            return "parameters_attested"
        for name in ("provider", "model", "adapter", "adapter_version", "endpoint"):
            if getattr(wire, name) != getattr(self, name):
                return name
        if not same_value(wire.parameters, self.request_parameters):
            return "parameters"
        for name in ("temperature", "top_p", "seed"):
            if not same_value(getattr(self, name), wire.parameters.get(name)):
                return name
        return None

    def validate_wire_request(self, wire: WireRequest) -> None:
        """Nothing, when the echo matches.

        Raises: ValidationError (a ValueError) naming the field that differs.
        """
        problem = self.wire_problem(wire)
        if problem:
            raise ValidationError(f"the wire request differs from the manifest in {problem}")
