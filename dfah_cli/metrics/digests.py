"""Small numbers for 16-byte digests, in order of first sight. 24 bytes each, where a dict would take 170. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload

WIDTH = 16
_SMALLEST = 1024
_FREE = -1


class DigestNumbers:
    """Every distinct digest has its number: 0, 1, 2, …"""

    def __init__(self) -> None:
        self._digests = bytearray()
        # Open addressing: the number of the digest that hashes here, or to a place before it.
        self._places = array("i", [_FREE]) * _SMALLEST

    def __len__(self) -> int:
        return len(self._digests) // WIDTH

    def number(self, digest: bytes) -> int:
        """The number of a digest; a new one has the number that `len` was before."""
        places, digests = self._places, self._digests
        mask = len(places) - 1
        at = hash(digest) & mask
        while (found := places[at]) != _FREE:
            if digests[WIDTH * found : WIDTH * found + WIDTH] == digest:
                return found
            at = (at + 1) & mask
        found = places[at] = len(self)
        digests += digest
        if 2 * found > mask:
            self._grow()
        return found

    def _grow(self) -> None:
        mask = 2 * len(self._places) - 1
        self._places = array("i", [_FREE]) * (mask + 1)
        for number in range(len(self)):
            at = hash(bytes(self._digests[WIDTH * number : WIDTH * number + WIDTH])) & mask
            while self._places[at] != _FREE:
                at = (at + 1) & mask
            self._places[at] = number

    def seen(self) -> Sequence[bytes]:
        """The digests until now, by their number."""
        return _Seen(self._digests, len(self))


class _Seen(Sequence[bytes]):
    def __init__(self, digests: bytearray, size: int) -> None:
        self._digests, self._size = digests, size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._size))]
        number = index + self._size if index < 0 else index
        if not 0 <= number < self._size:
            raise IndexError(index)
        return bytes(self._digests[WIDTH * number : WIDTH * number + WIDTH])
