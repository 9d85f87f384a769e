"""The two tables of a run, cases and episodes, one value a cell. What is unavailable is None, never 0. Pure.

The numbers of the case table are those of the report. docs/tables.md documents every column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from dfah_cli.canonical import canonical_bytes
from dfah_cli.records.enums import DispatchState
from dfah_cli.records.episode import NO_USAGE, Episode
from dfah_cli.report.cases import CaseReport
from dfah_cli.report.details import CaseDetail

Cell = str | int | float | bool | datetime | None
Group = tuple[str, str]


class Kind(StrEnum):
    """Type of a column."""

    TEXT = "text"
    WHOLE = "whole"
    REAL = "real"
    TRUTH = "truth"
    TIME = "time"


@frozen
class Column:
    """A column. value: takes the row's source."""

    name: str
    kind: Kind
    value: Callable[[Any], Cell]
    says: str


@frozen(kw_only=True)
class CaseSource:
    """What a row of the case table is made of. report: None for a case that is not in the numbers."""

    detail: CaseDetail
    report: CaseReport | None
    reasons: Sequence[str]


@frozen(kw_only=True)
class EpisodeSource:
    """What a row of the episode table is made of."""

    episode: Episode
    eligible: bool


def _stated(name: str) -> Callable[[CaseSource], Cell]:
    return lambda row: None if row.report is None else getattr(row.report, name)


def _level(name: str) -> Callable[[CaseSource], Cell]:
    return lambda row: None if row.report is None else getattr(row.report.tar, name)


def _kind(row: CaseSource) -> Cell:
    return None if row.report is None else row.report.path_variation_kind.value


def _decision(row: CaseSource) -> Cell:
    ranked = row.detail.decisions
    tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
    return None if not ranked or tied else ranked[0][0]


CASES = (
    Column("task", Kind.TEXT, lambda row: row.detail.task, "task of the case"),
    Column("case_id", Kind.TEXT, lambda row: row.detail.case_id, "pseudonym of the case"),
    Column("judged", Kind.TRUTH, lambda row: row.report is not None, "whether the case is in the numbers"),
    Column("reasons", Kind.TEXT, lambda row: "; ".join(row.reasons) or None, "why not, joined by `; `"),
    Column("replays", Kind.WHOLE, lambda row: len(row.detail.replays), "recorded replays"),
    Column("decision", Kind.TEXT, _decision, "most frequent decision; null when there is none or two are as frequent"),
    Column("dar", Kind.REAL, _stated("dar"), "share of replays with the most frequent decision"),
    Column("tar_set", Kind.REAL, _level("set"), "share with the most frequent set of tools"),
    Column("tar_bag", Kind.REAL, _level("bag"), "the same, with how often each was called"),
    Column("tar_seq", Kind.REAL, _level("seq"), "the same, with the order of calls"),
    Column("tar_args", Kind.REAL, _level("args"), "the same, with the arguments"),
    Column("tar_strong", Kind.REAL, _level("strong"), "the same, with results and states"),
    Column("gap", Kind.REAL, _stated("gap"), "dar − tar_seq"),
    Column("pairwise_decision", Kind.REAL, _stated("pairwise_decision"), "chance that two replays decide alike"),
    Column("pairwise_strong", Kind.REAL, _stated("pairwise_strong"), "chance that two replays take the same path"),
    Column("flagged", Kind.TRUTH, _stated("unanimous_with_path_change"), "one decision, more than one path"),
    Column("sequence_flagged", Kind.TRUTH, _stated("unanimous_with_sequence_change"), "the same by tool names alone"),
    Column(
        "path_variation_kind",
        Kind.TEXT,
        _kind,
        "coarsest level on which paths differ: tool_set, multiplicity, order_only, …",
    ),
    Column("paths", Kind.WHOLE, lambda row: len(row.detail.variants) or None, "number of distinct paths"),
)


def _of(name: str) -> Callable[[EpisodeSource], Cell]:
    return lambda row: getattr(row.episode, name)


def _spent(name: str) -> Callable[[EpisodeSource], Cell]:
    # What an interrupted call took was never recorded; the 0 in its record stands for that.
    def value(row: EpisodeSource) -> Cell:
        found: Cell = getattr(row.episode, name)
        return None if not found and row.episode.dispatch_state is DispatchState.UNKNOWN_AFTER_DISPATCH else found

    return value


def _used(name: str) -> Callable[[EpisodeSource], Cell]:
    return lambda row: None if row.episode.usage == NO_USAGE else getattr(row.episode.usage, name)


def _wire(name: str) -> Callable[[EpisodeSource], Cell]:
    return lambda row: None if row.episode.wire_request is None else getattr(row.episode.wire_request, name)


