"""The one door to a run, wherever it lies: its store, who holds it, and what follows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dfah_cli.errors import ConfigurationError
from dfah_cli.store import layout
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.files import RunFiles
from dfah_cli.store.host import Host
from dfah_cli.store.log import LogStore
from dfah_cli.store.occupancy import Holding, Occupancy, holding, holding_in
from dfah_cli.store.places import Place, RunUrl, bucket_of, place_of

# A directory is opened without the stores that need an optional package, and read without what follows it.
if TYPE_CHECKING:
    from dfah_cli.store.follow import LogFollower
    from dfah_cli.store.object_store import ObjectStore
    from dfah_cli.store.sharded import ShardedStore


def open_store(value: str | Path | RunUrl, *, shards: int | None = None) -> LogStore | ShardedStore:
    """The store at a place.

    shards: how many logs a new run in an object storage gets; None takes what is bound, else one.
    Raises: ConfigurationError.
    """
    place = place_of(value)
    if isinstance(place, Path):
        if shards not in (None, 1):
            raise ConfigurationError(f"shards: {place} is a directory, which keeps one writer; it is for s3:// only")
        return LogStore(place)
    return store_in(bucket_of(place), shards=shards)


def store_in(bucket: Bucket, *, shards: int | None = None) -> ObjectStore | ShardedStore:
    """The store below a prefix."""
    from dfah_cli.store.object_store import ObjectStore, bound_shards
    from dfah_cli.store.sharded import ShardedStore

    bound = bound_shards(bucket)
    if bound is None:
        copied = shards is not None and bucket.size(layout.PLAN) is not None
        bound = 1 if copied else shards or 1
    if shards is not None and shards != bound:
        raise ConfigurationError(
            f"{bucket.where} was made with shards={bound}, which is fixed; found shards={shards}. "
            "Leave it out, or use a new place"
        )
    return ObjectStore(bucket) if bound == 1 else ShardedStore(bucket, bound)


SERIOUS = (Occupancy.WRITING, Occupancy.UNKNOWN, Occupancy.UNREADABLE, Occupancy.STALE, Occupancy.FREE)


def held(place: Place) -> Holding:
    """Who writes the run; of several logs, whoever is most in the way.

    Raises: StorageError, ConfigurationError when it cannot be read.
    """
    if isinstance(place, Path):
        return holding(str(place))
    found = [holding_in(files, Host()) for files in _logs(place)]
    return min(found, key=lambda one: SERIOUS.index(one.occupancy))


def followers(place: Place) -> list[LogFollower]:
    """What follows the run as it is written, one for each of its logs.

    Raises: ArtifactError when there is no plan yet.
    """
    from dfah_cli.store.follow import LogFollower

    return [LogFollower(str(place))] if isinstance(place, Path) else [LogFollower(files) for files in _logs(place)]


def _logs(place: RunUrl) -> list[RunFiles]:
    from dfah_cli.store.sharded import ShardedStore

    store = store_in(bucket_of(place))
    if isinstance(store, ShardedStore) and not (place / layout.SEAL).is_file():
        return [store.part(shard).open_files() for shard in range(store.shards)]
    return [store.open_files()]
