"""The JSON of a report, piece by piece: a suite may have hundreds of thousands of cases. Pure.

Cases that differ in nothing but their names are encoded once, because suites have few distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from json import JSONEncoder
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from attrs import evolve

from dfah_cli.canonical import JSONValue
from dfah_cli.records.codec import plain

if TYPE_CHECKING:
    from dfah_cli.report.cases import CaseReport
    from dfah_cli.report.record import ReportColumns

CASES = "case_reports"
AT_ONCE = 1024

Arrange = Callable[[dict[str, JSONValue]], Mapping[str, JSONValue]]
"""The members of a case in the order in which they are written."""

_readable = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_canonical = JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class _Cases:
    """Encodes the cases of one report, which must live as long: parts are told apart by identity."""

    def __init__(self, encode: Callable[[JSONValue], str], arrange: Arrange) -> None:
        self._encode, self._arrange = encode, arrange
        self._known: dict[tuple[object, ...], tuple[str, str]] = {}

    def line(self, case: CaseReport) -> str:
        """The object of one case."""
        alike = (
            *(id(case.tar), id(case.tar_partial_order), id(case.eligibility)),
            *(case.replay_count, case.decision_denominator, case.trajectory_denominator),
            *(case.unanimous_with_sequence_change, case.unanimous_with_path_change, case.schema_version),
            # As text, because 0.0 and -0.0 are equal.
            f"{case.dar!r} {case.gap!r} {case.pairwise_decision!r} {case.pairwise_strong!r}",
        )
        rest = self._known.get(alike)
        if rest is None:
            rest = self._known[alike] = self._rest(case)
        return f'{{"case_id":{encode_basestring(case.case_id)}{rest[0]}{encode_basestring(case.task)}{rest[1]}'

    def _rest(self, case: CaseReport) -> tuple[str, str]:
        """What stands between case and task, and behind the task."""
        members = list(self._arrange(plain(case)).items())
        names = [name for name, _ in members]
        at = names.index("task")
        assert names[0] == "case_id"
        written = [f',"{name}":{self._encode(value)}' for name, value in members]
        return "".join(written[1:at]) + ',"task":', "".join(written[at + 1 :]) + "}"


def summary(report: ReportColumns) -> dict[str, JSONValue]:
    """Every column but the cases, which stand there as an empty array."""
    written: dict[str, JSONValue] = plain(evolve(report, case_reports=()))
    written["total_cost_usd"], written["total_latency_ms"] = report.total_cost_usd, report.total_latency_ms
    return written


def report_digest(report: ReportColumns) -> str:
    """SHA-256 of the canonical JSON of every column: `canonical.digest(report.content)`."""
    columns = summary(report)
    hasher = sha256(b"{")
    for position, name in enumerate(sorted(columns)):
        hasher.update(f"{',' if position else ''}{_canonical(name)}:".encode())
        if name == CASES:
            cases = _Cases(_canonical, lambda case: dict(sorted(case.items())))
            for piece in _array(map(cases.line, report.case_reports), "[", ",", "]"):
                hasher.update(piece.encode())
        else:
            hasher.update(_canonical(columns[name]).encode())
    hasher.update(b"}")
    return hasher.hexdigest()


def readable(report: ReportColumns, arrange: Arrange = lambda case: case) -> Iterator[str]:
    """JSON a person can read, in pieces: identity first, one key a line, one case a line, a final newline."""
    digest = report.report_sha256
    columns = {"report_id": digest[:32], "report_sha256": digest, **summary(report)}
    separator = "{\n"
    for name, value in columns.items():
        yield f"{separator}  {_readable(name)}: "
        separator = ",\n"
        if name == CASES and report.case_reports:
            cases = _Cases(_readable, arrange)
            yield from _array(map(cases.line, report.case_reports), *_BLOCK)
        elif isinstance(value, list) and value:
            yield from _array(map(_readable, value), *_BLOCK)
        else:
            yield _readable(value)
    yield "\n}\n"


_BLOCK = ("[\n    ", ",\n    ", "\n  ]")


def _array(items: Iterable[str], start: str, between: str, end: str) -> Iterator[str]:
    rest, before = iter(items), start
    while piece := list(islice(rest, AT_ONCE)):
        yield before + between.join(piece)
        before = between
    yield end if before == between else start + end


def says(payload: bytes, pieces: Iterable[str]) -> bool:
    """Whether these bytes are the pieces, one behind the other; stops at the first difference."""
    at = 0
    for piece in pieces:
        encoded = piece.encode()
        if payload[at : at + len(encoded)] != encoded:
            return False
        at += len(encoded)
    return at == len(payload)
