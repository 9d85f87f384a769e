"""What every store must do; a store's own test class inherits `StoreContract` and says how to make one."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import orjson
import pytest

from dfah_cli import merkle
from dfah_cli.errors import (
    ArtifactError,
    DesignMismatchError,
    EpisodeConflictError,
    LeaseError,
    StaleLeaseError,
    ValidationError,
)
from dfah_cli.store.protocol import Body, RunStore, RunWriter, SlotState

MANIFEST = b'{"model":"toy","provider":"none"}'
MANIFEST_HASH = sha256(MANIFEST).hexdigest()


def a_plan(episodes: int = 4, seed: int = 42) -> bytes:
    plan = {"episodes_planned": episodes, "manifest_hash": MANIFEST_HASH, "seed": seed}
    return orjson.dumps(plan, option=orjson.OPT_SORT_KEYS)


def fixed_clock() -> str:
    return "2025-01-02T03:04:05.000000Z"


def key(ordinal: int) -> str:
    return sha256(f"slot {ordinal}".encode()).hexdigest()


def planned(low: int, high: int) -> Body:
    return {"t": "planned", "from": low, "to": high}


def an_intent(ordinal: int) -> Body:
    return {"t": "dispatching", "i": ordinal, "k": key(ordinal), "at": fixed_clock(), "reserved_nusd": 0}


def an_episode(ordinal: int, **changes: Any) -> Body:
    body: Body = {
        "t": "episode",
        "i": ordinal,
        "k": key(ordinal),
        "manifest_hash": MANIFEST_HASH,
        "case_id": f"CASE-{ordinal // 2}",
        "task": "triage",
        "replay_index": ordinal % 2,
        "status": "valid",
        "dispatch_state": "complete",
        "decision": "escalate",
        "trajectory": {"state": "observed_empty", "steps": []},
        "cost_nusd": 1000,
        "latency_us": 2000,
        "ended_at": fixed_clock(),
    }
    return {**body, **changes}


def a_session(writer: RunWriter) -> Body:
    return {"t": "session", "w": writer.token, "at": fixed_clock(), "provenance": '{"engine":"local"}'}


def a_report(commitment: str = "ab" * 32) -> Body:
    return {"commitment": commitment, "log_n": 1, "log_root": "cd" * 32}


class StoreContract:
    """Inherit, implement `make_store` (an empty one) and `lose_writer` (it dies where it stands)."""

    def make_store(self, tmp_path: Any) -> RunStore:
        raise NotImplementedError

    def lose_writer(self, store: RunStore, writer: RunWriter) -> None:
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Any) -> RunStore:
        return self.make_store(tmp_path)

    def open(self, store: RunStore, episodes: int = 4, **options: Any) -> RunWriter:
        return store.open_writer(plan_bytes=a_plan(episodes), manifest_bytes=MANIFEST, clock=fixed_clock, **options)

    def bodies(self, store: RunStore, *kinds: str) -> list[Body]:
        return [body for _, body in store.open_reader().records() if not kinds or body["t"] in kinds]

    def finish(self, writer: RunWriter, episodes: int = 4) -> tuple[str, str]:
        """Records every episode; (episode root, commitment)."""
        writer.commit_now([planned(0, episodes), *(an_intent(i) for i in range(episodes))])
        writer.commit_now([an_episode(i) for i in range(episodes)])
        found = [(b["case_id"], b["replay_index"], h) for h, b in writer.reader().records() if b["t"] == "episode"]
        root = merkle.episode_root(found)
        plan_sha256 = sha256(writer.plan_bytes).hexdigest()
        return root, merkle.commitment(episodes=episodes, episode_root=root, plan_sha256=plan_sha256)

    # opening

    def test_an_empty_place_has_no_plan_and_no_reader(self, store: RunStore) -> None:
        assert store.peek_plan() is None
        with pytest.raises(ArtifactError):
            store.open_reader()

    def test_opening_binds_plan_and_manifest(self, store: RunStore) -> None:
        with self.open(store) as writer:
            assert writer.slots == bytearray(4)
            assert (writer.plan_bytes, writer.manifest_bytes) == (a_plan(), MANIFEST)
        assert store.peek_plan() == a_plan()
        reader = store.open_reader()
        assert (reader.plan_bytes, reader.manifest_bytes) == (a_plan(), MANIFEST)
        assert reader.slots() == bytearray(4)

    def test_another_plan_is_refused(self, store: RunStore) -> None:
        self.open(store).close()
        with pytest.raises(DesignMismatchError):
            store.open_writer(plan_bytes=a_plan(seed=7), manifest_bytes=MANIFEST, clock=fixed_clock)
        assert store.peek_plan() == a_plan()

    def test_a_manifest_that_the_plan_does_not_name_is_refused(self, store: RunStore) -> None:
        with pytest.raises(ArtifactError):
            store.open_writer(plan_bytes=a_plan(), manifest_bytes=b"{}", clock=fixed_clock)

    def test_a_second_writer_is_refused_and_the_first_goes_on(self, store: RunStore) -> None:
        with self.open(store) as writer:
            with pytest.raises(LeaseError):
                self.open(store)
            writer.commit_now([planned(0, 4)])
        self.open(store).close()

    def test_a_lease_left_by_a_dead_writer_needs_the_explicit_word(self, store: RunStore) -> None:
        writer = self.open(store)
        writer.commit_now([planned(0, 4), an_intent(2)])
        self.lose_writer(store, writer)
        with pytest.raises(StaleLeaseError, match="--recover-stale-lease"):
            self.open(store)
        with self.open(store, recover_stale_lease=True) as successor:
            assert successor.slots == bytearray([1, 1, 2, 1])

    # recording

    def test_slots_follow_the_commits(self, store: RunStore) -> None:
        with self.open(store) as writer:
            writer.commit_now([planned(0, 3), an_intent(0)])
            assert list(writer.slots) == [SlotState.DISPATCHING, SlotState.PLANNED, SlotState.PLANNED, 0]
            writer.commit_now([an_episode(0), an_intent(1)])
            assert list(writer.slots) == [3, 2, 1, 0]
        assert list(store.open_reader().slots()) == [3, 2, 1, 0]
        with self.open(store) as successor:
            assert list(successor.slots) == [3, 2, 1, 0]

    def test_records_come_back_in_order_with_their_digest(self, store: RunStore) -> None:
        written = [planned(0, 4), an_intent(1), an_intent(0)]
        with self.open(store) as writer:
            writer.commit_now([a_session(writer)])
            writer.commit_now(written)
            writer.commit_now([an_episode(0)])
        assert self.bodies(store, "planned", "dispatching", "episode") == [*written, an_episode(0)]
        for h, body in store.open_reader().records():
            assert h == sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()

    def test_the_root_is_the_tree_over_the_digests(self, store: RunStore) -> None:
        with self.open(store) as writer:
            self.finish(writer)
        reader = store.open_reader()
        digests = [bytes.fromhex(h) for h, _ in reader.records()]
        tail = reader.tail()
        assert (tail.n, tail.root) == (len(digests), merkle.tree_root(digests).hex())
        assert tail.last_at == fixed_clock()
        assert not tail.sealed

    def test_concurrent_commits_are_all_recorded(self, store: RunStore) -> None:
        async def one(writer: RunWriter, ordinal: int) -> None:
            await writer.commit([an_intent(ordinal)])
            await writer.commit([an_episode(ordinal)])

        async def everything(writer: RunWriter) -> None:
            await writer.commit([planned(0, 40)])
            await asyncio.gather(*(one(writer, ordinal) for ordinal in range(40)))

        with self.open(store, episodes=40, concurrency=40) as writer:
            asyncio.run(everything(writer))
            assert writer.slots == bytearray([3]) * 40
        assert sorted(body["i"] for body in self.bodies(store, "episode")) == list(range(40))

    def test_committing_nothing_writes_nothing(self, store: RunStore) -> None:
        with self.open(store) as writer:
            asyncio.run(writer.commit([]))
            writer.commit_now([])
            assert writer.reader().tail().n == 0

    @pytest.mark.parametrize(
        "refused",
        [
            [an_intent(0)],
            [planned(0, 4), an_episode(0)],
            [planned(0, 4), an_intent(0), an_intent(0)],
            [planned(0, 4), an_intent(0), an_episode(0), an_intent(0)],
            [planned(0, 5)],
            [planned(2, 2)],
            [planned(0, 4), an_intent(4)],
            [planned(0, 4), an_intent(0), an_episode(0, manifest_hash="00" * 32)],
            [planned(0, 4), {"t": "surprise"}],
            [planned(0, 4), {**an_intent(0), "surprise": 1}],
            [planned(0, 4), {"t": "dispatching", "i": 0}],
            [{"t": "close", "episodes": 0, "episode_root": "", "log_n": 0}],
        ],
    )
    def test_what_no_reader_would_accept_is_not_written(self, store: RunStore, refused: list[Body]) -> None:
        with self.open(store) as writer:
            with pytest.raises(ArtifactError):
                writer.commit_now(refused)
            with pytest.raises(ArtifactError):
                asyncio.run(writer.commit(refused))
            assert writer.slots == bytearray(4)
            writer.commit_now([planned(0, 4)])
        assert self.bodies(store, "planned", "dispatching", "episode") == [planned(0, 4)]

    def test_a_second_terminal_record_is_a_conflict(self, store: RunStore) -> None:
        with self.open(store) as writer:
            writer.commit_now([planned(0, 4), an_intent(0)])
            writer.commit_now([an_episode(0)])
            with pytest.raises(EpisodeConflictError):
                writer.commit_now([an_episode(0, decision="dismiss")])
        assert self.bodies(store, "episode") == [an_episode(0)]

    @pytest.mark.parametrize("value", [1.5, 2**53, {"é": 1}, {"deep": [{"x": 0.0}]}, "\ud800", {1: 2}, {1, 2}])
    def test_values_without_one_canonical_spelling_are_refused(self, store: RunStore, value: Any) -> None:
        with self.open(store) as writer:
            writer.commit_now([planned(0, 4), an_intent(0)])
            with pytest.raises(ValidationError):
                writer.commit_now([an_episode(0, usage=value)])
            writer.commit_now([an_episode(0)])

    def test_a_long_trajectory_comes_back_whole(self, store: RunStore) -> None:
        long = an_episode(0, trajectory={"steps": ["x" * 50] * 8000})
        with self.open(store) as writer:
            writer.commit_now([planned(0, 4), an_intent(0)])
            writer.commit_now([long])
        assert self.bodies(store, "episode") == [long]

    def test_a_record_that_stays_too_long_is_refused(self, store: RunStore) -> None:
        with self.open(store) as writer:
            writer.commit_now([planned(0, 4), an_intent(0)])
            with pytest.raises(ValidationError):
                writer.commit_now([an_episode(0, decision="x" * 300_000)])

    # stating and sealing

    def test_reports_and_gates_are_numbered_and_come_back(self, store: RunStore) -> None:
        gate = {"report": 1, "policy_sha256": "ef" * 32, "verdict": "PASS", "attempt": 1}
        with self.open(store) as writer:
            assert writer.publish_report(b'{"report":1}', a_report()) == 1
            assert writer.publish_report(b'{"report":2}', a_report()) == 2
            assert writer.publish_gate(b'{"gate":1}', gate) == 1
        reader = store.open_reader()
        assert (reader.report(1), reader.report(2), reader.gate(1)) == (
            b'{"report":1}',
            b'{"report":2}',
            b'{"gate":1}',
        )
        with pytest.raises(ArtifactError):
            reader.report(3)
        stated = self.bodies(store, "report")[0]
        assert stated["sha256"] == sha256(b'{"report":1}').hexdigest()

    def test_sealing_closes_once_and_again_changes_nothing(self, store: RunStore) -> None:
        with self.open(store) as writer:
            root, commitment = self.finish(writer)
            writer.seal(episodes=4, episode_root=root, commitment=commitment)
            before = list(writer.reader().records())
            writer.seal(episodes=4, episode_root=root, commitment=commitment)
            assert list(writer.reader().records()) == before
        reader = store.open_reader()
        assert list(reader.records())
        tail = reader.tail()
        assert tail.sealed
        assert tail.close is not None
        assert (tail.close["episodes"], tail.close["episode_root"]) == (4, root)

    def test_a_commitment_that_does_not_follow_is_not_sealed(self, store: RunStore) -> None:
        with self.open(store) as writer:
            root, _ = self.finish(writer)
            with pytest.raises(ArtifactError):
                writer.seal(episodes=4, episode_root=root, commitment="00" * 32)
        assert not store.open_reader().tail().sealed

    def test_an_unfinished_run_is_not_sealed(self, store: RunStore) -> None:
        with self.open(store) as writer:
            writer.commit_now([planned(0, 4)])
            root = merkle.EMPTY_ROOT.hex()
            plan_sha256 = sha256(writer.plan_bytes).hexdigest()
            commitment = merkle.commitment(episodes=0, episode_root=root, plan_sha256=plan_sha256)
            with pytest.raises(ArtifactError):
                writer.seal(episodes=0, episode_root=root, commitment=commitment)

    def test_a_sealed_run_takes_reports_but_no_more_evidence(self, store: RunStore) -> None:
        with self.open(store) as writer:
            root, commitment = self.finish(writer)
            writer.seal(episodes=4, episode_root=root, commitment=commitment)
            with pytest.raises(ArtifactError):
                writer.commit_now([planned(0, 4)])
            assert writer.publish_report(b"{}", a_report(commitment)) == 1
        with self.open(store) as successor:
            assert successor.slots == bytearray([3]) * 4
            assert successor.publish_report(b"[]", a_report(commitment)) == 2
        reader = store.open_reader()
        assert list(reader.records())
        assert reader.tail().sealed
        assert (reader.report(1), reader.report(2)) == (b"{}", b"[]")
