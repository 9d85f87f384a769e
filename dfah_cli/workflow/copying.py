"""A run carried to another place, verified before and after; and a run in an object storage packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from dfah_cli.errors import ArtifactError, ConfigurationError, LeaseError
from dfah_cli.evidence.claims import refuse_failures
from dfah_cli.store import layout
from dfah_cli.store.occupancy import Occupancy
from dfah_cli.store.opening import held, open_store
from dfah_cli.store.packing import Packed, pack
from dfah_cli.store.places import Place, RunUrl, bucket_of, place_of, refuse_evidence, refuse_nesting
from dfah_cli.store.safe_io import storage_errors
from dfah_cli.store.sharded import ShardedStore
from dfah_cli.store.transfer import DirectorySource, DirectoryTarget, Source, StorageSource, StorageTarget, Target
from dfah_cli.workflow.verification import Verification, verify_run

Progress = Callable[[str, int, int], None]
"""Told of each chunk: file, bytes carried so far, bytes in all."""


def silent(name: str, done: int, whole: int) -> None:
    """Tells nobody."""


@frozen(kw_only=True)
class Copied:
    """A copy that says the same. digest: of the sorted list of names and SHA-256s, `sha256sum` style."""

    source: Place
    target: Place
    files: int
    bytes: int
    digest: str
    commitment: str


def copy_run(source: str | Path, target: str | Path, progress: Progress = silent) -> Copied:
    """Every file of a run at another place, with the same bytes.

    Raises: ConfigurationError when the target holds something; LeaseError while somebody writes the source, or left a
    lease in it; ArtifactError when the source cannot be believed or the copy says something else.
    """
    here, there = place_of(source), place_of(target)
    if str(here) == str(there):
        raise ConfigurationError(f"{there}: source and target are one place")
    refuse_evidence(there)
    refuse_nesting(there)
    before = _believed(here)
    _refuse_writers(here)
    with storage_errors(f"copying {here} to {there}"):
        target_of_copy = _target(there)
        try:
            digests, carried = _carry(_source(here), target_of_copy, progress)
            target_of_copy.finish()
        except BaseException:
            target_of_copy.abandon()
            raise
    after = _believed(there)
    if _said(before) != _said(after):
        raise ArtifactError(f"{there} does not say what {here} says: the source changed meanwhile. Copy it again.")
    assert after.run is not None
    return Copied(
        source=here,
        target=there,
        files=len(digests),
        bytes=carried,
        digest=sha256(layout.render_sums(digests)).hexdigest(),
        commitment=after.run.commitment,
    )


def pack_run(run: str | Path, *, remove_small: bool = False, progress: Progress = silent) -> Packed:
    """The segments of a finished run in an object storage as one object each.

    remove_small: then remove the slots they came from, but for the last of each log.
    Raises: ConfigurationError when it is no such run or not finished; ArtifactError when it cannot be believed.
    """
    place = place_of(run)
    if not isinstance(place, RunUrl):
        raise ConfigurationError(f"{place} is a directory, whose segments are whole files already")
    found = _believed(place)
    if found.tail is None or not found.tail.sealed:
        raise ConfigurationError(f"{place}: not sealed yet; finish the run first (dfah doctor {place})")
    _refuse_writers(place)
    store = open_store(place)
    bucket = bucket_of(place)
    logs = store.shards + 1 if isinstance(store, ShardedStore) else 1
    with storage_errors(f"packing {place}"):
        packed = pack(bucket, store.open_files(), logs=logs, remove_small=remove_small, progress=progress)
    _believed(place)
    return packed


def _believed(place: Place) -> Verification:
    found = verify_run(place)
    refuse_failures(found.checks, str(place))
    return found


def _said(found: Verification) -> tuple[object, ...]:
    assert found.run is not None
    assert found.tail is not None
    return found.run.commitment, found.tail.n, found.tail.root, found.tail.sealed


def _refuse_writers(place: Place) -> None:
    if isinstance(place, RunUrl):
        store = open_store(place)
        if isinstance(store, ShardedStore) and not (place / layout.SEAL).is_file():
            raise ConfigurationError(f"{place} has several logs until it is finished; finish it first")
    if held(place).occupancy is not Occupancy.FREE:
        raise LeaseError(f"{place} is being written, or a writer left a lease in it: dfah doctor {place}")


def _source(place: Place) -> Source:
    if isinstance(place, Path):
        return DirectorySource(place)
    return StorageSource(bucket_of(place), open_store(place).open_files())


def _target(place: Place) -> Target:
    return DirectoryTarget(place) if isinstance(place, Path) else StorageTarget(bucket_of(place))


def _carry(source: Source, target: Target, progress: Progress) -> tuple[dict[str, str], int]:
    names = source.names()
    sizes = {name: source.size(name) for name in names}
    whole, done = sum(sizes.values()), 0
    digests: dict[str, str] = {}

    def watched(name: str) -> Iterator[bytes]:
        nonlocal done
        digest = sha256()
        for chunk in source.chunks(name):
            digest.update(chunk)
            done += len(chunk)
            progress(name, done, whole)
            yield chunk
        digests[name] = digest.hexdigest()

    for name in names:
        target.put(name, sizes[name], watched(name))
    return digests, done
