"""Live progress on standard error: a bar on a terminal, rare plain lines elsewhere, nothing the run depends on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dfah_cli.cli.screen import Screen, is_set, is_terminal, quietly
from dfah_cli.execution.events import (
    EpisodeFinished,
    EpisodeStarted,
    Event,
    Observer,
    PlanReady,
    RunFinished,
    RunStarted,
    Stopping,
    TracesExported,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

EVERY_S = 10.0
FRAME_S = 0.1
BEFORE_BAR, AFTER_BAR = "replaying ", "  "
LEAST_BAR, MOST_BAR = 6, 28
SEPARATOR = "   "
STATES = {
    "budget_stop": "the budget admits no further episode",
    "interrupted": "interrupted",
    "terminated": "terminated",
    "no_workers": "no worker is left that could take an episode",
}


class Tally:
    """What a watcher has seen so far; times are seconds of the given clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self.started_at = self._clock()
        self.planned = self.reused = self.done = self.failed = self.tool_calls = 0
        self.spent_nusd = self.reserved_nusd = 0
        self.flying: dict[tuple[str, int], float] = {}
        self.stopping: str | None = None

    def take(self, event: Event) -> None:
        """One event."""
        if isinstance(event, PlanReady):
            # One command may make several runs, one after the other.
            self._begin()
        elif isinstance(event, RunStarted):
            self.planned, self.reused, self.spent_nusd = event.planned, event.reused, event.spent_nusd
            # Not when one part of a schedule follows another.
            self.started_at = self.started_at if self.done else self._clock()
        elif isinstance(event, EpisodeStarted):
            self.flying[event.case_id, event.replay_index] = self._clock()
            self.reserved_nusd += event.reserved_nusd
        elif isinstance(event, EpisodeFinished):
            self._finished(event)
        elif isinstance(event, Stopping):
            self.stopping = event.reason

    def _finished(self, event: EpisodeFinished) -> None:
        self.flying.pop((event.case_id, event.replay_index), None)
        self.done += 1
        self.failed += event.status != "valid"
        self.tool_calls += event.tool_calls
        self.spent_nusd += event.cost_nusd
        self.reserved_nusd = max(0, self.reserved_nusd - event.reserved_nusd)

    @property
    def rate(self) -> float:
        """Episodes a second of this session."""
        return self.done / max(self._clock() - self.started_at, 1e-9)

    @property
    def left_s(self) -> float | None:
        """Seconds left at this rate; None before the first episode."""
        return (self.planned - self.reused - self.done) / self.rate if self.done else None

    @property
    def slowest(self) -> tuple[str, float] | None:
        """The case that has been in flight longest, and for how long."""
        if not self.flying:
            return None
        (case_id, _), since = min(self.flying.items(), key=lambda item: item[1])
        return case_id, self._clock() - since


def status_text(tally: Tally) -> str:
    """The tally in one line."""
    return SEPARATOR.join(status_parts(tally))


