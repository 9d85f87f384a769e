"""Which replay groups may be counted, and why the others may not. Pure.

One bad or missing replay drops the whole group: a modal share over what happened to survive would flatter
the agent.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from dfah_cli.metrics.agreement import group_counts
from dfah_cli.metrics.distinct import distinct
from dfah_cli.metrics.table import STATUSES, VALID, EpisodeTable

DECISION = "decision_missing_or_invalid"
TRAJECTORY = "trajectory_missing_or_malformed"
PAYLOAD = "wire_payload_mismatch"
ENDPOINT = "wire_endpoint_mismatch"
DUPLICATE = "duplicate_replay_index"
SINGLE = "single_replay_nothing_to_compare"
NO_REPLAY = "no_replays"

Groups = NDArray[np.bool_]


@frozen(kw_only=True, eq=False)
class Eligibility:
    """Verdict on every group of a table.

    eligible: shape (G,). replays: episodes present, shape (G,). affected: reason name and the groups it
    hits (bool, shape (G,)), sorted by name, only reasons that occur.
    """

    eligible: Groups
    replays: NDArray[np.int64]
    affected: tuple[tuple[str, Groups], ...]

    def counts(self) -> tuple[tuple[str, int], ...]:
        """Affected groups per reason, sorted by reason; a group counts once for each of its reasons."""
        return tuple((name, int(groups.sum())) for name, groups in self.affected)

    def reasons(self, group: int) -> tuple[str, ...]:
        """Reasons of one group, sorted; empty when it is eligible."""
        return tuple(name for name, groups in self.affected if groups[group])


def judge(table: EpisodeTable, *, replays: int | None) -> Eligibility:
    """Eligibility of every group.

    replays: the exact number every group must have; None (recordings made elsewhere): any number from two on.
    """
    present = np.bincount(table.group, minlength=len(table.groups)).astype(np.int64)
    found = [*_replay_reasons(present, replays), *_episode_reasons(table), *_agreement_reasons(table)]
    affected = tuple(sorted((pair for pair in found if pair[1].any()), key=lambda pair: pair[0]))
    blocked = np.zeros(len(table.groups), dtype=np.bool_)
    for _, groups in affected:
        blocked |= groups
    return Eligibility(eligible=~blocked, replays=present, affected=affected)


def _replay_reasons(present: NDArray[np.int64], replays: int | None) -> Iterator[tuple[str, Groups]]:
    if replays is None:
        yield SINGLE, present == 1
        yield NO_REPLAY, present == 0
        return
    for observed in distinct(present[present != replays]):
        yield f"expected_{replays}_replays_observed_{observed}", present == observed


def _episode_reasons(table: EpisodeTable) -> Iterator[tuple[str, Groups]]:
    invalid = table.status != VALID
    for index in distinct(table.status[invalid]):
        yield f"terminal_status_{STATUSES[index]}", _hit(table, table.status == index)
    yield DECISION, _hit(table, (table.decision < 0) | invalid)
    yield TRAJECTORY, _hit(table, table.path < 0)


def _agreement_reasons(table: EpisodeTable) -> Iterator[tuple[str, Groups]]:
    groups = len(table.groups)
    yield PAYLOAD, group_counts(table.group, table.wire, groups).distinct() > 1
    yield ENDPOINT, group_counts(table.group, table.endpoint, groups).distinct() > 1
    yield DUPLICATE, group_counts(table.group, table.replay, groups).modal() > 1


def _hit(table: EpisodeTable, episodes: Groups) -> Groups:
    hit = np.zeros(len(table.groups), dtype=np.bool_)
    hit[table.group[episodes]] = True
    return hit
