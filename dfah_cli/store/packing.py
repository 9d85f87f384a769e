"""Segments of a finished run in an object storage, packed: one object of up to 256 MiB each instead of one a batch.

A packed segment has the bytes that its slots give, so the run says the same before, in between and afterwards. Slots
are removed only on request, after what replaces them is there and compared, and never the last one of a log: that is
where the next writer goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

import orjson
from attrs import frozen

from dfah_cli.errors import ArtifactError
from dfah_cli.store import layout
from dfah_cli.store.bucket import PART_BYTES, Bucket
from dfah_cli.store.files import RunFiles
from dfah_cli.store.object_store import PACKED, first_slot, log_folder
from dfah_cli.store.slot_log import SlotLog, slot_name

Progress = Callable[[str, int, int], None]


@frozen(kw_only=True)
class Packed:
    """segments: how many are one object now. bytes: in them. removed: slots that are gone."""

    segments: int
    bytes: int
    removed: int


def pack(bucket: Bucket, files: RunFiles, *, logs: int, remove_small: bool, progress: Progress) -> Packed:
    """Every segment is an object.

    logs: of the run, its own one last. Raises: ArtifactError when what was stored is not what was sent.
    """
    names = files.names_in(layout.SEGMENTS)
    whole = 0
    for name in names:
        whole += _packed(bucket, files, name, progress)
    removed = _remove(bucket, logs) if remove_small else 0
    return Packed(segments=len(names), bytes=whole, removed=removed)


def _packed(bucket: Bucket, files: RunFiles, name: str, progress: Progress) -> int:
    key = f"{layout.SEGMENTS}/{name}"
    stored = bucket.size(key)
    if stored is not None:
        return stored
    fs = files.fs
    file = fs.open_read(files.made(layout.SEGMENTS), name)
    sent = sha256()
    size = fs.size(file)

    def chunks() -> Iterator[bytes]:
        offset = 0
        while chunk := fs.read(file, PART_BYTES, offset):
            sent.update(chunk)
            offset += len(chunk)
            progress(key, offset, size)
            yield chunk

    try:
        bucket.put_large(key, chunks())
    finally:
        fs.close(file)
    if _stored(bucket, key, size) != sent.hexdigest():
        bucket.delete(key)
        raise ArtifactError(
            f"{bucket.where}/{key} was not stored as it was sent; it is removed again. Repeat the command."
        )
    return size


def _stored(bucket: Bucket, key: str, size: int) -> str:
    digest = sha256()
    for start in range(0, size, PART_BYTES):
        digest.update(bucket.get_range(key, start, min(PART_BYTES, size - start)) or b"")
    return digest.hexdigest()


def _remove(bucket: Bucket, logs: int) -> int:
    """Slots before the last of each log are gone; first it is written down from where a log is still there."""
    kept: dict[str, int] = {}
    for number in range(logs):
        tip = SlotLog(bucket, log_folder(number), first_slot(bucket, number)).tip()
        if tip is not None:
            kept[f"{number:04d}"] = tip.seq
    before = {name: first_slot(bucket, int(name)) for name in kept}
    bucket.put(PACKED, orjson.dumps({"from": kept, "v": 1}, option=orjson.OPT_SORT_KEYS))
    removed = 0
    for name, last in kept.items():
        for seq in range(before[name], last):
            bucket.delete(f"{log_folder(int(name))}/{slot_name(seq)}")
            removed += 1
    return removed
