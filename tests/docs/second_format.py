"""Lines, batches and trees of docs/store-format.md, written from the page alone; see `second_reader`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

BLOCK, TORN = 4096, 8 * 1024 * 1024 + 2 * 4096


class Refused(Exception):
    """The run cannot be believed."""


def need(holds: object, what: str) -> None:
    if not holds:
        raise Refused(what)


def digest(payload: bytes) -> str:
    return sha256(payload).hexdigest()


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parsed(payload: bytes | None, what: str) -> Any:
    need(payload is not None, f"{what} is missing")
    try:
        value = json.loads(payload or b"")
    except ValueError:
        raise Refused(f"{what} is not JSON") from None
    need(canonical(value) == payload, f"{what} is not canonical")
    return value


class Tree:
    """RFC 6962; `peaks` are the roots of the full subtrees, largest first."""

    def __init__(self) -> None:
        self.n, self.peaks = 0, list[bytes]()

    def add(self, h: str) -> None:
        node, size = sha256(b"\0" + bytes.fromhex(h)).digest(), self.n
        while size & 1:
            node, size = sha256(b"\1" + self.peaks.pop() + node).digest(), size >> 1
        self.peaks.append(node)
        self.n += 1

    def root(self) -> str:
        found = b""
        for peak in reversed(self.peaks):
            found = sha256(b"\1" + peak + found).digest() if found else peak
        return (found or sha256(b"").digest()).hex()


def body_of(line: bytes) -> tuple[str, Any] | None:
    """(h, body) of a whole line with its LF; None when frame or digest is wrong."""
    raw = line[76:-2]
    h = digest(raw)
    if line != b'{"h":"' + h.encode() + b'","r":' + raw + b"}\n" or len(raw) > 256 * 1024:
        return None
    return h, parsed(raw, "a record")


def padding(end: int) -> bytes:
    missing = -end % BLOCK
    return b" " * ((missing if missing != 1 else 4097) - 1) + b"\n" if missing else b""


def batches(data: bytes, b: int, tree: Tree) -> Iterator[tuple[list[tuple[str, Any]], int, int]]:
    """(records, batches so far, committed length), as long as they are whole."""
    start = 0
    while True:
        lines, at = [], start
        while True:
            stop = data.find(b"\n", at) + 1
            found = body_of(data[at:stop]) if stop else None
            if found is None:
                return
            at = stop
            if is_commit(found[1]):
                break
            lines.append(found)
        ahead = Tree()
        ahead.n, ahead.peaks = tree.n, list(tree.peaks)
        for h, _ in lines:
            ahead.add(h)
        if not lines or found[1] != {"b": b, "n": ahead.n, "off": start, "root": ahead.root(), "t": "commit"}:
            return
        tree.n, tree.peaks, b = ahead.n, ahead.peaks, b + 1
        whole = data.startswith(padding(at), at)
        start = at + len(padding(at)) * whole
        yield lines, b, start


class Ending(NamedTuple):
    """Where the whole batches of the last segment end. same_boot: no power was lost since they were written."""

    seg: int
    end: int
    b: int
    closed: bool
    same_boot: bool


def is_cut(line: bytes) -> bool:
    """Whether a record line may begin so."""
    frame = b'{"h":"' + b"#" * 64 + b'","r":'
    begun = all(found in b"0123456789abcdef" if told == ord("#") else found == told for found, told in zip(line, frame))
    return begun and 0 not in line


def check_torn(rest: bytes, at: Ending, head: Any) -> None:
    """What stands behind the last batch of the last segment."""
    need(head is None or (head["seg"], head["len"]) <= (at.seg, at.end), "head says that more was durable")
    if padding(at.end).startswith(rest):
        return
    need(at.end > 0 and len(rest) <= TORN, "no crash leaves this behind the last batch")
    need(not at.closed or len(rest) <= len(padding(at.end)), "bytes behind the close record")
    lines = rest.split(b"\n")
    whole = [found for found in (tolerant(line + b"\n") for line in lines[:-1]) if found]
    commits = [body for _, body in whole if is_commit(body)]
    need(all((body["b"], body["off"]) == (at.b, at.end) for body in commits), "a later batch behind a damaged one")
    if at.same_boot:
        cut = is_cut(lines[-1]) and len(whole) == len(lines) - 1 and not commits
        need(cut, "a damaged batch, and no power was lost")


def is_commit(body: Any) -> bool:
    return list(body)[:1] == ["b"]


def tolerant(line: bytes) -> tuple[str, Any] | None:
    try:
        return body_of(line)
    except Refused:
        return None


def head_bytes_of(body: dict[str, Any]) -> bytes:
    raw = canonical({name: body[name] for name in ("len", "n", "root", "seg")})
    return (b'{"h":"' + digest(raw).encode() + b'","r":' + raw + b"}").ljust(255) + b"\n"


def head_of(payload: bytes | None) -> Any:
    """What head says; None when it is not whole."""
    found = None if payload is None or len(payload) != 256 else tolerant(payload.rstrip(b" \n") + b"\n")
    return found[1] if found and head_bytes_of(found[1]) == payload else None
