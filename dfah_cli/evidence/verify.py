"""The only maker of a `VerifiedRun`: one streaming pass over plan, manifest and records. Pure.

Nothing is believed because it was written by us: every fact that a report rests on is derived again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from attrs import evolve, frozen

from dfah_cli import merkle
from dfah_cli.errors import ArtifactError
from dfah_cli.evidence.boundaries import Boundaries
from dfah_cli.evidence.claims import CheckResult, CheckStatus, Claim, Findings, refuse_failures
from dfah_cli.evidence.episode_checks import EPISODE_CHECKS, Expected, is_unrecorded, problems, steps_of
from dfah_cli.evidence.plan_checks import check_manifest, check_plan, check_schedule
from dfah_cli.metrics.backends import served
from dfah_cli.metrics.partial_order import Parallel
from dfah_cli.metrics.table import EpisodeTable, GroupKeys, TableBuilder
from dfah_cli.planning.schedule import Schedule
from dfah_cli.records.enums import ChannelState
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan

Body = Mapping[str, Any]
Records = Iterable[tuple[str, Body]]
EVIDENCE = frozenset({"episode", "dispatching", "note"})
"""Record types that can change what a report says."""

_OBSERVED = frozenset(state.value for state in ChannelState if state.observed)


@frozen(kw_only=True)
class VerifiedRun:
    """A run whose every recorded claim was derived again and holds.

    table: one row per committed episode; group index = place of the case in sorted pseudonym order.
    episodes: number of committed episodes. commitment: digest over the episode set and the plan.
    log_n: records in the verified log prefix. last_at: latest end of an episode, UTC text; None when there is none.
    stop_reason: why the last session stopped early; None when it did not, or when nothing is left to run.
    reports, gates: the announcing log records, oldest first. closed: the run was completed and sealed.
    unrecorded: episodes that failed because a replayed recording had no result for a call.
    """

    plan: RunPlan
    manifest: Manifest
    table: EpisodeTable
    episodes: int
    commitment: str
    episode_root: str
    log_n: int
    last_at: str | None
    stop_reason: str | None
    reports: tuple[Body, ...] = ()
    gates: tuple[Body, ...] = ()
    sessions: tuple[Body, ...] = ()
    closed: bool = False
    unrecorded: int = 0
    checks: tuple[CheckResult, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every planned episode is committed."""
        return self.episodes == self.plan.episodes_planned


OnPrefix = Callable[[VerifiedRun, tuple[Body, ...]], None]
"""Takes the run as it stood when some reports were announced, and their log records."""


@frozen(kw_only=True)
class Examination:
    """Every claim decided; `run` is None when one of them failed."""

    checks: tuple[CheckResult, ...]
    run: VerifiedRun | None


def verify(plan_bytes: bytes, manifest_bytes: bytes, records: Records, *, keep_examples: bool = False) -> VerifiedRun:
    """The verified run.

    Raises: ArtifactError naming every claim that does not hold.
    """
    examination = examine(plan_bytes, manifest_bytes, records, keep_examples=keep_examples)
    refuse_failures(examination.checks, "the run")
    assert examination.run is not None
    return examination.run


def examine(
    plan_bytes: bytes,
    manifest_bytes: bytes,
    records: Records,
    *,
    keep_examples: bool = False,
    on_prefix: OnPrefix | None = None,
    findings: Findings | None = None,
) -> Examination:
    """Every claim decided, without stopping at the first failure.

    on_prefix: called before the first record that changes what earlier reports say. findings: collects, when the
    caller has claims of its own to add.
    """
    findings = Findings() if findings is None else findings
    plan = check_plan(plan_bytes, findings)
    manifest = check_manifest(manifest_bytes, plan, findings)
    schedule = check_schedule(plan, findings) if plan else None
    if plan is None or manifest is None or schedule is None:
        return Examination(checks=findings.results(), run=None)
    reading = _Pass(plan, manifest, schedule, findings, keep_examples)
    reading.on_prefix = on_prefix
    try:
        for h, body in records:
            reading.take(h, body)
        findings.checked(Claim.LOG, reading.log_n)
    except ArtifactError as problem:
        findings.refused(problem)
    run = None if findings.failed else reading.finish()
    return Examination(checks=findings.results(), run=run if not findings.failed else None)


