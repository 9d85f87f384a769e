"""RFC 6962 trees over record digests, proofs that need only the digests, and the canonical commitment.

A tree is built over 32-byte record digests (the `h` column of the log), so a reader can rebuild every root
without parsing a body. Pure: no I/O.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from json import JSONEncoder

EMPTY_ROOT = sha256(b"").digest()
COMMITMENT_ALGORITHM = "rfc6962-sha256"
COMMITMENT_VERSION = 1

_ENCODE = JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def leaf_hash(digest: bytes) -> bytes:
    """SHA-256(00 || digest): the leaf of one record. Source: RFC 6962 section 2.1."""
    return sha256(b"\x00" + digest).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(01 || left || right): an inner node. Source: RFC 6962 section 2.1."""
    return sha256(b"\x01" + left + right).digest()


class CompactRange:
    """The growing right edge of a tree: at most 64 hashes, whatever the size.

    One append costs two hashes on average; `root` costs one hash for each one bit of the size.
    """

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []

    def append(self, digest: bytes) -> None:
        """Adds the next record digest."""
        self.extend((digest,))

    def extend(self, digests: Iterable[bytes]) -> None:
        """Adds the next record digests, in order."""
        size, peaks = self.size, self._peaks
        for digest in digests:
            node = sha256(b"\x00" + digest).digest()
            left = size
            while left & 1:
                node = sha256(b"\x01" + peaks.pop() + node).digest()
                left >>= 1
            peaks.append(node)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """The root over everything appended; `EMPTY_ROOT` when nothing was."""
        peaks = self._peaks
        if not peaks:
            return EMPTY_ROOT
        root = peaks[-1]
        for peak in reversed(peaks[:-1]):
            root = sha256(b"\x01" + peak + root).digest()
        return root

    def copy(self) -> CompactRange:
        """An independent range that continues from here."""
        twin = CompactRange()
        twin.size, twin._peaks = self.size, list(self._peaks)
        return twin


def tree_root(digests: Iterable[bytes]) -> bytes:
    """The root over record digests in order; `EMPTY_ROOT` for none."""
    tree = CompactRange()
    tree.extend(digests)
    return tree.root()


def _split(size: int) -> int:
    """The largest power of two below `size` (size >= 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(digests: Sequence[bytes], index: int) -> list[bytes]:
    """The audit path of leaf `index`, lowest sibling first; at most ceil(log2 n) hashes.

    Raises: IndexError when there is no such leaf. Source: RFC 6962 section 2.1.1.
    """
    if not 0 <= index < len(digests):
        raise IndexError(f"leaf {index} of a tree of {len(digests)}")
    path: list[bytes] = []
    low, high = 0, len(digests)
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(tree_root(digests[middle:high]))
            high = middle
        else:
            path.append(tree_root(digests[low:middle]))
            low = middle
    return path[::-1]


def verify_inclusion(digest: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether `proof` shows `digest` as leaf `index` of the tree of `size` leaves with this root.

    Source: RFC 9162 section 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    node, position, last = leaf_hash(digest), index, size - 1
    for sibling in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            node = node_hash(sibling, node)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        position, last = position >> 1, last >> 1
    return last == 0 and node == root


def consistency_proof(digests: Sequence[bytes], old_size: int) -> list[bytes]:
    """What shows that the first `old_size` leaves are a prefix of all; empty for none or all of them.

    Raises: IndexError when the old size is larger. Source: RFC 6962 section 2.1.2.
    """
    if not 0 <= old_size <= len(digests):
        raise IndexError(f"size {old_size} of a tree of {len(digests)}")
    if old_size in (0, len(digests)):
        return []
    path: list[bytes] = []
    low, high, old, whole = 0, len(digests), old_size, True
    while old != high - low:
        middle = _split(high - low)
        if old <= middle:
            path.append(tree_root(digests[low + middle : high]))
            high = low + middle
        else:
            path.append(tree_root(digests[low : low + middle]))
            low, old, whole = low + middle, old - middle, False
    if not whole:
        path.append(tree_root(digests[low:high]))
    return path[::-1]


def verify_consistency(old_size: int, new_size: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> bool:
    """Whether `proof` shows that the new tree continues the old one. Source: RFC 9162 section 2.1.4.2."""
    if not 0 <= old_size <= new_size:
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT
    if old_size == new_size:
        return not proof and old_root == new_root
    steps = list(proof)
    if old_size & (old_size - 1) == 0:
        steps.insert(0, old_root)
    if not steps:
        return False
    return _walk_consistency(old_size, new_size, steps) == (old_root, new_root)


def _walk_consistency(old_size: int, new_size: int, steps: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """Both roots that the steps lead to; None when there are too few or too many of them."""
    position, last = old_size - 1, new_size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return None
        if position & 1 or position == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, step)
        position, last = position >> 1, last >> 1
    return (old, new) if last == 0 else None


def episode_order(case_id: str, replay_index: int) -> tuple[bytes, int]:
    """Sort key of an episode in the commitment: UTF-8 bytes of the case id, then the replay index."""
    return case_id.encode("utf-8"), replay_index


def episode_root(episodes: Iterable[tuple[str, int, str]]) -> str:
    """Hex root over terminal episode records (case_id, replay_index, h hex), in any order of arrival."""
    ordered = sorted(episodes, key=lambda entry: episode_order(entry[0], entry[1]))
    return tree_root(bytes.fromhex(h) for _, _, h in ordered).hex()


def commitment(*, episodes: int, episode_root: str, plan_sha256: str) -> str:
    """One digest over the plan and the set of terminal episodes, whatever order they completed in."""
    stated = {
        "alg": COMMITMENT_ALGORITHM,
        "episodes": episodes,
        "plan": plan_sha256,
        "root": episode_root,
        "v": COMMITMENT_VERSION,
    }
    return sha256(_ENCODE(stated).encode("ascii")).hexdigest()


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """A checkpoint: origin, size and base64 root, one line each. Source: C2SP tlog-checkpoint."""
    return f"{origin}\n{size}\n{b64encode(root).decode('ascii')}\n"
