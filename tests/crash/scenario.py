"""A whole run over the real store, and the oracle that knows what was promised.

It goes on from whatever it finds: settles what was interrupted, dispatches what is planned, states a report, seals,
records a gate. What it was told is durable, and what it sent to the provider, is kept outside the disk.
"""

from __future__ import annotations

from collections.abc import Coroutine
from hashlib import sha256
from typing import Any

from dfah_cli import merkle
from dfah_cli.store.framing import frame
from dfah_cli.store.host import Host
from dfah_cli.store.log import LogStore
from dfah_cli.store.protocol import Body, RunReader, RunWriter, SlotState
from tests.contract.store_contract import MANIFEST, MANIFEST_HASH, a_plan, fixed_clock
from tests.crash.sim_fs import SimFs

EPISODES = 2


class Broken(AssertionError):
    """A promise was broken."""


class Oracle:
    """What the world outside the disk knows."""

    def __init__(self, called: frozenset[int] = frozenset(), acknowledged: tuple[tuple[str, str], ...] = ()) -> None:
        self.called, self.acknowledged = called, acknowledged

    def copy(self) -> Oracle:
        return Oracle(self.called, self.acknowledged)

    def key(self) -> object:
        return self.called, self.acknowledged

    def call(self, slot: int) -> None:
        if slot in self.called:
            raise Broken(f"slot {slot} was dispatched a second time")
        self.called |= {slot}

    def acknowledge(self, name: str, digest: str) -> None:
        self.acknowledged = (*self.acknowledged, (name, digest))


class SimHost(Host):
    """One process after the other; a power loss changes the boot id."""

    def __init__(self, process: int, boot: int) -> None:
        self.process, self.boot = process, boot

    def pid(self) -> int:
        return 100 + self.process

    def new_token(self) -> str:
        return f"{self.process:032d}"

    def hostname(self) -> str:
        return "sim"

    def boot_id(self) -> str:
        return f"boot-{self.boot}"

    def machine(self) -> str:
        return "machine"

    def pid_namespace(self) -> str:
        return "pid:[1]"

    def start_ticks(self, pid: int) -> str:
        return "1" if pid == self.pid() else ""


class SimStore(LogStore):
    reserve_base = 64
    reserve_per_caller = 0


def run_through(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs what never has to wait, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("a lone caller had to wait")


def an_intent(slot: int) -> Body:
    return {"t": "dispatching", "i": slot, "k": f"{slot:064d}", "at": "T"}


def a_terminal(slot: int, status: str, process: int) -> Body:
    return {
        "t": "episode",
        "i": slot,
        "k": f"{slot:064d}",
        "manifest_hash": MANIFEST_HASH,
        "case_id": f"C{slot}",
        "replay_index": 0,
        "status": status,
        "dispatch_state": "complete",
        "ended_at": f"T{process}",
    }


class Scenario:
    """One process over one disk: the whole of a run."""

    concludes = True
    reissues = False  # a seeded mistake of the caller

    def __init__(self, fs: SimFs, host: SimHost, oracle: Oracle) -> None:
        self.host, self.oracle = host, oracle
        self.store = SimStore("/run", fs=fs, host=host)
        self.fs = fs

    def run(self) -> None:
        writer = self.store.open_writer(
            plan_bytes=a_plan(EPISODES), manifest_bytes=MANIFEST, clock=fixed_clock, recover_stale_lease=True
        )
        self._check_slots(writer)
        self._settle(writer)
        self._dispatch(writer)
        if not self.concludes or self._conclude(writer):
            self._check_promises(writer.reader())
        writer.close()

    def _check_slots(self, writer: RunWriter) -> None:
        for name, _ in self.oracle.acknowledged:
            kind, number = name.split()
            if kind == "episode" and writer.slots[int(number)] != SlotState.COMMITTED:
                raise Broken(f"{name} was acknowledged and is lost")

    def _check_promises(self, reader: RunReader) -> list[tuple[str, Body]]:
        """The records, when everything that was acknowledged is in them, unaltered."""
        records = list(reader.records())
        found = {f"episode {body['i']}": h for h, body in records if body["t"] == "episode"}
        for name, digest in self.oracle.acknowledged:
            if name.startswith("episode "):
                if found.get(name) != digest:
                    raise Broken(f"{name} was acknowledged and is {'altered' if name in found else 'lost'}")
            elif sha256(reader.report(int(name.split()[1]))).hexdigest() != digest:
                raise Broken(f"{name} was acknowledged and is altered")
        return records

    def _commit(self, writer: RunWriter, *records: Body) -> None:
        run_through(writer.commit(records))
        for body in records:
            if body["t"] == "episode":
                self.oracle.acknowledge(f"episode {body['i']}", frame(body).h)

    def _settle(self, writer: RunWriter) -> None:
        open_slots = [slot for slot, state in enumerate(writer.slots) if state == SlotState.DISPATCHING]
        if self.reissues:
            for slot in open_slots:
                self.oracle.call(slot)
        if open_slots:
            terminals = [a_terminal(slot, "interrupted", self.host.process) for slot in open_slots]
            self._commit(writer, *terminals)

    def _dispatch(self, writer: RunWriter) -> None:
        terminal: list[Body] = []
        absent = [slot for slot, state in enumerate(writer.slots) if state == SlotState.ABSENT]
        windows: list[Body] = [{"t": "planned", "from": absent[0], "to": EPISODES}] if absent else []
        for slot in [slot for slot, state in enumerate(writer.slots) if state <= SlotState.PLANNED]:
            self._commit(writer, *terminal, *windows, an_intent(slot))
            self.oracle.call(slot)
            terminal, windows = [a_terminal(slot, "valid", self.host.process)], []
        if terminal:
            self._commit(writer, *terminal)

    def _conclude(self, writer: RunWriter) -> bool:
        """Whether anything had to be written."""
        reader = writer.reader()
        records = self._check_promises(reader)
        tail = reader.tail()
        kinds = {body["t"] for _, body in records}
        episodes = [(body["case_id"], body["replay_index"], h) for h, body in records if body["t"] == "episode"]
        root = merkle.episode_root(episodes)
        plan = sha256(writer.plan_bytes).hexdigest()
        commitment = merkle.commitment(episodes=EPISODES, episode_root=root, plan_sha256=plan)
        if "report" not in kinds:
            payload = b'{"report":true}'
            body = {"commitment": commitment, "log_n": tail.n, "log_root": tail.root}
            ordinal = writer.publish_report(payload, body)
            self.oracle.acknowledge(f"report {ordinal}", sha256(payload).hexdigest())
        writer.seal(episodes=EPISODES, episode_root=root, commitment=commitment)
        if "gate" not in kinds:
            writer.publish_gate(b"{}", {"report": 1, "policy_sha256": "0", "verdict": "PASS", "attempt": 1})
        return not tail.sealed or "gate" not in kinds


class Recording(Scenario):
    """Without report, seal and gate: half of the run, so that two crashes can be enumerated within a minute."""

    concludes = False
