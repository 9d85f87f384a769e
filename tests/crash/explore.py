"""The enumerator: every crash point of every run from every state that a crash before it may have left."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tests.crash.losses import content_key, flushed, killed, power_losses
from tests.crash.scenario import Oracle, Scenario, SimHost
from tests.crash.sim_fs import Disk, SimFs


class Mode(NamedTuple):
    """The kind of crash at each depth: `k` kill, `p` power loss. powersafe: see `losses`."""

    crashes: str
    powersafe: bool = True


class State(NamedTuple):
    """What the next process finds: the disk, what the world knows, and how many starts of the kernel there were."""

    disk: Disk
    oracle: Oracle
    boot: int


class Found(Exception):
    """A broken promise, or a refusal of a legal state, and the way there."""


def after(scenario: type[Scenario]) -> State:
    """What a scenario leaves that no crash disturbs."""
    oracle, fs = Oracle(), SimFs(Disk(), lambda *_: None)
    scenario(fs, SimHost(9, 0), oracle).run()
    return State(flushed(fs.disk), oracle, 0)


class Explorer:
    """Counts the states it has run to their end."""

    def __init__(self, mode: Mode, scenario: type[Scenario] = Scenario, sample: int = 0, seed: int = 0) -> None:
        """sample: after the first crash take only so many states of each run; 0 takes all."""
        self.mode, self.scenario, self.sample = mode, scenario, sample
        self.states = 0
        self._random = Random(seed)
        self._seen: list[set[object]] = [set() for _ in range(len(mode.crashes) + 1)]

    def explore(self, start: State | None = None) -> int:
        """The number of states that were run to their end. Raises: Found."""
        self._explore(start or State(Disk(), Oracle(), 0), 0)
        return self.states

    def _explore(self, state: State, depth: int) -> None:
        self.states += 1
        following: list[State] = []
        last = depth == len(self.mode.crashes)

        def before(fs: SimFs, kind: str, handle: int, payload: bytes) -> None:
            if not last:
                following.extend(self._crashes(fs, kind, handle, payload, State(fs.disk, oracle, state.boot), depth))

        oracle = state.oracle.copy()
        fs = SimFs(state.disk.copy(), before)
        host = SimHost(depth, state.boot)
        try:
            self.scenario(fs, host, oracle).run()
        except Exception as error:
            raise Found(f"after {depth} crash(es) of {self.mode}: {type(error).__name__}: {error}") from error
        before(fs, "end", 0, b"")
        if self.sample and depth > 0 and len(following) > self.sample:
            following = self._random.sample(following, self.sample)
        for next_state in following:
            self._explore(next_state, depth + 1)

    def _crashes(self, fs: SimFs, kind: str, handle: int, payload: bytes, at: State, depth: int) -> Iterator[State]:
        """The states not seen before at this depth that a crash here may leave."""
        power = self.mode.crashes[depth] == "p"
        later_power = "p" in self.mode.crashes[depth + 1 :]
        if power:
            disks = power_losses(at.disk, powersafe=self.mode.powersafe)
        else:
            disks = killed(fs, kind, handle, payload)
        for disk in disks:
            left = disk if power or later_power else flushed(disk)
            key = content_key(left, whole=later_power and not power), at.oracle.key(), at.boot
            if key not in self._seen[depth + 1]:
                self._seen[depth + 1].add(key)
                yield State(left, at.oracle.copy(), at.boot + power)
