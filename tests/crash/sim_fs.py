"""A file system in memory under the real store code. It knows what is durable and what only the page cache has.

Nodes are immutable and replaced on every change, so a snapshot of the whole disk is one shallow copy. A snapshot is
taken before every call that changes anything: that is where a crash can happen.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import NamedTuple

Op = tuple[str, ...] | tuple[str, str, int]


class FileNode(NamedTuple):
    """durable: content after the last sync. earlier: an overwritten content since then. now: what readers see."""

    durable: bytes = b""
    earlier: bytes | None = None
    now: bytes = b""


class DirNode(NamedTuple):
    """durable: entries after the last sync. pending: changes since then, in order. now: what readers see."""

    durable: tuple[tuple[str, int], ...] = ()
    pending: tuple[Op, ...] = ()
    now: tuple[tuple[str, int], ...] = ()


class Disk:
    """The nodes; node 1 is the run directory."""

    def __init__(self, nodes: dict[int, FileNode | DirNode] | None = None, next_node: int = 2) -> None:
        self.nodes = nodes if nodes is not None else {1: DirNode()}
        self.next_node = next_node

    def copy(self) -> Disk:
        return Disk(dict(self.nodes), self.next_node)


def applied(entries: tuple[tuple[str, int], ...], op: Op) -> tuple[tuple[str, int], ...]:
    """Directory entries after one change (which may rest on one that was lost)."""
    found = dict(entries)
    if op[0] == "add":
        found[str(op[1])] = int(op[2])
    elif op[0] == "del":
        found.pop(str(op[1]), None)
    elif op[1] in found:
        found[str(op[2])] = found.pop(str(op[1]))
    return tuple(sorted(found.items()))


class SimFs:
    """See `dfah_cli.store.filesystem.FileSystem`. before: called with every change that is about to happen."""

    def __init__(self, disk: Disk, before: Callable[[SimFs, str, int, bytes], None]) -> None:
        self.disk, self._before = disk, before
        self._handles: dict[int, int] = {}
        self._next_handle = 100

    # handles

    def _open(self, node: int) -> int:
        self._next_handle += 1
        self._handles[self._next_handle] = node
        return self._next_handle

    def _dir(self, handle: int) -> DirNode:
        node = self.disk.nodes[self._handles[handle]]
        if not isinstance(node, DirNode):
            raise OSError(errno.ENOTDIR, "not a directory")
        return node

    def _file(self, handle: int) -> FileNode:
        node = self.disk.nodes[self._handles[handle]]
        assert isinstance(node, FileNode)
        return node

    def _find(self, handle: int, name: str) -> int:
        for known, node in self._dir(handle).now:
            if known == name:
                return node
        raise FileNotFoundError(errno.ENOENT, "no such name", name)

    def _change(self, handle: int, *op: str | int) -> None:
        node = self._dir(handle)
        self.disk.nodes[self._handles[handle]] = node._replace(
            pending=(*node.pending, op),
            now=applied(node.now, op),  # type: ignore[arg-type]
        )

    def _add(self, handle: int, name: str, node: FileNode | DirNode) -> int:
        number = self.disk.next_node
        self.disk.next_node += 1
        self.disk.nodes[number] = node
        self._change(handle, "add", name, number)
        return number

    def _walk(self, handle: int, name: str) -> int:
        """Node of a name that may have slashes."""
        for part in name.split("/")[:-1]:
            handle = self._open(self._find(handle, part))
        return handle

    # the interface

    def open_root(self, path: str, *, create: bool) -> int:
        return self._open(1)

    def open_dir(self, parent: int, name: str) -> int:
        if name == ".":
            return self._open(self._handles[parent])
        parent = self._walk(parent, name)
        return self._open(self._find(parent, name.rpartition("/")[2]))

    def make_dir(self, parent: int, name: str) -> None:
        parent, name = self._walk(parent, name), name.rpartition("/")[2]
        if name not in dict(self._dir(parent).now):
            self._before(self, "make_dir", parent, b"")
            self._add(parent, name, DirNode())

    def names(self, directory: int) -> list[str]:
        return [name for name, _ in self._dir(directory).now]

    def create(self, directory: int, name: str) -> int:
        if name in dict(self._dir(directory).now):
            raise FileExistsError(errno.EEXIST, "name is taken", name)
        self._before(self, "create", directory, b"")
        return self._open(self._add(directory, name, FileNode()))

    def open_append(self, directory: int, name: str) -> int:
        return self._open(self._find(directory, name))

    def open_read(self, directory: int, name: str) -> int:
        return self._open(self._find(directory, name))

    def open_overwrite(self, directory: int, name: str) -> int:
        try:
            return self._open(self._find(directory, name))
        except FileNotFoundError:
            return self.create(directory, name)

    def size(self, file: int) -> int:
        return len(self._file(file).now)

    def read(self, file: int, size: int, offset: int) -> bytes:
        return self._file(file).now[offset : offset + size]

    def append(self, file: int, payload: bytes) -> None:
        self._before(self, "append", file, payload)
        self.write_part(file, payload)

    def write_part(self, file: int, payload: bytes) -> None:
        node = self._file(file)
        self.disk.nodes[self._handles[file]] = node._replace(now=node.now + payload)

    def make_room(self, file: int, size: int) -> None:
        return

    def give_back(self, file: int) -> None:
        return

    def overwrite(self, file: int, payload: bytes) -> None:
        self._before(self, "overwrite", file, payload)
        self.overwrite_part(file, payload)

    def overwrite_part(self, file: int, payload: bytes) -> None:
        node = self._file(file)
        now = payload + node.now[len(payload) :]
        self.disk.nodes[self._handles[file]] = node._replace(earlier=node.now, now=now)

    def sync(self, file: int) -> None:
        self.flush(file)

    def sync_new(self, file: int) -> None:
        self.flush(file)

    def flush(self, file: int) -> None:
        self._before(self, "sync", file, b"")
        node = self._file(file)
        self.disk.nodes[self._handles[file]] = FileNode(node.now, None, node.now)

    def sync_dir(self, directory: int) -> None:
        node = self._dir(directory)
        if node.pending:
            self._before(self, "sync_dir", directory, b"")
            self.disk.nodes[self._handles[directory]] = DirNode(node.now, (), node.now)

    def link(self, directory: int, old: str, target: int, new: str) -> None:
        if new in dict(self._dir(target).now):
            raise FileExistsError(errno.EEXIST, "name is taken", new)
        self._before(self, "link", target, b"")
        self._change(target, "add", new, self._find(directory, old))

    def replace(self, directory: int, old: str, new: str) -> None:
        self._before(self, "replace", directory, b"")
        self._find(directory, old)
        self._change(directory, "mv", old, new)

    def unlink(self, directory: int, name: str) -> None:
        self._find(directory, name)
        self._before(self, "unlink", directory, b"")
        self._change(directory, "del", name)

    def close(self, handle: int) -> None:
        self._handles.pop(handle, None)

    def lock(self, file: int) -> bool:
        return True

    def is_named(self, file: int, directory: int, name: str) -> bool:
        return self._handles[file] == self._find(directory, name)

    def is_at(self, directory: int, path: str) -> bool:
        return True

    def is_network(self, directory: int) -> bool:
        return False