def status_parts(tally: Tally) -> list[str]:
    """What is told of a tally, the most important first."""
    from dfah_cli.render.text import escape
    from dfah_cli.report.words import money

    parts = [f"{tally.reused + tally.done}/{tally.planned}", f"{tally.failed} failed", f"{tally.reused} reused"]
    parts.append(f"{tally.tool_calls} tool calls")
    parts.append(money(tally.spent_nusd) + (f" (+{money(tally.reserved_nusd)} held)" if tally.reserved_nusd else ""))
    parts.append(f"{tally.rate:.3g}/s")
    if tally.left_s is not None:
        minutes, seconds = divmod(round(tally.left_s), 60)
        parts.append(f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left")
    if tally.slowest is not None and tally.slowest[1] > 1.0:
        parts.append(f"slowest {escape(tally.slowest[0])[:40]} {tally.slowest[1]:.1f} s")
    if tally.stopping is not None:
        parts.append(f"stopping: {STATES.get(tally.stopping, tally.stopping)}")
    return parts


@contextmanager
def watching(screen: Screen, *, debug_log: str | None = None) -> Iterator[Observer]:
    """An observer that shows what happens, for as long as the block lasts; what it cannot show it drops."""
    from dfah_cli.cli.logs import episode_log

    tally = Tally(time.monotonic)
    live = is_terminal(screen.err) and not is_set(screen.environment, "CI")
    with episode_log(screen, debug_log, quiet=live) as log:
        shower: Any = _Bar(screen, tally) if live else _Lines(screen, tally)

        def observe(event: Event) -> None:
            tally.take(event)
            quietly(lambda: shower.show(event))
            if isinstance(event, EpisodeFinished):
                log(event)

        try:
            yield observe
        finally:
            quietly(shower.close)


def announcement(event: PlanReady) -> str:
    """The first line: what is about to happen, and what it can cost at most."""
    from dfah_cli.render.text import escape
    from dfah_cli.report.words import money, plan_tag

    ceiling = "" if event.cost_ceiling_nusd is None else f" · at most {money(event.cost_ceiling_nusd)}"
    return (
        f"plan {plan_tag(event.plan_sha256)} · {escape(event.suite_id)} {event.suite_version} · {event.cases} cases × "
        f"{event.replays} replays = {event.episodes_planned} calls{ceiling} · {escape(event.out)}"
    )


def warning(event: PlanReady) -> str | None:
    """Once a run: raw ids are about to be persisted."""
    if not event.raw_case_ids:
        return None
    return (
        f"warning: {event.raw_case_ids} of {event.cases} cases have no artifact_case_id, so raw ids are recorded; give"
        " them pseudonyms before using production cases"
    )


def exported(event: TracesExported) -> str:
    """What became of the spans."""
    if event.problem is None:
        return f"OpenTelemetry spans: {event.where}"
    return (
        f"OpenTelemetry spans: {event.where} did not take them ({event.problem}); the run itself is recorded, and "
        "dfah export RUN --format otlp -o FILE writes them"
    )


class _Lines:
    """A line when something changes for the whole run, and one every ten seconds."""

    def __init__(self, screen: Screen, tally: Tally) -> None:
        self._screen, self._tally = screen, tally
        self._said = time.monotonic()

    def show(self, event: Event) -> None:
        if isinstance(event, PlanReady):
            self._screen.note(announcement(event))
            told = warning(event)
            if told:
                self._screen.note(told)
        elif isinstance(event, Stopping):
            self._screen.note(f"stopping: {STATES.get(event.reason, event.reason)}; {event.in_flight} in flight")
            if event.why is not None:
                self._screen.note(f"  {event.why}")
        elif isinstance(event, RunFinished) and event.committed > event.reused:
            self._screen.note(f"recorded {event.committed} episodes, {event.failed} failed, {event.reused} reused")
        elif isinstance(event, TracesExported):
            self._screen.note(exported(event))
        elif time.monotonic() - self._said >= EVERY_S:
            self._said = time.monotonic()
            self._screen.note(status_text(self._tally))

    def close(self) -> None:
        """Nothing is left on the screen."""


class _Bar:
    """A Rich bar that is redrawn ten times a second at most, and gone when the run ends."""

    def __init__(self, screen: Screen, tally: Tally) -> None:
        self._screen, self._tally = screen, tally
        self._live: Live | None = None
        self._drawn = 0.0

    def show(self, event: Event) -> None:
        if isinstance(event, PlanReady):
            self._say(announcement(event))
            self._say(warning(event) or "")
        elif isinstance(event, RunStarted) and event.planned > event.reused and self._live is None:
            self._start()
        elif isinstance(event, RunFinished):
            self.close()
        elif isinstance(event, TracesExported):
            self._say(exported(event))
        elif isinstance(event, Stopping) and event.why is not None:
            self._say(event.why)
        elif self._live is not None and time.monotonic() - self._drawn >= FRAME_S:
            self._drawn = time.monotonic()
            self._live.update(self._frame(), refresh=True)

    def _say(self, text: str) -> None:
        from rich.text import Text

        from dfah_cli.render.text import writable

        if text:
            self._console.print(Text(writable(text, getattr(self._screen.err, "encoding", None))))

    @cached_property
    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._screen.err, markup=False, highlight=False, emoji=False)

    def _start(self) -> None:
        from rich.live import Live

        self._live = Live(
            self._frame(),
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _frame(self) -> Text:
        return frame(self._tally, self._console.width, getattr(self._screen.err, "encoding", None))

    def close(self) -> None:
        """The bar is gone."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def frame(tally: Tally, width: int, encoding: str | None) -> Text:
    """The bar with what is told of the tally; a narrow terminal gets several lines, not the beginning of one."""
    from rich.text import Text

    from dfah_cli.render.text import writable
    from dfah_cli.render.wrapping import hanging

    parts, room = status_parts(tally), width - len(BEFORE_BAR) - len(AFTER_BAR)
    fits = LEAST_BAR + len(SEPARATOR.join(parts)) <= room
    beside, below = (SEPARATOR.join(parts), []) if fits else (parts[0], parts[1:])
    length = max(LEAST_BAR, min(MOST_BAR, room - len(beside)))
    filled = length * (tally.reused + tally.done) // max(1, tally.planned)
    bar = writable("━" * filled + ("╺" if filled < length else "") + "─" * (length - 1 - filled), encoding)
    shown = Text(BEFORE_BAR, no_wrap=True, overflow="ellipsis")
    shown.append(bar[:filled], "green").append(bar[filled:], "dim").append(AFTER_BAR + beside)
    pieces = [*(f"{part}," for part in below[:-1]), *below[-1:]]
    lines = hanging(pieces, width, "  ", "  ") if pieces else ()
    return shown.append("".join(f"\n{writable(line, encoding)}" for line in lines))
