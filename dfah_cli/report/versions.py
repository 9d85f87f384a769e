"""The versions a recorded report may have, and what today's report was in each of them. Pure.

A column is added, or computed in another way, in a new version only. What stays away in earlier ones stands in `FORMS`;
`docs/decisions/0009-versions-of-documents.md` says why, and `tests/frozen/` holds reports of every version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, fields_dict, frozen

from dfah_cli.records.versions import known_version, version_order

if TYPE_CHECKING:
    from dfah_cli.report.record import ReportColumns

R = TypeVar("R", bound="ReportColumns")

_STATED = b'\n  "schema_version": "'  # only the report's own stands at the beginning of a line


@frozen
class Form:
    """A version, and the columns that are not in it."""

    version: str
    without: tuple[str, ...] = ()


FORMS = (
    Form("1.1"),
    # Columns were counted by versions from 1.1 on only, so 1.0 was recorded in two forms.
    Form("1.0"),
    Form("1.0", ("replay_spread",)),
)
VERSIONS = tuple(sorted({form.version for form in FORMS}, key=version_order))
CURRENT = FORMS[0].version


def as_of(report: R, form: Form) -> R:
    """What the report says in the words of an earlier version."""
    if form == Form(report.schema_version):
        return report
    absent: dict[str, Any] = {name: fields_dict(type(report))[name].default for name in form.without}
    return evolve(report, schema_version=form.version, **absent)


def forms_of(version: object, where: str) -> tuple[Form, ...]:
    """The forms that reports of a version may have.

    Raises: NewerVersionError for a version that is not known yet; ArtifactError for what is none.
    """
    stated = known_version(version, VERSIONS, where)
    return tuple(form for form in FORMS if form.version == stated)


def stated_version(payload: bytes) -> str | None:
    """The version that a recorded report says it has; it only chooses what every byte is then compared with."""
    at = payload.rfind(_STATED)
    start = at + len(_STATED)
    return None if at < 0 else payload[start : payload.find(b'"', start)].decode("ascii", "replace")
