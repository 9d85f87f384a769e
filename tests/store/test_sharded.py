"""Several runners on one schedule in an object storage: every slot once, one log in the end."""

from __future__ import annotations

from hashlib import sha256

import pytest

from dfah_cli import merkle
from dfah_cli.errors import ConfigurationError, FencedError, LeaseError, StaleLeaseError, StorageError
from dfah_cli.store.protocol import RunReader, RunWriter, SlotState
from tests.contract.store_contract import MANIFEST, a_plan, a_report, a_session, an_episode, an_intent, fixed_clock
from tests.contract.store_contract import planned as a_window
from tests.store.test_log import ScriptedHost

pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")

from obstore.store import MemoryStore

from dfah_cli.store.bucket import Bucket
from dfah_cli.store.object_store import ObjectStore, bound_shards
from dfah_cli.store.opening import store_in
from dfah_cli.store.sharded import ShardedStore

EPISODES = 12


def a_bucket() -> Bucket:
    return Bucket(MemoryStore(), "runs/one", "s3://bucket/runs/one", pause_s=0.0)


def opened(store: ShardedStore | ObjectStore, **options: bool) -> RunWriter:
    return store.open_writer(plan_bytes=a_plan(EPISODES), manifest_bytes=MANIFEST, clock=fixed_clock, **options)


def work(writer: RunWriter) -> list[int]:
    """Everything that is left of the part: the slots that were called."""
    left = [slot for slot, state in enumerate(writer.slots) if state <= SlotState.PLANNED]
    writer.commit_now([a_session(writer), a_window(0, EPISODES)])
    for slot in left:
        writer.commit_now([an_intent(slot)])
        writer.commit_now([an_episode(slot)])
    return left


def commitment_of(reader: RunReader) -> tuple[str, str]:
    found = [(b["case_id"], b["replay_index"], h) for h, b in reader.records() if b["t"] == "episode"]
    root = merkle.episode_root(found)
    plan = sha256(reader.plan_bytes).hexdigest()
    return root, merkle.commitment(episodes=len(found), episode_root=root, plan_sha256=plan)


def finish(writer: RunWriter) -> None:
    root, commitment = commitment_of(writer.reader())
    writer.seal(episodes=EPISODES, episode_root=root, commitment=commitment)


def test_a_runner_takes_one_part_after_the_other() -> None:
    with opened(ShardedStore(a_bucket(), 3)) as writer:
        called = work(writer)
        assert len(called) == EPISODES // 3
        while writer.next_part():
            called += work(writer)
        assert sorted(called) == list(range(EPISODES))
        assert writer.unfinished() is None


def test_the_finished_run_is_one_log_in_the_order_of_the_schedule() -> None:
    store = ShardedStore(a_bucket(), 3)
    with opened(store) as writer:
        work(writer)
        while writer.next_part():
            work(writer)
        before = {h for h, body in writer.reader().records() if body["t"] in ("episode", "dispatching")}
        finish(writer)
        assert writer.publish_report(b"{}", a_report()) == 1
    reader = store.open_reader()
    records = list(reader.records())
    assert [body["i"] for _, body in records if body["t"] == "episode"] == list(range(EPISODES))
    assert before == {h for h, body in records if body["t"] in ("episode", "dispatching")}
    assert reader.tail().sealed
    assert reader.report(1) == b"{}"


def test_one_log_or_several_commit_to_the_same_episodes() -> None:
    several, one = ShardedStore(a_bucket(), 4), ObjectStore(a_bucket())
    for store in (several, one):
        with opened(store) as writer:
            work(writer)
            while writer.next_part():
                work(writer)
            finish(writer)
    assert commitment_of(several.open_reader()) == commitment_of(one.open_reader())


def test_a_second_runner_takes_another_part_and_says_in_the_end_who_holds_the_first() -> None:
    store = ShardedStore(a_bucket(), 2)
    with opened(store) as first, opened(store) as second:
        assert not set(work(first)) & set(work(second))
        assert not second.next_part()
        assert "others hold 1 of 2 parts" in str(second.unfinished())
        with pytest.raises(StorageError, match="nothing is stated"):
            second.publish_report(b"{}", a_report())
        assert not first.next_part()
        assert first.unfinished() is None
        finish(first)


def test_a_run_whose_parts_are_all_held_is_refused() -> None:
    store = ShardedStore(a_bucket(), 1 + 1)
    with opened(store), opened(store), pytest.raises(LeaseError, match="others hold 2 of 2 parts"):
        opened(store)


def test_a_part_of_a_dead_runner_needs_the_explicit_word() -> None:
    host = ScriptedHost()
    store = ShardedStore(a_bucket(), 2, host=host)
    writer = opened(store)
    mine = next(slot for slot, state in enumerate(writer.slots) if state == SlotState.ABSENT)
    writer.commit_now([a_window(0, EPISODES), an_intent(mine)])
    host.die()
    with opened(store) as second:
        work(second)
        assert not second.next_part()
        assert "--recover-stale-lease" in str(second.unfinished())
    with pytest.raises(StaleLeaseError, match="--recover-stale-lease"):
        opened(store)
    with opened(store, recover_stale_lease=True) as third:
        assert third.slots[mine] == SlotState.DISPATCHING
        third.commit_now([an_episode(mine, status="interrupted")])
        assert mine not in work(third)
        assert not third.next_part()
        finish(third)


def test_a_writer_that_was_taken_over_writes_nothing_more() -> None:
    host = ScriptedHost()
    store = ShardedStore(a_bucket(), 1 + 1, host=host)
    one, two = opened(store), opened(store)
    host.die()
    successor = opened(store, recover_stale_lease=True)
    other = opened(store, recover_stale_lease=True)
    for lost in (one, two):
        host.current = 100
        with pytest.raises(FencedError, match="another writer took over"):
            lost.commit_now([a_window(0, EPISODES)])
        lost.close()
    host.current = 101
    assert sorted(work(successor) + work(other)) == list(range(EPISODES))


def test_a_merge_that_was_cut_off_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from dfah_cli.store import merging

    host = ScriptedHost()
    store = ShardedStore(a_bucket(), 3, host=host)
    with opened(store) as writer:
        work(writer)
        while writer.next_part():
            work(writer)
    own = store.whole().open_writer(plan_bytes=a_plan(EPISODES), manifest_bytes=MANIFEST, clock=fixed_clock)
    monkeypatch.setattr(merging, "ROOM", 1200)
    whole = list(store.open_reader().records())

    class Cut:
        def records(self) -> object:
            return iter(whole)

    committed = own.commit_now
    times = iter(range(4))
    own.commit_now = lambda records: committed(records) if next(times, None) is not None else host.die()  # type: ignore
    merging.merge(Cut(), own)  # type: ignore[arg-type]
    with opened(store, recover_stale_lease=True) as successor:
        finish(successor)
    records = [body for _, body in store.open_reader().records()]
    assert [body["i"] for body in records if body["t"] == "episode"] == list(range(EPISODES))
    assert sum(body["t"] == "session" for body in records) == 3


def test_the_number_of_logs_is_fixed_at_creation() -> None:
    bucket = a_bucket()
    opened(ShardedStore(bucket, 3)).close()
    assert bound_shards(bucket) == 3
    assert isinstance(store_in(bucket), ShardedStore)
    with pytest.raises(ConfigurationError, match="made with shards=3"):
        store_in(bucket, shards=4)
