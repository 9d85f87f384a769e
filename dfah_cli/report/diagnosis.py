"""Why a run is not stable, as rows of strings: causes, tools to blame, paths taken, what served the replays. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, frozen

from dfah_cli.metrics.backends import BackendTable
from dfah_cli.metrics.diagnosis import RunDiagnosis, diagnose_run
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.table import EpisodeTable
from dfah_cli.report import words

SHOWN = 8
"""Rows of a table for people; the JSON value has all of them up to `KEPT`."""
KEPT = 100


@frozen(kw_only=True)
class DiagnosisTable:
    """One table. title: a sentence that says what a row is. rest: rows left out."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    rest: int = 0


@frozen(kw_only=True)
class Diagnosis:
    """The diagnosis of a run: tables for people, and the same as one JSON value."""

    tables: tuple[DiagnosisTable, ...]
    document: Mapping[str, Any]


def diagnosis(table: EpisodeTable, run: RunMeasurement) -> Diagnosis:
    """The diagnosis of a verified run; the table must have kept its paths."""
    found = diagnose_run(table, run)
    tables = (_causes(found), _blame(found), _variants(found), _backends(found.backends))
    return Diagnosis(tables=tuple(one for one in tables if one is not None), document=_document(found))


def _table(key: str, title: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> DiagnosisTable | None:
    if not rows:
        return None
    shown = tuple(rows[:SHOWN])
    return DiagnosisTable(key=key, title=title, columns=tuple(columns), rows=shown, rest=len(rows) - len(shown))


def _causes(found: RunDiagnosis) -> DiagnosisTable | None:
    pairs = sum(times for _, times in found.causes)
    rows = [
        (str(cause.position + 1), str(cause.cause), cause.tool, str(times), _percent(times, pairs))
        for cause, times in found.causes
    ]
    return _table(
        "causes", "Where pairs of replays of a case first differ", ("step", "cause", "tool", "pairs", "share"), rows
    )


def _blame(found: RunDiagnosis) -> DiagnosisTable | None:
    rows = [(tool, f"+{words.share(float(gain))}") for tool, gain in found.blame.items() if gain > 0]
    return _table(
        "blame", "What two replays would agree more in sequence, were one tool ignored", ("tool", "gain"), rows
    )


def _variants(found: RunDiagnosis) -> DiagnosisTable | None:
    if len(found.variants) < 2:
        return None
    rows = [
        (" → ".join(one.path) or "no call", str(one.count), _percent(one.count, _replays(found)), str(one.cases),
         ", ".join(f"{label} {times}" for label, times in one.decisions))
        for one in found.variants
    ]  # fmt: skip
    return _table("variants", "Paths by tool names", ("path", "replays", "share", "cases", "decisions"), rows)


def _replays(found: RunDiagnosis) -> int:
    return sum(one.count for one in found.variants)


def _backends(found: BackendTable | None) -> DiagnosisTable | None:
    if found is None:
        return None
    rows: list[tuple[str, ...]] = [
        (row.name, str(row.replays), str(row.cases), _of(row.within.decision, row.within.pairs),
         _of(row.within.path, row.within.pairs))
        for row in found.rows
    ]  # fmt: skip
    different = found.different
    rows.append(
        ("pairs of two backends", words.UNAVAILABLE, str(found.several), _of(different.decision, different.pairs),
         _of(different.path, different.pairs))
    )  # fmt: skip
    if found.unknown:
        rows.append(("not recorded", str(found.unknown), *[words.UNAVAILABLE] * 3))
    title = f"What served the replays. {backends_sentence(same=asdict(found.same), different=asdict(different))}"
    return _table("backends", title, ("backend", "replays", "cases", "same decision", "same path"), rows)


def backends_sentence(*, same: Mapping[str, int], different: Mapping[str, int]) -> str:
    """Whether instability coincides with a change of backend, in counts of pairs of replays."""
    if not different["pairs"]:
        return "No case was served by two backends: instability cannot coincide with a change."
    return (
        f"Pairs of replays from one backend took one path in {_of(same['path'], same['pairs'])}, pairs from two in "
        f"{_of(different['path'], different['pairs'])}; one decision in {_of(same['decision'], same['pairs'])} and "
        f"{_of(different['decision'], different['pairs'])}. A coincidence is not a cause."
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else words.UNAVAILABLE


def _document(found: RunDiagnosis) -> dict[str, Any]:
    return {
        "causes": [
            {"step": cause.position + 1, "cause": str(cause.cause), "tool": cause.tool, "pairs": times}
            for cause, times in found.causes[:KEPT]
        ],
        "first_divergences": [{"step": at + 1, "cases": cases} for at, cases in found.first_divergences],
        "blame": {tool: float(gain) for tool, gain in found.blame.items()},
        "variants": [
            {"path": list(one.path), "replays": one.count, "cases": one.cases, "decisions": dict(one.decisions)}
            for one in found.variants[:KEPT]
        ],
        "backends": None if found.backends is None else asdict(found.backends),
    }
