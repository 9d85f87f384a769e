"""Every field of every recorded document, version by version: none is added, taken away or renamed without a version.

A failure here means: read docs/decisions/0009-versions-of-documents.md, and do what it says for this kind of document.
Entries of versions that are already in `fields.json` are never edited.
"""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest

from dfah_cli.evidence.shapes import CALL, USAGE
from dfah_cli.gate import record as gate
from dfah_cli.records.journal import episode_body
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.policy import GatePolicy
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.report import versions as report
from dfah_cli.report.baseline import Baseline
from dfah_cli.report.file import DERIVED, IDENTITY
from dfah_cli.report.record import ReportColumns
from dfah_cli.store.layout import SEAL_VERSION, Head, Seal
from dfah_cli.store.vocabulary import FORMAT_VERSION, RECORD_TYPES
from tests.builders import an_episode

KEPT: dict[str, Any] = json.loads((Path(__file__).parent / "fields.json").read_text("utf-8"))


def paths(kind: Any, place: str = "") -> list[str]:
    """Fields as they stand in a document; `?` behind what is left out at its default."""
    if attrs.has(kind):
        hints = typing.get_type_hints(kind)
        return [
            path
            for field in attrs.fields(kind)
            if field.init
            for path in paths(hints[field.name], f"{place}.{field.name}" + "?" * ("late" in field.metadata))
        ]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        (one,) = {argument for argument in arguments if argument not in (type(None), str)} or {str}
        return paths(one, place)
    return paths(arguments[0], f"{place}[]") if origin is tuple else [place.removeprefix(".")]


def keys(value: Any, place: str = "") -> list[str]:
    """The same of a JSON value."""
    if isinstance(value, dict):
        return [path for key, item in value.items() for path in keys(item, f"{place}.{key}")]
    if isinstance(value, list):
        return sorted({path for item in value for path in keys(item, f"{place}[]")})
    return [place.removeprefix(".")]


def of_report() -> list[str]:
    return sorted([*paths(ReportColumns), *IDENTITY, *DERIVED])


def of_log() -> dict[str, Any]:
    types_of = {
        name: [*sorted(known.required), *sorted(f"{field}?" for field in known.allowed - known.required)]
        for name, known in RECORD_TYPES.items()
    }
    written = episode_body(an_episode("contract_error"), ordinal=0, key="0" * 64, parameters_sha256="0" * 64)
    whole = episode_body(an_episode(), ordinal=0, key="0" * 64, parameters_sha256="0" * 64)
    inner = {path for body in (written, whole) for path in keys(body) if "." in path}
    inner |= {f"trajectory.calls[].{name}" for name in CALL} | {f"usage.{name}" for name in USAGE}
    return {"types": types_of, "inside an episode": sorted(inner)}


def of_seal() -> list[str]:
    head = Head(seg=0, len=1, n=1, root="0" * 64)
    return sorted(orjson.loads(Seal(plan_sha256="0" * 64, episodes=1, episode_root="0" * 64, head=head).render()))


VERSIONED = {
    "report": (report.CURRENT, of_report),
    "gate record": (gate.VERSIONS[-1], lambda: sorted(paths(gate.GateRecord))),
    "log": (str(FORMAT_VERSION), of_log),
    "seal": (str(SEAL_VERSION), of_seal),
}
INPUTS = {"plan": RunPlan, "manifest": Manifest, "policy": GatePolicy, "baseline": Baseline}


@pytest.mark.parametrize("document", VERSIONED)
def test_the_fields_of_a_document_are_those_of_its_version(document: str) -> None:
    version, found = VERSIONED[document]
    assert found() == KEPT[document].get(version), f"fields of the {document} changed: it needs a new version"


@pytest.mark.parametrize("document", INPUTS)
def test_what_is_hashed_grows_only_by_fields_that_are_left_out_at_their_default(document: str) -> None:
    assert sorted(paths(INPUTS[document])) == KEPT[document]
    assert [path for path in KEPT[document] if "?" not in path] == KEPT["always hashed"][document]


def test_the_table_of_versions_says_how_the_fields_of_reports_grew() -> None:
    known = KEPT["report"]
    assert list(known) == list(report.VERSIONS)
    for form in report.FORMS:
        absent = {path for path in known[report.CURRENT] if path.partition(".")[0].rstrip("?") in form.without}
        here = set(known[form.version])
        assert set(known[report.CURRENT]) - absent <= here | absent
        assert here <= set(known[report.CURRENT]), "a field is never taken away"
