"""Small functions over decisions, paths and episodes in hand; a run is measured by `Replay` and `Report` instead."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from attrs import frozen

from dfah_cli.errors import EligibilityError, ValidationError
from dfah_cli.metrics.agreement import modal_share
from dfah_cli.metrics.paths import path_key
from dfah_cli.records.enums import ChannelState, EpisodeStatus, PathMode
from dfah_cli.records.episode import Episode
from dfah_cli.records.suite import normal_label
from dfah_cli.records.trajectory import ToolCall, Trajectory
from dfah_cli.report.cases import CaseReport, Eligibility, TARReport

AnyPath = Trajectory | Sequence[ToolCall]


def dar(decisions: Sequence[str]) -> float | None:
    """Share of the most frequent decision; labels are compared stripped and lower-cased. None when there are none."""
    return _real(modal_share([normal_label(decision) for decision in decisions]))


def tar(paths: Sequence[AnyPath], mode: PathMode | str = PathMode.SEQ) -> float | None:
    """Share of the most frequent path under an identity: seq, bag, set, args or strong. None when there are none."""
    return _real(_path_share(paths, mode))


def delta_dt(decisions: Sequence[str], paths: Sequence[AnyPath]) -> float | None:
    """DAR minus TAR.seq of one replay group; may be negative.

    Raises: ValidationError when the two do not belong to the same replays.
    """
    if len(decisions) != len(paths):
        raise ValidationError(f"found {len(decisions)} decisions and {len(paths)} paths; expected one of each a replay")
    share = modal_share([normal_label(decision) for decision in decisions])
    other = _path_share(paths, PathMode.SEQ)
    return None if share is None or other is None else float(share - other)


def _path_share(paths: Sequence[AnyPath], mode: PathMode | str) -> Fraction | None:
    keys: list[Hashable] = []
    for path in paths:
        calls = path.tool_calls if isinstance(path, Trajectory) else tuple(path)
        keys.append(path_key([call.step for call in calls], mode))
    return modal_share(keys)


def _real(share: Fraction | None) -> float | None:
    return None if share is None else float(share)


@frozen(kw_only=True)
class ConfigReport:
    """Task-weighted agreement of one configuration: cases averaged within tasks, tasks weighted equally."""

    dar: float
    tar: TARReport
    gap: float
    n_tasks: int
    n_cases: int


def task_weighted(case_reports: Sequence[CaseReport]) -> ConfigReport:
    """The aggregates of eligible cases, as a report weights them.

    Raises: EligibilityError when there is no case.
    """
    if not case_reports:
        raise EligibilityError("task_weighted: found no eligible case; expected at least one")
    tasks: dict[str, list[CaseReport]] = {}
    for case in case_reports:
        tasks.setdefault(case.task, []).append(case)

    def mean(of: str) -> float:
        within = [sum(_value(case, of) for case in cases) / len(cases) for cases in tasks.values()]
        return sum(within) / len(within)

    shares = TARReport(seq=mean("seq"), bag=mean("bag"), set=mean("set"), strong=mean("strong"))
    decisions = mean("dar")
    return ConfigReport(
        dar=decisions, tar=shares, gap=decisions - shares.seq, n_tasks=len(tasks), n_cases=len(case_reports)
    )


def _value(case: CaseReport, of: str) -> float:
    return float(case.dar if of == "dar" else getattr(case.tar, of))


def evaluate_episode(episode: Episode, *, require_evidence: bool = False) -> Eligibility:
    """Whether one episode may be counted, with every reason against it. No adapter gives evidence in this version."""
    decided = episode.decision is not None and episode.parse.accepted
    reasons = [
        reason
        for reason, applies in (
            (f"terminal_status_{episode.status}", episode.status is not EpisodeStatus.VALID),
            ("decision_missing_or_invalid", not decided),
            ("trajectory_missing_or_malformed", not episode.trajectory.state.observed),
            ("evidence_missing_or_malformed", require_evidence),
        )
        if applies
    ]
    return Eligibility(
        eligible=not reasons,
        decision=ChannelState.OBSERVED_NONEMPTY if decided else ChannelState.UNAVAILABLE,
        trajectory=episode.trajectory.state,
        reasons=tuple(reasons),
    )


def evaluate_group(
    episodes: Sequence[Episode], *, required_replays: int, require_evidence: bool = False
) -> Eligibility:
    """Whether a replay group may be counted; the reason of one replay begins with `replay_<index>:`."""
    each = [evaluate_episode(episode, require_evidence=require_evidence) for episode in episodes]
    wires = [episode.wire_request for episode in episodes if episode.wire_request is not None]
    found = (
        (f"expected_{required_replays}_replays_observed_{len(episodes)}", len(episodes) != required_replays),
        ("manifest_mismatch", len({episode.manifest_hash for episode in episodes}) > 1),
        ("wire_payload_mismatch", len({wire.payload_hash for wire in wires}) > 1),
        ("wire_endpoint_mismatch", len({wire.endpoint for wire in wires}) > 1),
    )
    reasons = [reason for reason, applies in found if applies]
    for episode, one in zip(episodes, each, strict=True):
        reasons += [f"replay_{episode.replay_index}:{reason}" for reason in one.reasons]
    return Eligibility(
        eligible=not reasons,
        decision=_channel([one.decision for one in each]),
        trajectory=_channel([one.trajectory for one in each]),
        reasons=tuple(reasons),
    )


def _channel(states: Sequence[ChannelState]) -> ChannelState:
    """The weakest state of a channel over the replays of a group; unavailable when there are none."""
    order = (
        ChannelState.UNAVAILABLE,
        ChannelState.MALFORMED,
        ChannelState.OBSERVED_EMPTY,
        ChannelState.OBSERVED_NONEMPTY,
    )
    return min(states, key=order.index, default=ChannelState.UNAVAILABLE)
