"""What an engine tells the run, and what the run does about it: with an engine that is told what to tell."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dfah_cli.adapter.contract import RunContext
from dfah_cli.execution.ends import EndedElsewhereError, Lost, ManifestChanged, NoWorkersError
from dfah_cli.execution.events import Stopping
from dfah_cli.records.case import Case
from dfah_cli.records.enums import EpisodeStatus, ReportStatus
from dfah_cli.records.episode import AgentResult
from dfah_cli.workflow.analyze import analyze, episodes
from dfah_cli.workflow.replay import Replay
from tests.builders import a_scripted_agent


class ToldEngine:
    """Stands for an agent; `what` says what becomes of the episode with that number."""

    def __init__(self, what: Callable[[int], BaseException | None] = lambda _: None) -> None:
        self.agent = a_scripted_agent()
        self.suite, self.tools, self.manifest = self.agent.suite, self.agent.tools, self.agent.manifest
        self.what, self.calls, self.closed = what, 0, False

    async def aopen(self, workers: int) -> None:
        """Ready at once."""

    async def aready(self) -> None:
        """There is always a place."""

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """The agent's own episode, or what is told in its place."""
        self.calls += 1
        problem = self.what(self.calls)
        if problem is not None:
            raise problem
        result: AgentResult = await self.agent.arun(case, context)
        return result

    async def aclose(self) -> None:
        """Notes that the run is over."""
        self.closed = True


def replay(engine: ToldEngine, out: Path, **options: Any) -> Replay:
    return Replay(suite=engine.suite, replays=3, out=out, **options)


def test_a_lost_episode_is_interrupted_and_never_sent_again(out: Path) -> None:
    engine = ToldEngine(lambda number: EndedElsewhereError(Lost("its node went away")) if number in (2, 5) else None)
    report = replay(engine, out).run(engine)
    lost = [one for one in episodes(out) if one.status is EpisodeStatus.INTERRUPTED]
    assert (report.status, len(lost), engine.calls) == (ReportStatus.PARTIAL, 2, 6)
    assert {one.error and one.error.kind for one in lost} == {"unknown_after_dispatch"}
    replay(engine, out).run(engine)
    assert engine.calls == 6
    analyze(out)


def test_a_lost_episode_takes_its_whole_reservation_from_the_budget(out: Path) -> None:
    engine = ToldEngine(lambda _: EndedElsewhereError(Lost("gone")))
    report = replay(engine, out, budget_usd=0.25, estimated_max_episode_cost_usd=0.1).run(engine)
    assert (report.partial_reason, engine.calls) == ("budget_stop", 2)


def test_another_manifest_on_the_other_side_is_a_contract_error(out: Path) -> None:
    engine = ToldEngine(lambda number: EndedElsewhereError(ManifestChanged()) if number == 1 else None)
    replay(engine, out).run(engine)
    kinds = [one.error.kind for one in episodes(out) if one.error is not None]
    assert kinds == ["manifest_changed"]


def test_without_workers_the_run_ends_says_why_and_can_be_resumed(out: Path) -> None:
    class Dwindling(ToldEngine):
        async def aready(self) -> None:
            if self.calls >= 2:
                raise NoWorkersError("each needs 2 GPU; the cluster has 0")

    seen: list[Any] = []
    engine = Dwindling()
    report = replay(engine, out, observer=seen.append).run(engine)
    assert (report.status, report.partial_reason, report.episodes_completed) == (ReportStatus.PARTIAL, "no_workers", 2)
    assert [event.why for event in seen if isinstance(event, Stopping)] == ["each needs 2 GPU; the cluster has 0"]
    assert engine.closed
    # Nothing was sent that is not recorded, so everything else may still be sent.
    complete = ToldEngine()
    assert replay(complete, out).run(complete).status is ReportStatus.COMPLETE
    assert complete.calls == 4


class Waiting(ToldEngine):
    """Never ready again from some moment on; asks for a stop while the run waits for it."""

    def __init__(self, *, opening: bool) -> None:
        super().__init__()
        self._opening = opening

    async def aopen(self, workers: int) -> None:
        if self._opening:
            await interrupted_wait()

    async def aready(self) -> None:
        if self.calls == 2:
            await interrupted_wait()


async def interrupted_wait() -> None:
    asyncio.get_running_loop().call_later(0.1, signal.raise_signal, signal.SIGINT)
    await asyncio.sleep(60)


@pytest.mark.parametrize(("opening", "calls"), [(True, 0), (False, 2)])
def test_a_run_that_is_stopped_does_not_wait_for_a_worker(opening: bool, calls: int, out: Path) -> None:
    engine = Waiting(opening=opening)
    report = replay(engine, out).run(engine)
    assert (report.partial_reason, report.episodes_completed, engine.calls) == ("interrupted", calls, calls)
    assert engine.closed


def test_the_budget_holds_back_for_episodes_that_wait_for_their_place(out: Path) -> None:
    class Slow(ToldEngine):
        async def aready(self) -> None:
            await asyncio.sleep(0.2)

    engine = Slow()
    options = {"budget_usd": 0.25, "estimated_max_episode_cost_usd": 0.1, "concurrency": 6}
    at_once: list[int] = []
    original: Callable[..., Awaitable[AgentResult]] = engine.arun

    async def counted(case: Case, context: RunContext) -> AgentResult:
        at_once.append(1)
        await asyncio.sleep(0.2)
        at_once.append(-1)
        return await original(case, context)

    engine.arun = counted  # type: ignore[method-assign]
    replay(engine, out, **options).run(engine)
    most = max(sum(at_once[: index + 1]) for index in range(len(at_once)))
    assert most == 2
