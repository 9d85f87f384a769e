"""Works through a schedule: intent durable, call, judge, terminal durable. One worker per unit of concurrency.

Order rule, per worker: the terminal record of one episode is made durable together with the intent of the next, in
one commit, before that next call. A crash therefore loses no acknowledged episode and sends nothing twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any

from attrs import define

from dfah_cli.adapter.contract import Agent, RunContext
from dfah_cli.adapter.meter import Meter
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.execution.budget import Budget
from dfah_cli.execution.call import Caller
from dfah_cli.execution.clock import Clock, seconds
from dfah_cli.execution.ends import Lost, NoWorkersError
from dfah_cli.execution.events import EpisodeStarted, Observer, RunStarted, Stopping, silent
from dfah_cli.execution.outcome import Attempt, Judge
from dfah_cli.execution.recovery import ACTIONS, Action, Survey
from dfah_cli.execution.session import Judged, Settings, Tally, charged_nusd, error_text
from dfah_cli.execution.stalls import LoopWatch
from dfah_cli.execution.turnstile import Turnstile
from dfah_cli.planning.plan import PlannedRun
from dfah_cli.records.journal import episode_body, intent_body, note_body, planned_body, time_text
from dfah_cli.records.keyed import keyed_episode
from dfah_cli.records.keys import SlotKeys
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import Slot
from dfah_cli.records.tool_spec import ToolSpec
from dfah_cli.records.wire import parameters_digest
from dfah_cli.store.protocol import RunWriter, SlotState

Body = dict[str, Any]

PLANNED_WINDOW = 4096
SETTLE_BATCH = 1000
AT_ONCE_S = 0.02
EMPTY_SHA256 = sha256(b"").hexdigest()


@define
class _Worker:
    """One unit of concurrency. done: rides with the next intent."""

    done: Judged | None = None


class Runner:
    """One session over one schedule."""

    def __init__(
        self,
        *,
        planned: PlannedRun,
        agent: Agent,
        manifest: Manifest,
        registry: ToolRegistry | None,
        tools: Iterable[ToolSpec],
        writer: RunWriter,
        survey: Survey,
        settings: Settings,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._planned, self._writer, self._clock, self._observe = planned, writer, clock, observer
        self._schedule, self._plan, self._registry = planned.schedule, planned.plan, registry
        self._settings, self._survey, self._seconds = settings, survey, seconds(clock)
        self._keys = SlotKeys(manifest.hash, parent=settings.parent)
        specs = {spec.name: spec for spec in tools}
        self._judge = Judge(manifest, specs, capture_arguments=settings.capture_arguments)
        self._parameters_sha256 = parameters_digest(manifest.request_parameters)
        self._budget = Budget(
            limit_nusd=settings.budget_nusd,
            estimate_nusd=settings.estimate_nusd,
            spent_nusd=survey.spent_nusd,
            dearest_nusd=survey.dearest_nusd,
        )
        self._watch = LoopWatch(clock)
        self._caller = Caller(agent, manifest, self._plan.episode_timeout_s, clock, self._watch)
        self._watched = observer is not silent
        self._turnstile = Turnstile(settings.concurrency, clock)
        self._next = self._in_flight = 0
        self._freed, self.stopped = asyncio.Event(), asyncio.Event()
        self.tally = Tally(spent_nusd=survey.spent_nusd)

    def request_stop(self, reason: str, why: str | None = None) -> None:
        """Dispatches nothing more; what is in flight is drained. Asked a second time, calls may be cancelled too.

        why: for people, when the reason alone does not say it.
        """
        if self.tally.stop_reason is not None:
            self.stop_now()
        else:
            self.tally.stop_reason = reason
            self._observe(Stopping(reason=reason, in_flight=self._in_flight, why=why))
            self._freed.set()
            self.stopped.set()

    def stop_now(self) -> None:
        """From here on cancelled calls count as stopped by the run."""
        self._caller.stopping = True

    def settle(self) -> int:
        """Gives every slot with an unknown outcome its terminal record; the number of slots left to dispatch."""
        actions = [ACTIONS[SlotState(state)] for state in self._writer.slots]
        open_slots = [ordinal for ordinal, action in enumerate(actions) if action is Action.INTERRUPT]
        for start in range(0, len(open_slots), SETTLE_BATCH):
            self._writer.commit_now([self._interrupted(o) for o in open_slots[start : start + SETTLE_BATCH]])
        self.tally.interrupted = len(open_slots)
        self.tally.reused = actions.count(Action.REUSE)
        self._observe(RunStarted(planned=len(actions), reused=self.tally.reused, spent_nusd=self._survey.spent_nusd))
        return actions.count(Action.DISPATCH)

    async def work(self) -> None:
        """One worker: takes slots in schedule order until none is left, the budget is used up or a stop was asked for.

        Raises: StorageError when the disk fails; nothing else that an adapter could cause.
        """
        worker = _Worker()
        try:
            while (taken := await self._take(worker)) is not None:
                ordinal, reserved = taken
                if not await self._prepared(worker):
                    self._budget.settle(reserved, 0)
                    self._freed.set()
                    break
                await self._episode(worker, ordinal, reserved)
        finally:
            await self._flush(worker)

    def watch(self) -> LoopWatch:
        """The heartbeat of the loop this session runs on."""
        return self._watch

    def finish(self) -> None:
        """Notes in the log why a session ended early."""
        reason = self.tally.stop_reason
        if reason:
            at = time_text(self._clock.now())
            self._writer.commit_now([note_body(f"stop:{reason}", at, EMPTY_SHA256)])

    async def _prepared(self, worker: _Worker) -> bool:
        """Whether the episode can be begun where it is to run; a run that is being stopped does not wait for that."""
        if not self._caller.prepares:
            return True
        ready, stopped = asyncio.ensure_future(self._caller.ready()), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait({ready}, timeout=AT_ONCE_S)
            if not ready.done():
                # It may take as long as an episode: the record of the one before does not wait with it.
                await self._flush(worker)
                await asyncio.wait({ready, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                ready.result()
        except NoWorkersError as problem:
            if self.tally.stop_reason is None:
                self.request_stop("no_workers", str(problem))
        finally:
            ready.cancel()
            stopped.cancel()
        return self.tally.stop_reason is None

    async def _take(self, worker: _Worker) -> tuple[int, int] | None:
        """The next slot to dispatch and what the budget holds back for it; None when this worker is finished."""
        # A Ctrl-C during a call that never waited is heard before the next one is sent.
        await self._watch.turn()
        while self.tally.stop_reason is None:
            while self._next < len(self._schedule) and self._writer.slots[self._next] >= SlotState.COMMITTED:
                self._next += 1
            if self._next >= len(self._schedule):
                return None
            if self._budget.admits():
                self._next += 1
                return self._next - 1, self._budget.reserve()
            await self._flush(worker)
            if self._budget.admits():
                continue
            if self._in_flight == 0 and not self._budget.reserved_nusd:
                self.request_stop("budget_stop")
                return None
            # Episodes in flight may cost less than they reserved.
            self._freed.clear()
            await self._freed.wait()
        return None

    async def _flush(self, worker: _Worker) -> None:
        if worker.done is not None:
            done, worker.done = worker.done, None
            if self._writer.slots[done.body["i"]] != SlotState.COMMITTED:  # a full disk refuses its intent alone
                await self._writer.commit([done.body])
            self._finished(done)

    async def _episode(self, worker: _Worker, ordinal: int, reserved: int) -> None:
        slot = self._schedule[ordinal]
        key = self._keys.episode(slot.case_id, slot.replay_index)
        idempotency_key = self._keys.idempotency(slot.case_id, slot.replay_index)
        self._in_flight += 1
        try:
            intent = (ordinal, key, idempotency_key, reserved)
            started_at = await self._intend(worker, slot, intent)
            attempt = await self._attempt(slot, key, idempotency_key, started_at)
        finally:
            self._in_flight -= 1
            self._freed.set()
        self._turnstile.learn(attempt.latency_us)
        episode = self._judge.episode(attempt)
        if self._settings.digest_key is not None:
            episode = keyed_episode(episode, self._settings.digest_key)
        self._budget.settle(reserved, charged_nusd(attempt, episode, reserved))
        body = episode_body(episode, ordinal=ordinal, key=key, parameters_sha256=self._parameters_sha256)
        if isinstance(attempt.outcome, Lost):
            body["recovered_by"] = self._writer.token
            self.tally.interrupted += 1
        worker.done = Judged(episode, body, reserved, error_text(attempt, episode))
        self.tally.calls += 1
        self.tally.spent_nusd = self._budget.spent_nusd

    async def _intend(self, worker: _Worker, slot: Slot, intent: tuple[int, str, str, int]) -> datetime:
        """Makes the intent (ordinal, keys, reservation) durable, and with it this worker's previous terminal record."""
        ordinal, key, idempotency_key, reserved = intent
        now = self._clock.now()
        bodies = [] if worker.done is None else [worker.done.body]
        if self._writer.slots[ordinal] == SlotState.ABSENT:
            start = ordinal - ordinal % PLANNED_WINDOW
            bodies.append(planned_body(start, min(start + PLANNED_WINDOW, len(self._schedule))))
        bodies.append(
            intent_body(
                ordinal=ordinal,
                key=key,
                at=time_text(now),
                reserved_nusd=reserved,
                idempotency_key=idempotency_key,
            )
        )
        # Before the call: a crash below must not send twice.
        await self._turnstile.passed(self._writer.commit, bodies)
        if worker.done is not None:
            done, worker.done = worker.done, None
            self._finished(done)
        if self._watched:
            self._observe(EpisodeStarted(case_id=slot.case_id, replay_index=slot.replay_index, reserved_nusd=reserved))
        return now

    async def _attempt(self, slot: Slot, key: str, idempotency_key: str, started_at: datetime) -> Attempt:
        session = None
        if self._registry is not None:
            tapes = self._settings.tapes
            session = self._registry.session(
                id_prefix=key[:32],
                capture_arguments=self._settings.capture_arguments,
                clock=self._seconds,
                tape=None if tapes is None else tapes.episode(slot.case_id, slot.replay_index),
            )
        context = RunContext(
            manifest_hash=self._plan.manifest_hash,
            case_id=slot.case_id,
            replay_index=slot.replay_index,
            seed=self._plan.seed,
            idempotency_key=idempotency_key,
            tools=session,
            meter=Meter(self._seconds),
        )
        # A fresh copy: what this call does to its input reaches no other episode.
        outcome, latency_us = await self._caller.call(self._planned.cases[slot.case_id].fresh(), context)
        if session is not None:
            session.close()
        return Attempt(
            slot=slot,
            key=key,
            outcome=outcome,
            session=None if session is None else session.trajectory(),
            unrecorded=0 if session is None else session.unrecorded,
            troubles=() if session is None else tuple(session.troubles),
            started_at=started_at,
            ended_at=self._clock.now(),
            latency_us=latency_us,
            spent=context.meter.spent,
        )

    def _interrupted(self, ordinal: int) -> Body:
        slot = self._schedule[ordinal]
        key = self._keys.episode(slot.case_id, slot.replay_index)
        now = self._clock.now()
        at = self._survey.open_intents.get(ordinal)
        intended = now if at is None else datetime.fromisoformat(at)
        episode = self._judge.interrupted(slot, key, intended_at=intended, now=now)
        body = episode_body(episode, ordinal=ordinal, key=key, parameters_sha256=self._parameters_sha256)
        return {**body, "recovered_by": self._writer.token}

    def _finished(self, done: Judged) -> None:
        self.tally.failed += done.episode.error is not None
        if self._watched:
            self._observe(done.finished())
