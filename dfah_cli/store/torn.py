"""What the bytes behind the last whole batch may be: an unacknowledged batch, or damage. Pure.

Crash and corruption must be told apart. A batch in flight was never acknowledged and no adapter was called
for its intents; damage to durable bytes must never look like one, or an episode would be paid for twice.
"""

from __future__ import annotations

from attrs import frozen

from dfah_cli.errors import ArtifactError
from dfah_cli.store.framing import (
    BODY_START,
    MAX_BATCH,
    MIDDLE,
    PREFIX,
    Line,
    is_commit,
    padding,
    parse_commit,
    parse_line,
)
from dfah_cli.store.layout import Head

TORN_LIMIT = MAX_BATCH + 2 * 4096
_HEX = frozenset(b"0123456789abcdef")


@frozen(kw_only=True)
class Ending:
    """Where the last segment's whole batches end, and what is known about its writer.

    seg, length: the segment and its committed bytes. b: number of the next batch. same_boot: the kernel that
    wrote it still runs, so nothing written can have been lost. closed: the close record is in this segment.
    """

    seg: int
    length: int
    b: int
    same_boot: bool
    closed: bool


def judge(torn: bytes, ending: Ending, head: Head | None) -> list[Line]:
    """The lines of the torn bytes that are whole, in order; empty when only padding is missing.

    Raises: ArtifactError when the bytes cannot be what a crash leaves.
    """
    check_head(ending, head)
    if padding(ending.length).startswith(torn):
        return []
    if len(torn) > TORN_LIMIT:
        raise ArtifactError("more bytes without a commit line than one batch has")
    if ending.length == 0:
        raise ArtifactError("the first batch, which was durable before the segment had its name, is damaged")
    if ending.closed and len(torn) > len(padding(ending.length)):  # its padding may have been lost
        raise ArtifactError("bytes behind the close record, after which nothing is written here")
    whole = _whole_lines(torn)
    for line in whole:
        if is_commit(line):
            _check_commit(line, ending)
    if ending.same_boot and not _is_cut_batch(torn, len(whole)):
        raise ArtifactError("a damaged batch, while the kernel that wrote it still runs: no crash leaves that")
    return [parse_line(line) for line in whole if not is_commit(line)]


def check_head(ending: Ending, head: Head | None) -> None:
    """Nothing, when all bytes are there that the hint calls durable. Raises: ArtifactError."""
    if head is None:
        return
    if head.seg > ending.seg or (head.seg == ending.seg and head.len > ending.length):
        raise ArtifactError(
            f"durable bytes are missing or damaged: head says {head.len} bytes of segment {head.seg}, "
            f"whole are {ending.length} of segment {ending.seg}"
        )


def _whole_lines(torn: bytes) -> list[bytes]:
    """Every line with a right digest; a line behind lost blocks is found again at its LF."""
    whole = []
    for line in _split_lf(torn):
        try:
            parse_line(line)
        except ArtifactError:
            continue
        whole.append(line)
    return whole


def _split_lf(torn: bytes) -> list[bytes]:
    return [line + b"\n" for line in torn.split(b"\n")[:-1]]


def _check_commit(line: bytes, ending: Ending) -> None:
    mark = parse_commit(line)
    if (mark.b, mark.off) != (ending.b, ending.length):
        raise ArtifactError("a commit line of another batch stands behind a damaged one, which was durable")


def _is_cut_batch(torn: bytes, whole: int) -> bool:
    """Whether these bytes are the beginning of a batch: right lines, then at most one cut line."""
    lines = torn.split(b"\n")
    cut = lines.pop()
    return whole == len(lines) and not any(map(is_commit, lines)) and _is_cut_line(cut)


def _is_cut_line(cut: bytes) -> bool:
    return (
        PREFIX.startswith(cut[: len(PREFIX)])
        and _HEX.issuperset(cut[len(PREFIX) : len(PREFIX) + 64])
        and MIDDLE.startswith(cut[len(PREFIX) + 64 : BODY_START])
        and 0 not in cut
    )
