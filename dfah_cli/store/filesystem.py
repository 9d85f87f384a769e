"""The seam between the store and the file system: what the store asks, and what it may rely on.

`safe_io.PosixFiles` is the real one. The crash tests put one in memory, which loses what was not synced,
under the same callers.
"""

from __future__ import annotations

from typing import Protocol


class FileSystem(Protocol):
    """What the store needs of a file system; handles are integers. Every method may raise OSError."""

    def open_root(self, path: str, *, create: bool) -> int:
        """The run directory itself; `create` makes it and its parents, durably."""
        ...

    def open_dir(self, parent: int, name: str) -> int: ...

    def make_dir(self, parent: int, name: str) -> None:
        """Owner-only directory; no error when it exists. Durable after `sync_dir(parent)`."""
        ...

    def names(self, directory: int) -> list[str]: ...

    def create(self, directory: int, name: str) -> int:
        """A new file, opened for appending and reading."""
        ...

    def open_append(self, directory: int, name: str) -> int:
        """An existing file, opened for appending and reading."""
        ...

    def open_read(self, directory: int, name: str) -> int: ...

    def open_overwrite(self, directory: int, name: str) -> int:
        """A file to be overwritten in place; made when absent."""
        ...

    def size(self, file: int) -> int: ...

    def read(self, file: int, size: int, offset: int) -> bytes: ...

    def append(self, file: int, payload: bytes) -> None:
        """All of `payload`, or OSError after any part of it."""
        ...

    def make_room(self, file: int, size: int) -> None:
        """A hint that the file will have so many bytes; its size does not change."""
        ...

    def give_back(self, file: int) -> None:
        """Takes the hint back."""
        ...

    def overwrite(self, file: int, payload: bytes) -> None:
        """`payload` from offset 0."""
        ...

    def sync(self, file: int) -> None:
        """Content and size are durable."""
        ...

    def sync_new(self, file: int) -> None:
        """The same for a file that is new: owner and mode are durable too."""
        ...

    def sync_dir(self, directory: int) -> None:
        """The names in the directory are durable."""
        ...

    def link(self, directory: int, old: str, target: int, new: str) -> None:
        """A second name; FileExistsError when taken."""
        ...

    def replace(self, directory: int, old: str, new: str) -> None: ...

    def unlink(self, directory: int, name: str) -> None: ...

    def close(self, handle: int) -> None: ...

    def lock(self, file: int) -> bool:
        """Takes the exclusive lock for as long as the handle is open; False when another holds it."""
        ...

    def is_named(self, file: int, directory: int, name: str) -> bool:
        """Whether `name` still is this file."""
        ...

    def is_at(self, directory: int, path: str) -> bool:
        """Whether `path` still is this directory."""
        ...

    def is_network(self, directory: int) -> bool: ...
