"""What a crash may leave of a disk: every legal state.

Power loss: every unsynced 512-byte block is kept or lost (zeros, or garbage), the size is the old or the new one, and
unsynced directory changes survive in any subset. Without powersafe overwrite a rewritten 4096-byte block may be
garbage as a whole, synced bytes in it included. Kill: the page cache survives; a write may be cut anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

from dfah_cli.store.layout import parse_head
from tests.crash.sim_fs import DirNode, Disk, FileNode, Op, SimFs, applied

SECTOR = 512
BLOCK = 4096
MOST_UNITS = 6
MOST_CHANGES = 7
GARBAGE = bytes(0x80 | (7 * position) % 128 for position in range(BLOCK))


def cut_points(payload: bytes) -> list[int]:
    """Where a killed write may have stopped: beside every line end, inside frames and inside bodies."""
    points = {1, len(payload) - 1}
    for position in [i for i, byte in enumerate(payload) if byte == 10]:
        points |= {position, position + 1, position + 40, position + 200}
    return sorted(point for point in points if 0 < point < len(payload))


def killed(fs: SimFs, kind: str, handle: int, payload: bytes) -> Iterator[Disk]:
    """The disk as it is, and after each cut of the write that was about to happen."""
    yield fs.disk.copy()
    write = {"append": fs.write_part, "overwrite": fs.overwrite_part}.get(kind)
    if write is None:
        return
    kept = fs.disk
    for point in cut_points(payload):
        fs.disk = kept.copy()
        write(handle, payload[:point])
        yield fs.disk
    fs.disk = kept


def power_losses(disk: Disk, *, powersafe: bool) -> Iterator[Disk]:
    """Every state that the loss of power may leave, without repetition by content."""
    numbers = [number for number, node in disk.nodes.items() if is_dirty(node)]
    choices = [list(_outcomes(disk.nodes[number], powersafe)) for number in numbers]
    for chosen in product(*choices):
        lost = Disk({number: _settled(node) for number, node in disk.nodes.items()}, disk.next_node)
        lost.nodes.update(zip(numbers, chosen, strict=True))
        yield lost


def flushed(disk: Disk) -> Disk:
    """The same disk with everything durable: all that a kill, and nothing worse, can leave."""
    return Disk({number: _as_seen(node) for number, node in disk.nodes.items()}, disk.next_node)


def is_dirty(node: FileNode | DirNode) -> bool:
    if isinstance(node, DirNode):
        return bool(node.pending)
    return node.now != node.durable


def content_key(disk: Disk, *, whole: bool = False) -> object:
    """Equal for disks that no store can tell apart; whole: not even after a later loss of power."""
    return _key(disk, 1, whole)


def _key(disk: Disk, number: int, whole: bool) -> object:
    node = disk.nodes[number]
    if isinstance(node, FileNode):
        return node if whole else node.now
    seen = tuple((name, _entry_key(disk, name, child, whole)) for name, child in node.now)
    if not whole or not node.pending:
        return seen
    durable = tuple((name, _entry_key(disk, name, child, whole)) for name, child in node.durable)
    return seen, durable, tuple(op[:2] for op in node.pending)


def _entry_key(disk: Disk, name: str, child: int, whole: bool) -> object:
    # What is in these is never read: the next writer removes them by name.
    if name.endswith((".tmp", "reserve")):
        return None
    node = disk.nodes[child]
    if name == "head" and isinstance(node, FileNode):
        # Every hint that is not whole is the same to a reader, and is overwritten as a whole.
        return tuple(map(parse_head, node)) if whole else parse_head(node.now)
    return _key(disk, child, whole)


def _settled(node: FileNode | DirNode) -> FileNode | DirNode:
    if isinstance(node, DirNode):
        return DirNode(node.durable, (), node.durable)
    return FileNode(node.durable, None, node.durable)


def _as_seen(node: FileNode | DirNode) -> FileNode | DirNode:
    if isinstance(node, DirNode):
        return DirNode(node.now, (), node.now)
    return FileNode(node.now, None, node.now)


def _outcomes(node: FileNode | DirNode, powersafe: bool) -> Iterator[FileNode | DirNode]:
    if isinstance(node, DirNode):
        for entries in _subsets(node.durable, node.pending):
            yield DirNode(entries, (), entries)
        return
    contents = {node.durable, node.now}
    if node.earlier is not None:
        contents.add(node.earlier)
        if not powersafe:
            contents.add(GARBAGE[: len(node.now)])
    else:
        contents |= set(_block_losses(node.durable, node.now, powersafe))
    for content in sorted(contents):
        yield FileNode(content, None, content)


def _subsets(durable: tuple[tuple[str, int], ...], pending: tuple[Op, ...]) -> Iterator[tuple[tuple[str, int], ...]]:
    seen = set()
    for kept in _kept_changes(pending):
        entries = durable
        for op in kept:
            entries = applied(entries, op)
        if entries not in seen:
            seen.add(entries)
            yield entries


def _kept_changes(pending: tuple[Op, ...]) -> Iterator[tuple[Op, ...]]:
    """Every subset; of more changes than a right protocol ever leaves pending, the telling ones."""
    if len(pending) <= MOST_CHANGES:
        for count in range(len(pending) + 1):
            yield from combinations(pending, count)
        return
    for position in range(len(pending)):
        yield pending[:position]
        yield (*pending[:position], *pending[position + 1 :])
    yield pending


def _block_losses(durable: bytes, now: bytes, powersafe: bool) -> Iterator[bytes]:
    """Of an appended file: each new block kept or lost, lost ones as zeros or garbage, at the new size."""
    units = _units(durable, now)
    for kept in product((True, False), repeat=len(units)):
        for filler in (bytes(BLOCK), GARBAGE):
            content = bytearray(now)
            for (start, end), keep in zip(units, kept, strict=True):
                for at in range(start, end, SECTOR) if not keep else ():
                    stop = min(at + SECTOR, end)
                    content[at:stop] = filler[: stop - at]
            yield bytes(content)
    start = len(durable) - len(durable) % BLOCK
    if not powersafe and start < len(durable):
        # The block that was rewritten to take the new bytes, synced ones in it included.
        end = min(len(now), start + BLOCK)
        yield now[:start] + GARBAGE[: end - start] + now[end:]
        yield now[:start] + GARBAGE[: end - start]


def _units(durable: bytes, now: bytes) -> list[tuple[int, int]]:
    """The new sectors; neighbours that hold only padding, or are too many, count as one."""
    edges = sorted({len(durable), *range(-(-len(durable) // SECTOR) * SECTOR, len(now), SECTOR), len(now)})
    units: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        blank = not now[start:end].strip(b" \n")
        before_blank = units and not now[units[-1][0] : units[-1][1]].strip(b" \n")
        if units and ((blank and before_blank) or len(units) >= MOST_UNITS):
            units[-1] = (units[-1][0], end)
        else:
            units.append((start, end))
    return units