class _Pass:
    """State of the one pass over the records; memory per planned episode is constant and small."""

    def __init__(
        self, plan: RunPlan, manifest: Manifest, schedule: Schedule, findings: Findings, keep_examples: bool
    ) -> None:
        self._plan, self._manifest, self._schedule, self._findings = plan, manifest, schedule, findings
        self._expected = Expected.of(manifest)
        self._boundaries = Boundaries(plan, schedule, findings)
        self._builder = TableBuilder(
            GroupKeys(schedule.tasks, schedule.case_ids),
            manifest.decision_ontology,
            keep_examples=keep_examples,
            parallel=Parallel.of(plan.parallel) if plan.parallel else None,
        )
        self._digests = bytearray(32 * len(schedule))
        self._present = bytearray(len(schedule))
        self._stop: str | None = None
        self._last_at: str | None = None
        self.log_n = self.episodes = self._unrecorded = 0
        self._kept: dict[str, list[Body]] = {"report": [], "gate": [], "session": [], "close": []}
        self.on_prefix: OnPrefix | None = None
        self._stated: list[Body] = []  # reports announced since the evidence last changed
        self._changed_at = 0
        self._takers: dict[str, Callable[[str, Body], None]] = {
            "episode": self._episode,
            "dispatching": self._intent,
            "note": self._note,
            "report": self._report,
            "session": self._session,
            "gate": self._keep,
            "close": self._keep,
        }

    def take(self, h: str, body: Body) -> None:
        """One record."""
        self.log_n += 1
        kind = body["t"]
        if kind in EVIDENCE:
            if self._stated:
                self._state_prefix()
            self._changed_at = self.log_n
        taker = self._takers.get(kind)
        if taker is not None:
            taker(h, body)

    def _state_prefix(self) -> None:
        """The next record changes the evidence: what was stated until here was stated from what is here."""
        if self.on_prefix is not None and not self._findings.failed:
            self.on_prefix(self._run(self._builder.build(growing=True)), tuple(self._stated))
        self._stated.clear()

    def _keep(self, _: str, body: Body) -> None:
        self._kept[body["t"]].append(body)

    def _session(self, h: str, body: Body) -> None:
        self._keep(h, body)
        self._boundaries.session(body)

    def _note(self, _: str, body: Body) -> None:
        if body["kind"].startswith("stop:"):
            self._stop = body["kind"].removeprefix("stop:")

    def _report(self, h: str, body: Body) -> None:
        self._keep(h, body)
        stated_from = body["log_n"]
        if type(stated_from) is not int or not self._changed_at <= stated_from < self.log_n:
            self._findings.fail(Claim.REPORT, f"report {body['ordinal']} was stated from another part of the log")
        self._stated.append(body)

    def _intent(self, _: str, body: Body) -> None:
        self._boundaries.intent(body)
        self._stop = None

    def _episode(self, h: str, body: Body) -> None:
        rank, place, _ = self._boundaries.terminal(body)
        if self._present[rank]:
            return  # the same bytes again: the store has compared them
        broken = problems(body, place, self._expected)
        for claim, problem in broken:
            self._findings.fail(claim, f"slot {body['i']}: {problem}")
        self._present[rank] = 1
        self._digests[32 * rank : 32 * rank + 32] = bytes.fromhex(h)
        self.episodes += 1
        self._unrecorded += is_unrecorded(body)
        if not broken:
            self._add(rank // self._plan.replays, place.replay_index, body)

    def _add(self, group: int, replay_index: int, body: Body) -> None:
        echo, ended = body["wire_request"], body["ended_at"]
        observed = body["trajectory"]["state"] in _OBSERVED
        self._builder.add(
            group,
            replay_index,
            body["status"],
            body["decision"],
            self._builder.paths.intern(steps_of(body)) if observed else None,
            None if echo is None else echo["payload_hash"],
            None if echo is None else echo["endpoint"],
            body["cost_nusd"],
            body["latency_us"],
        )
        self._builder.started(group, datetime.fromisoformat(body["started_at"]))
        backend = None if body["usage"] is None else served(body["usage"]["provider_usage"])
        if backend is not None:
            self._builder.served_by(backend)
        if self._last_at is None or ended > self._last_at:
            self._last_at = ended

    def finish(self) -> VerifiedRun:
        """The verified run; the commitment is compared with what the log itself states."""
        findings = self._findings
        findings.checked(Claim.BOUNDARIES, self.episodes)
        for claim in EPISODE_CHECKS:
            findings.checked(claim, self.episodes)
        self._boundaries.finish()
        run = self._run(self._builder.build())
        self._check_commitment(run.episode_root, run.commitment)
        return evolve(run, checks=findings.results())

    def _run(self, table: EpisodeTable) -> VerifiedRun:
        root = merkle.tree_root(
            bytes(self._digests[32 * rank : 32 * rank + 32]) for rank, there in enumerate(self._present) if there
        ).hex()
        commitment = merkle.commitment(episodes=self.episodes, episode_root=root, plan_sha256=self._plan.sha256)
        complete = self.episodes == self._plan.episodes_planned
        return VerifiedRun(
            plan=self._plan,
            manifest=self._manifest,
            table=table,
            episodes=self.episodes,
            commitment=commitment,
            episode_root=root,
            log_n=self.log_n,
            last_at=self._last_at,
            stop_reason=None if complete else self._stop,
            reports=tuple(self._kept["report"]),
            gates=tuple(self._kept["gate"]),
            sessions=tuple(self._kept["session"]),
            closed=bool(self._kept["close"]),
            unrecorded=self._unrecorded,
        )

    def _check_commitment(self, root: str, commitment: str) -> None:
        for close in self._kept["close"]:
            self._findings.checked(Claim.COMMITMENT)
            if close["episode_root"] != root or close["episodes"] != self.episodes:
                self._findings.fail(Claim.COMMITMENT, "the close record states another episode set")
        if self._kept["close"]:
            for report in self._kept["report"]:
                late = report["log_n"] >= self._kept["close"][0]["log_n"]
                if late and report["commitment"] != commitment:
                    self._findings.fail(Claim.COMMITMENT, f"report {report['ordinal']} commits to other episodes")


def failed(checks: tuple[CheckResult, ...]) -> tuple[CheckResult, ...]:
    """The broken claims."""
    return tuple(check for check in checks if check.status is CheckStatus.FAIL)
