"""A versioned set of cases, labels and tools."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import Attribute, define, field

from dfah_cli.canonical import digest
from dfah_cli.errors import ValidationError
from dfah_cli.records import fields
from dfah_cli.records.case import Case
from dfah_cli.records.codec import plain
from dfah_cli.records.tool_spec import ToolSpec

if TYPE_CHECKING:
    from pathlib import Path

SHOWN, SHOWN_KEY = 3, 80
LABEL = re.compile(r"[a-z][a-z0-9_]*")
REQUIRED_CHANNELS = ("decision", "trajectory")


def normal_label(label: str) -> str:
    """A label as it is compared: stripped and lower-cased."""
    return label.strip().lower()


def tool_schema_hash(tools: Iterable[ToolSpec]) -> str:
    """Digest of the tool contracts in name order; no tools give the digest of an empty list."""
    return digest([plain(tool) for tool in sorted(tools, key=lambda tool: tool.name)])


def _labels(instance: Suite, attribute: Attribute[Any], value: tuple[Any, ...]) -> None:
    fields.tuple_of(fields.prose, 2)(instance, attribute, value)
    fields.no_credentials(instance, attribute, list(value))
    for label in value:
        # isascii: the Kelvin sign lower-cases to "k".
        if not LABEL.fullmatch(normal_label(label)) or not label.isascii() or not label.isprintable():
            raise fields.refuse(instance, attribute, "a label of another form", "letters, digits and _, a letter first")
    _unique(instance, attribute, (normal_label(label) for label in value), "labels")


def _unique(
    instance: Any, attribute: Attribute[Any], keys: Iterable[str], what: str, private: frozenset[str] = frozenset()
) -> None:
    """private: keys that a message may not quote; their places are told like those of the others."""
    places: dict[str, list[int]] = {}
    for number, key in enumerate(keys, 1):
        places.setdefault(unicodedata.normalize("NFC", key), []).append(number)
    if len(places) < sum(map(len, places.values())):
        hidden = {unicodedata.normalize("NFC", key) for key in private}
        repeated = [
            f"{'one without a pseudonym' if key in hidden else repr(key[:SHOWN_KEY])} at {_places(numbers)}"
            for key, numbers in places.items()
            if len(numbers) > 1
        ]
        more = f" and {len(repeated) - SHOWN} more" if len(repeated) > SHOWN else ""
        told = "; ".join(repeated[:SHOWN]) + more
        raise fields.refuse(instance, attribute, f"{what} that stand more than once ({told})", f"unique {what}")


def _places(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:SHOWN])) + (", …" if len(numbers) > SHOWN else "")


def _cases(instance: Suite, attribute: Attribute[Any], value: tuple[Case, ...]) -> None:
    fields.tuple_of(fields.instance_of(Case), 1)(instance, attribute, value)
    _unique(instance, attribute, (case.effective_case_id for case in value), "case ids",
            frozenset(case.case_id for case in value if case.artifact_case_id is None))  # fmt: skip


def _tools(instance: Suite, attribute: Attribute[Any], value: tuple[ToolSpec, ...]) -> None:
    fields.tuple_of(fields.instance_of(ToolSpec))(instance, attribute, value)
    _unique(instance, attribute, (tool.name for tool in value), "tool names")


def _channels(instance: Suite, attribute: Attribute[Any], value: Any) -> None:
    if type(value) is not tuple or sorted(map(str, value)) != sorted(REQUIRED_CHANNELS):
        raise fields.refuse(instance, attribute, fields.kind_of(value), "exactly decision and trajectory")


def _declared(suite: Suite) -> None:
    """Nothing, when every tool of a parallel set is a tool of the suite; a suite without tools cannot know."""
    unknown = {name for names in suite.parallel for name in names} - {tool.name for tool in suite.tools}
    if unknown and suite.tools:
        raise ValidationError(
            f"Suite.parallel: found {', '.join(sorted(unknown))}; expected names of tools of this suite"
        )


@define(kw_only=True, frozen=True, slots=False)
class Suite:
    """Versioned cases, labels and tools; its two hashes are part of every manifest.

    decisions: labels as spelled; compared stripped and lower-cased. At least 2.
    parallel: sets of tool names; calls of the tools of one set may swap without counting as another path.
    description: for people; takes no part in any hash.
    """

    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    decisions: tuple[str, ...] = field(converter=fields.to_tuple, validator=_labels)
    cases: tuple[Case, ...] = field(converter=fields.to_tuple, validator=_cases)
    tools: tuple[ToolSpec, ...] = field(default=(), converter=fields.to_tuple, validator=_tools)
    required_channels: tuple[str, ...] = field(
        default=REQUIRED_CHANNELS, converter=fields.to_tuple, validator=_channels
    )
    description: str = field(default="", validator=fields.prose)
    schema_version: str = field(default=fields.SCHEMA_VERSION, validator=fields.schema_version)
    parallel: tuple[tuple[str, ...], ...] = field(
        default=(), converter=fields.to_tuples, validator=fields.name_sets, metadata=fields.LATE
    )

    def __attrs_post_init__(self) -> None:
        _declared(self)
        # Both hashes are taken now: later changes to an input dict cannot move the identity of a suite.
        _ = self.fixture_hash, self.tool_schema_hash

    @cached_property
    def fixture_hash(self) -> str:
        """Digest of id, version, labels, cases and channels, and of `parallel` where there is such; not of the
        description or the tools.
        """
        said: dict[str, Any] = {
            "suite_id": self.suite_id,
            "suite_version": self.suite_version,
            "decisions": list(self.decisions),
            "cases": [plain(case) for case in self.cases],
            "required_channels": list(self.required_channels),
        }
        if self.parallel:
            said["parallel"] = [list(names) for names in self.parallel_sets]
        return digest(said)

    @property
    def parallel_sets(self) -> tuple[tuple[str, ...], ...]:
        """`parallel` in the one order that takes part in digests."""
        return tuple(sorted({tuple(sorted(names)) for names in self.parallel}))

    @cached_property
    def tool_schema_hash(self) -> str:
        """Digest of the tool contracts in name order."""
        return tool_schema_hash(self.tools)

    @property
    def ontology(self) -> tuple[str, ...]:
        """The labels in their normal form, in suite order."""
        return tuple(normal_label(label) for label in self.decisions)

    @classmethod
    def load(cls, source: Suite | str | Path) -> Suite:
        """A suite from itself, a file (YAML or JSON), or the name of a packaged or project suite.

        Raises: ConfigurationError naming file, line and column.
        """
        from dfah_cli.loading.suites import load_suite

        return load_suite(source)


def check_size(suite: Suite, nodes: int, limit: int) -> None:
    """Nothing, when the suite is small enough to be handled.

    Raises: ValidationError with both numbers.
    """
    if nodes > limit:
        raise ValidationError(f"Suite.cases: found {nodes} JSON values; expected at most {limit}")
