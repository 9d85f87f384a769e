"""The files of a run, carried from one place to another as they are.

A run in an object storage has the same files as a run directory, byte for byte: its segments are read from slots or
from whole objects, its `head` follows from the seal. What only the storage needs (slots, `store.json`, `packed.json`)
is not carried, and neither is what only a writer needs (`reserve`, temporaries) or what is derived (`cache/`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from dfah_cli.errors import ConfigurationError
from dfah_cli.store import layout
from dfah_cli.store.bucket import PART_BYTES, Bucket
from dfah_cli.store.files import RunFiles
from dfah_cli.store.host import Host
from dfah_cli.store.object_store import BINDING, PACKED

OF_THE_STORAGE = ("log", "probe", BINDING, PACKED)
LEFT = (layout.CACHE, layout.RESERVE, layout.LEASE)


class Source(Protocol):
    """The files of a run."""

    def names(self) -> list[str]:
        """Their names, the plan last: where the plan is, everything is."""
        ...

    def size(self, name: str) -> int: ...

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of one file."""
        ...


class Target(Protocol):
    """A place for the files of a run, which is no run before the last of them is there."""

    def put(self, name: str, size: int, chunks: Iterator[bytes]) -> None: ...

    def finish(self) -> None: ...

    def abandon(self) -> None:
        """Leaves nothing that looks like a run."""
        ...


def carried(name: str) -> bool:
    """Whether a file of a run directory goes along."""
    first = name.partition("/")[0]
    return first not in LEFT and not name.endswith(layout.TEMPORARY)


def plan_last(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: (name == layout.PLAN, name))


class DirectorySource:
    """A run directory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        found = [file.relative_to(self._path).as_posix() for file in self._path.rglob("*") if file.is_file()]
        return plan_last([name for name in found if carried(name)])

    def size(self, name: str) -> int:
        return (self._path / name).stat().st_size

    def chunks(self, name: str) -> Iterator[bytes]:
        with (self._path / name).open("rb") as file:
            while chunk := file.read(PART_BYTES):
                yield chunk


class StorageSource:
    """A run in an object storage, as a run directory would hold it."""

    def __init__(self, bucket: Bucket, files: RunFiles) -> None:
        self._bucket, self._files = bucket, files

    def names(self) -> list[str]:
        stored = [
            name
            for name in self._bucket.all_names()
            if name.partition("/")[0] not in OF_THE_STORAGE and carried(name) and not _is_log(name)
        ]
        log = [f"{layout.SEGMENTS}/{name}" for name in self._files.names_in(layout.SEGMENTS)]
        log += [layout.HEAD] if self._files.read(layout.HEAD) is not None else []
        return plan_last([*stored, *log])

    def size(self, name: str) -> int:
        if not _is_log(name):
            return self._bucket.size(name) or 0
        return layout.HEAD_SIZE if name == layout.HEAD else self._segment(name)

    def chunks(self, name: str) -> Iterator[bytes]:
        if name == layout.HEAD:
            yield self._files.read(layout.HEAD) or b""
        elif _is_log(name):
            yield from self._read(name)
        else:
            yield self._bucket.get(name) or b""

    def _read(self, name: str) -> Iterator[bytes]:
        fs, directory = self._files.fs, self._files.made(layout.SEGMENTS)
        file, offset = fs.open_read(directory, name.partition("/")[2]), 0
        try:
            while chunk := fs.read(file, PART_BYTES, offset):
                yield chunk
                offset += len(chunk)
        finally:
            fs.close(file)

    def _segment(self, name: str) -> int:
        fs = self._files.fs
        file = fs.open_read(self._files.made(layout.SEGMENTS), name.partition("/")[2])
        try:
            return fs.size(file)
        finally:
            fs.close(file)


def _is_log(name: str) -> bool:
    return name == layout.HEAD or name.startswith(layout.SEGMENTS + "/")


class DirectoryTarget:
    """A run directory that appears with everything in it, or not at all."""

    def __init__(self, path: Path) -> None:
        """Raises: ConfigurationError when something is there."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ConfigurationError(f"{path} exists; a copy needs a place where nothing is")
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._unborn = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".copying"))

    def put(self, name: str, size: int, chunks: Iterator[bytes]) -> None:
        file = self._unborn / name
        for parent in reversed(file.relative_to(self._unborn).parents[:-1]):
            (self._unborn / parent).mkdir(mode=0o700, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.writelines(chunks)
            out.flush()
            os.fsync(out.fileno())

    def finish(self) -> None:
        for folder in (*(one for one in self._unborn.rglob("*") if one.is_dir()), self._unborn):
            _sync(folder)
        os.rename(self._unborn, self._path)
        _sync(self._path.parent)

    def abandon(self) -> None:
        shutil.rmtree(self._unborn, ignore_errors=True)


class StorageTarget:
    """A prefix; repeating a copy that was cut off goes on where it stopped."""

    def __init__(self, bucket: Bucket) -> None:
        """Raises: ConfigurationError when a run is there, or the endpoint does not keep conditional writes."""
        if bucket.size(layout.PLAN) is not None:
            raise ConfigurationError(f"{bucket.where} holds a run; a copy needs a place where nothing is")
        bucket.check_conditional_create(Host().new_token())
        self._bucket = bucket

    def put(self, name: str, size: int, chunks: Iterator[bytes]) -> None:
        if size > PART_BYTES and self._bucket.size(name) is None:
            self._bucket.put_large(name, chunks)
            return
        if size > PART_BYTES:
            same = _digest(chunks) == _digest(self._parts(name, size))
        else:
            same = self._bucket.put_new(name, b"".join(chunks))
        if not same:
            raise ConfigurationError(f"{self._bucket.where}/{name} exists with other bytes; copy to another place")

    def finish(self) -> None:
        return

    def abandon(self) -> None:
        return

    def _parts(self, name: str, size: int) -> Iterator[bytes]:
        for start in range(0, size, PART_BYTES):
            yield self._bucket.get_range(name, start, PART_BYTES) or b""


def _digest(chunks: Iterator[bytes]) -> str:
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
