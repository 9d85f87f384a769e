"""Uncertain answers of an object storage are made certain: by the same bytes again, and by reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dfah_cli.errors import ConfigurationError, StorageError
from dfah_cli.store.protocol import SlotState
from tests.contract.store_contract import MANIFEST, a_plan, an_episode, an_intent, fixed_clock, planned

pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")

import obstore
from obstore.exceptions import AlreadyExistsError, GenericError, PermissionDeniedError
from obstore.store import MemoryStore

from dfah_cli.store.bucket import TRIES, Bucket, ObjectStorageError
from dfah_cli.store.object_store import ObjectStore


class Faulty:
    """obstore with a script: what happens at each conditional create, before or after it is carried out."""

    exceptions = obstore.exceptions

    def __init__(self, script: Iterator[Callable[[], None] | None], *, after: bool) -> None:
        self._script, self._after = script, after
        self.sent: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(obstore, name)

    def put(self, store: Any, path: str, payload: bytes, **options: Any) -> Any:
        if options.get("mode") != "create" or "probe" in path:
            return obstore.put(store, path, payload, **options)
        self.sent.append(bytes(payload))
        fault = next(self._script, None)
        if fault is not None and not self._after:
            fault()
        found = obstore.put(store, path, payload, **options)
        if fault is not None:
            fault()
        return found


def fails(kind: type[Exception]) -> Callable[[], None]:
    def fault() -> None:
        raise kind("scripted")

    return fault


def a_bucket(*script: Callable[[], None] | None, after: bool = False) -> tuple[Bucket, Faulty]:
    bucket = Bucket(MemoryStore(), "run", "s3://bucket/run", pause_s=0.0)
    faulty = Faulty(iter(script), after=after)
    bucket._ask = faulty  # type: ignore[assignment]
    return bucket, faulty


def test_a_create_whose_answer_was_lost_is_known_by_its_bytes() -> None:
    bucket, faulty = a_bucket(fails(GenericError), after=True)
    assert bucket.put_new("x", b"mine")
    assert faulty.sent == [b"mine", b"mine"]
    assert bucket.get("x") == b"mine"


def test_a_refused_create_where_nothing_is_there_is_tried_again() -> None:
    bucket, faulty = a_bucket(fails(AlreadyExistsError), fails(AlreadyExistsError))
    assert bucket.put_new("x", b"mine")
    assert len(faulty.sent) == 3


def test_other_bytes_mean_that_somebody_else_was_first() -> None:
    bucket, _ = a_bucket()
    assert bucket.put_new("x", b"theirs")
    assert not bucket.put_new("x", b"mine")
    assert bucket.get("x") == b"theirs"


def test_a_storage_that_does_not_answer_is_asked_a_few_times_only() -> None:
    bucket, faulty = a_bucket(*[fails(GenericError)] * 50)
    with pytest.raises(ObjectStorageError):
        bucket.put_new("x", b"mine")
    assert len(faulty.sent) == TRIES


def test_a_refused_access_is_told_without_the_servers_words() -> None:
    bucket, _ = a_bucket(fails(PermissionDeniedError))
    with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID") as told:
        bucket.put_new("x", b"mine")
    assert "scripted" not in str(told.value)


@pytest.mark.parametrize(
    ("status", "told"),
    [(403, "refused access. Give credentials"), (401, "refused access. Give credentials"), (404, "no such bucket")],
)
def test_a_refused_list_is_told_as_what_it_is(status: int, told: str) -> None:
    answered = f"Error performing list request - Server returned non-2xx status code: {status} Some: private words"
    bucket, faulty = a_bucket()
    faulty.list_with_delimiter = raising(GenericError(answered))
    with pytest.raises(ConfigurationError, match=told) as refused:
        bucket.names()
    assert "private" not in str(refused.value)


def test_the_status_of_an_answer_that_helps_nobody_is_told() -> None:
    bucket, faulty = a_bucket()
    faulty.list_with_delimiter = raising(GenericError("Server returned non-2xx status code: 400 Bad: private words"))
    with pytest.raises(ObjectStorageError, match=r"GenericError, status 400\); check .*credentials") as failed:
        bucket.names()
    assert "private" not in str(failed.value)


def raising(problem: Exception) -> Callable[..., Any]:
    def ask(*_: Any, **__: Any) -> Any:
        raise problem

    return ask


def test_a_writer_whose_storage_fails_stops_and_the_next_one_goes_on() -> None:
    bucket, faulty = a_bucket()
    store = ObjectStore(bucket)
    options: dict[str, Any] = {"plan_bytes": a_plan(), "manifest_bytes": MANIFEST, "clock": fixed_clock}
    writer = store.open_writer(**options)
    writer.commit_now([planned(0, 4), an_intent(0)])
    # The answer to the terminal record is lost for good, but the record is there.
    lost = [GenericError] * TRIES
    faulty.put = lambda *a, **o: _stored_then(lost, *a, **o)  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="acknowledged records are safe"):
        writer.commit_now([an_episode(0)])
    del faulty.put
    with pytest.raises(StorageError):
        writer.commit_now([an_intent(1)])
    writer.close()
    with store.open_writer(**options) as successor:
        assert list(successor.slots) == [SlotState.COMMITTED] + [SlotState.PLANNED] * 3


def _stored_then(lost: list[type[Exception]], store: Any, path: str, payload: bytes, **options: Any) -> Any:
    if lost:
        error = lost.pop()
        if len(lost) == TRIES - 1:
            obstore.put(store, path, payload, **options)
        raise error("scripted")
    return obstore.put(store, path, payload, **options)