def _calls(row: EpisodeSource) -> Cell:
    path = row.episode.trajectory
    return len(path.tool_calls) if path.state.observed else None


def _tools(row: EpisodeSource) -> Cell:
    path = row.episode.trajectory
    names = [call.name for call in path.tool_calls]
    return canonical_bytes(names).decode() if path.state.observed else None


def _label(row: EpisodeSource) -> Cell:
    return None if row.episode.decision is None else row.episode.decision.label


def _confidence(row: EpisodeSource) -> Cell:
    return None if row.episode.decision is None else row.episode.decision.confidence


def _error(row: EpisodeSource) -> Cell:
    return None if row.episode.error is None else row.episode.error.kind


EPISODES = (
    Column("task", Kind.TEXT, _of("task"), "task of the case"),
    Column("case_id", Kind.TEXT, _of("case_id"), "pseudonym of the case"),
    Column("replay_index", Kind.WHOLE, _of("replay_index"), "0, 1, …"),
    Column("episode_id", Kind.TEXT, _of("episode_id"), "32 hex digits"),
    Column("judged", Kind.TRUTH, lambda row: row.eligible, "whether its case is in the numbers"),
    Column("status", Kind.TEXT, lambda row: row.episode.status.value, "valid, parse_failure, tool_error, …"),
    Column("dispatch_state", Kind.TEXT, lambda row: row.episode.dispatch_state.value, "how far it got"),
    Column("decision", Kind.TEXT, _label, "normalized label"),
    Column("confidence", Kind.REAL, _confidence, "how sure its source was, in [0, 1]"),
    Column("parse_strategy", Kind.TEXT, lambda row: row.episode.parse.strategy, "how the decision was read"),
    Column("parse_reason", Kind.TEXT, lambda row: row.episode.parse.reason, "why none was accepted"),
    Column("trajectory_state", Kind.TEXT, lambda row: row.episode.trajectory.state.value, "what is known of the path"),
    Column("tool_calls", Kind.WHOLE, _calls, "number of calls; null when the path was not observed"),
    Column("tools", Kind.TEXT, _tools, "tool names in order, a JSON array; null when the path was not observed"),
    Column("error_kind", Kind.TEXT, _error, "kind of the error"),
    Column("cost_nusd", Kind.WHOLE, _spent("cost_nusd"), "billionths of a dollar, exact; null when a crash hid it"),
    Column("cost_usd", Kind.REAL, _spent("cost_usd"), "dollars"),
    Column("latency_us", Kind.WHOLE, _spent("latency_us"), "microseconds in the adapter call"),
    Column("started_at", Kind.TIME, _of("started_at"), "UTC"),
    Column("ended_at", Kind.TIME, _of("ended_at"), "UTC"),
    Column("input_tokens", Kind.WHOLE, _used("input_tokens"), "null when the adapter gave no usage"),
    Column("output_tokens", Kind.WHOLE, _used("output_tokens"), "null when the adapter gave no usage"),
    Column("cached_input_tokens", Kind.WHOLE, _used("cached_input_tokens"), "null when the adapter gave no usage"),
    Column("reasoning_tokens", Kind.WHOLE, _used("reasoning_tokens"), "null when the adapter gave no usage"),
    Column("provider", Kind.TEXT, _wire("provider"), "from the echo of the request; null without one"),
    Column("model", Kind.TEXT, _wire("model"), "from the echo of the request"),
    Column("endpoint", Kind.TEXT, _wire("endpoint"), "from the echo of the request"),
    Column("payload_hash", Kind.TEXT, _wire("payload_hash"), "digest of the request"),
    Column("provider_response_id", Kind.TEXT, _of("provider_response_id"), "as the provider named its answer"),
)

TABLES = {"cases": CASES, "episodes": EPISODES}


def case_rows(
    details: Iterable[CaseDetail], reports: Iterable[CaseReport], reasons: dict[Group, Sequence[str]]
) -> Iterator[tuple[Group, list[Cell]]]:
    """(task, case id) and cells of every selected case, judged or not."""
    known = {(case.task, case.case_id): case for case in reports}
    for detail in details:
        group = (detail.task, detail.case_id)
        source = CaseSource(detail=detail, report=known.get(group), reasons=reasons.get(group, ()))
        yield group, [column.value(source) for column in CASES]


def episode_rows(
    episodes: Iterable[Episode], eligible: Set[Group]
) -> Iterator[tuple[tuple[str, str, int], list[Cell]]]:
    """(task, case id, replay) and cells of every recorded episode."""
    for episode in episodes:
        source = EpisodeSource(episode=episode, eligible=(episode.task, episode.case_id) in eligible)
        key = (episode.task, episode.case_id, episode.replay_index)
        yield key, [column.value(source) for column in EPISODES]
