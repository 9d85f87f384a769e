"""What a run that another process writes has come to, told from its log as it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from dfah_cli.errors import DFAHError
from dfah_cli.planning.plan import plan_from_bytes
from dfah_cli.planning.schedule import Schedule
from dfah_cli.records.enums import EpisodeStatus
from dfah_cli.store import layout
from dfah_cli.store.follow import LogFollower
from dfah_cli.store.opening import followers
from dfah_cli.store.places import Place
from dfah_cli.workflow.listing import Listed, look, run_directories, state_of, verdict_of

Body = Mapping[str, Any]
STARTING = "starting"
LIVE = ("running", "held elsewhere", STARTING)
QUIET = "sealed"


@frozen(kw_only=True)
class Progress:
    """How far a run is. Nothing here is verified evidence; None where it is not known.

    per_s: episodes a second of the current session. left_s: seconds left at that rate. slowest: the case whose call
    has taken longest and is not back, and for how many seconds. held_nusd: reserved for calls that are not back.
    """

    run: Place
    state: str
    done: int | None = None
    planned: int | None = None
    failed: int | None = None
    reused: int | None = None
    tool_calls: int | None = None
    spent_nusd: int | None = None
    held_nusd: int | None = None
    per_s: float | None = None
    left_s: float | None = None
    slowest: tuple[str, float] | None = None
    gate: str | None = None
    why: str | None = None

    @property
    def live(self) -> bool:
        """Whether somebody may still be writing it."""
        return self.state in LIVE

    @property
    def complete(self) -> bool:
        """Whether nothing is left to run."""
        return self.planned is not None and self.done == self.planned


class LogTally:
    """Counts of the records of one log. Pure: times are those that the records state."""

    def __init__(self) -> None:
        self.done = self.failed = self.reused = self.tool_calls = self.spent_nusd = 0
        self.flying: dict[int, tuple[str, int]] = {}
        self.session_at: str | None = None
        self.last_at: str | None = None

    def take(self, body: Body) -> None:
        """One record; those of other types change nothing."""
        kind = body["t"]
        if kind == "session":
            # What an earlier writer left in flight is settled before anything else is sent.
            self.reused, self.session_at, self.last_at = self.done, body["at"], None
        elif kind == "dispatching":
            self.flying[body["i"]] = (body["at"], body.get("reserved_nusd") or 0)
        elif kind == "episode":
            self._finished(body)

    def _finished(self, body: Body) -> None:
        self.flying.pop(body["i"], None)
        self.done += 1
        self.failed += body["status"] != EpisodeStatus.VALID
        self.tool_calls += len((body.get("trajectory") or {}).get("calls", ()))
        self.spent_nusd += body.get("cost_nusd") or 0
        self.last_at = body.get("ended_at") or self.last_at

    @property
    def held_nusd(self) -> int:
        """Money reserved for what is in flight."""
        return sum(reserved for _, reserved in self.flying.values())

    @property
    def per_s(self) -> float | None:
        """Episodes a second since the session began; None before the first."""
        if self.session_at is None or self.last_at is None or self.done == self.reused:
            return None
        spent = (_moment(self.last_at) - _moment(self.session_at)).total_seconds()
        return (self.done - self.reused) / spent if spent > 0 else None

    def slowest(self, now: datetime) -> tuple[int, float] | None:
        """Ordinal of the call that has been in flight longest, and for how many seconds."""
        if not self.flying:
            return None
        ordinal, (at, _) = min(self.flying.items(), key=lambda item: item[1][0])
        return ordinal, max(0.0, (now - _moment(at)).total_seconds())


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


class Watched:
    """One run directory under watch. A run that is over when it is first seen is only looked at, not followed."""

    def __init__(self, path: Place) -> None:
        self.path = path
        self._tally = LogTally()
        self._followers: list[LogFollower] = []
        self._schedule: Schedule | None = None

    def look(self, now: datetime) -> Progress:
        """The run as it is; only what is new in its log is read."""
        try:
            # Before the log: what it says when the writer is gone is all it will ever say.
            state = state_of(self.path)
            if not self._followers and state == QUIET:
                return _of(look(self.path))
            if not self._followers and not (self.path / layout.PLAN).exists():
                return Progress(run=self.path, state=STARTING if state in LIVE else state)
            self._follow()
            return self._progress(state, now)
        except (DFAHError, OSError) as problem:
            return Progress(run=self.path, state="damaged", why=str(problem))

    def close(self) -> None:
        """Gives the handles back."""
        for follower in self._followers:
            follower.close()

    def _follow(self) -> None:
        if not self._followers:
            self._followers = followers(self.path)
            plan = plan_from_bytes(self._followers[0].plan_bytes)
            self._schedule = Schedule(plan.case_tasks, plan.replays, plan.seed, plan.schedule)
        for follower in self._followers:
            for body in follower.poll():
                self._tally.take(body)

    def _progress(self, state: str, now: datetime) -> Progress:
        tally, schedule = self._tally, self._schedule
        assert schedule is not None
        live = state in LIVE
        rate, slowest = tally.per_s if live else None, tally.slowest(now) if live else None
        return Progress(
            run=self.path,
            state=state,
            done=tally.done,
            planned=len(schedule),
            failed=tally.failed,
            reused=tally.reused,
            tool_calls=tally.tool_calls,
            spent_nusd=tally.spent_nusd,
            held_nusd=tally.held_nusd if live else 0,
            per_s=rate,
            left_s=None if not rate else (len(schedule) - tally.done) / rate,
            slowest=None if slowest is None else (schedule[slowest[0]].case_id, slowest[1]),
            gate=verdict_of(self.path),
        )


def _of(listed: Listed) -> Progress:
    return Progress(
        run=listed.path,
        state=listed.state,
        done=listed.episodes,
        planned=listed.planned,
        spent_nusd=listed.cost_nusd,
        gate=listed.verdict,
        why=listed.why,
    )


class Watch:
    """All runs below some directories, also those that appear later."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._places = places
        self._known: dict[Place, Watched] = {}

    def look(self, now: datetime) -> list[Progress]:
        """Every run, in order of the places and of their paths.

        Raises: ConfigurationError when a place does not exist.
        """
        return [self._known.setdefault(path, Watched(path)).look(now) for path in self._paths()]

    def close(self) -> None:
        """Gives all handles back."""
        for watched in self._known.values():
            watched.close()

    def _paths(self) -> Iterator[Place]:
        seen: set[Place] = set()
        for place in self._places:
            for path in run_directories(place):
                if path not in seen:
                    seen.add(path)
                    yield path
