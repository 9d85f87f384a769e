"""The log of one writer in an object storage: numbered slots, each taken once and for ever.

slot = header line, then one batch of the log as it would stand in a segment (padding left out, it follows from the
offset). The header names the slot before it by its SHA-256. Whoever creates slot n has the log; a writer that finds
another's bytes there is fenced and never writes again. So no lock, no clock and no time limit decides anything, and
slots are found by asking for them, never by listing.
"""

from __future__ import annotations

from typing import NoReturn

import orjson
from attrs import evolve, frozen

from dfah_cli.errors import ArtifactError, FencedError
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.framing import decode_body, frame, padding, parse_line
from dfah_cli.store.layout import sha256_hex
from dfah_cli.store.protocol import Body

HEADER_BYTES = 2048
"""No header line is longer."""
FIELDS = frozenset({"t", "seq", "prev", "w", "claim", "seg", "off"})
OPTIONAL = frozenset({"lease", "took", "free", "done"})
NUMBERS = ("seq", "claim", "seg", "off")
EMPTY_LOG = "0" * 64


@frozen(kw_only=True)
class Slot:
    """One slot. off, end: where its batch begins and ends in segment `seg`; equal when it only claims or releases.

    claim: the slot with the lease of its writer. digest: of the whole object; what the next slot must name. took: the
    writer it was taken from. free: released. done: released, and nothing is left to do in this log.
    """

    seq: int
    prev: str
    w: str
    claim: int
    seg: int
    off: int
    end: int = 0
    digest: str = ""
    lease: Body | None = None
    took: str | None = None
    free: bool = False
    done: bool = False

    def header(self) -> bytes:
        body: Body = {
            "t": "slot",
            "seq": self.seq,
            "prev": self.prev,
            "w": self.w,
            "claim": self.claim,
            "seg": self.seg,
            "off": self.off,
        }
        body |= {} if self.lease is None else {"lease": self.lease}
        body |= {} if self.took is None else {"took": self.took}
        body |= {"free": True} if self.free else {}
        body |= {"done": True} if self.done else {}
        return frame(body).framed()


def slot_name(seq: int) -> str:
    return f"{seq:012d}"


def stripped(batch: bytes) -> bytes:
    """A batch without its padding."""
    return batch[: batch.rindex(b"}\n") + 2]


def parse_slot(payload: bytes, seq: int) -> tuple[Slot, bytes]:
    """The slot, and its batch with padding; `payload` may end behind the header, then the batch is empty.

    Raises: ArtifactError.
    """
    line, newline, batch = payload.partition(b"\n")
    body = decode_body(parse_line(line + newline).raw)
    keys = body.keys()
    if not keys >= FIELDS or not keys <= FIELDS | OPTIONAL or body["t"] != "slot":
        raise ArtifactError("the first line is not the header of a slot")
    if any(type(body[name]) is not int for name in NUMBERS) or body["seq"] != seq:
        raise ArtifactError("the header is that of another slot")
    fields = {name: value for name, value in body.items() if name != "t"}
    padded = batch + padding(body["off"] + len(batch)) if batch else b""
    return Slot(**fields, end=body["off"] + len(padded), digest=sha256_hex(payload)), padded


class SlotLog:
    """The slots of one log. A reader needs no more than this; a writer claims, appends and releases.

    first: slots below it may have been removed after they were packed.
    """

    def __init__(self, bucket: Bucket, folder: str, first: int = 0) -> None:
        self._bucket, self.folder, self.first = bucket, folder, first
        self._tip: Slot | None = None
        self._mine: Slot | None = None  # the claim of this process
        self._fenced = False
        self.finished = False
        """What the release will say: nothing is left to do in this log."""

    # reading

    def read(self, seq: int) -> tuple[Slot, bytes] | None:
        """A slot and its batch; None when nobody has taken it. Raises: ArtifactError when it is damaged."""
        payload = self._bucket.get(self._key(seq))
        return None if payload is None else self._parsed(payload, seq)

    def header(self, seq: int) -> Slot | None:
        """A slot without its batch (`end` and `digest` are meaningless)."""
        payload = self._bucket.get_range(self._key(seq), 0, HEADER_BYTES)
        return None if payload is None else self._parsed(payload.partition(b"\n")[0] + b"\n", seq)[0]

    def tip(self) -> Slot | None:
        """The last slot taken; None when there is none. Asks only for what lies behind the last one known."""
        if self.held:
            return self._tip
        low = self.first - 1 if self._tip is None else self._tip.seq
        step = 1
        while self._taken(low + step):
            low, step = low + step, step * 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._taken(middle) else (low, middle)
        if low >= self.first and (self._tip is None or low != self._tip.seq):
            found = self.read(low)
            assert found is not None
            self._tip = found[0]
        return self._tip

    def holder(self) -> Body | None:
        """The lease of the writer that has the log; None when nobody has."""
        if self._mine is not None:
            return None if self._fenced else self._mine.lease
        tip = self.tip()
        if tip is None or tip.free:
            return None
        claim = tip if tip.claim == tip.seq else self.header(tip.claim)
        return {} if claim is None or claim.lease is None else claim.lease

    def at(self, seg: int, off: int) -> int | None:
        """The slot whose batch covers an offset of a segment, or the last one before it; None without segment."""
        tip = self.tip()
        if tip is None or (tip.seg, tip.end) < (seg, 0):
            return None
        low, high = self.first, tip.seq + 1
        while high - low > 1:
            middle = (low + high) // 2
            found = self.header(middle)
            if found is None:
                self._missing(middle)
            low, high = (middle, high) if (found.seg, found.off) <= (seg, off) else (low, middle)
        return low

    # writing

    def claim(self, lease: bytes) -> bool:
        """Whether this process has the log now; False when somebody else took the slot.

        The slot behind the tip that `holder` looked at: who came meanwhile was not looked at, and wins.
        """
        tip = self._tip
        seq = self.first if tip is None else tip.seq + 1
        body: Body = orjson.loads(lease)
        mine = Slot(
            seq=seq,
            prev=EMPTY_LOG if tip is None else tip.digest,
            w=body["token"],
            claim=seq,
            seg=-1 if tip is None else tip.seg,
            off=0 if tip is None else tip.end,
            lease=body,
            took=None if tip is None or tip.free else tip.w,
        )
        if not self._put(mine, b""):
            return False
        self._mine = self._tip
        return True

    def append(self, seg: int, off: int, batch: bytes) -> None:
        """The batch is durable in the next slot. Raises: FencedError when another writer has it."""
        tip, mine = self._tip, self._mine
        if tip is None or mine is None or self._fenced:
            self._fence()
        slot = evolve(self._next(tip, mine), seg=seg, off=off)
        if not self._put(slot, stripped(batch)):
            self._fence()

    def release(self) -> None:
        """Anybody may take the log from here on."""
        tip, mine = self._tip, self._mine
        if tip is None or mine is None or self._fenced:
            return
        while not self._put(evolve(self._next(tip, mine), free=True, done=self.finished), b""):
            # A batch of our own whose answer was lost may be there; anything else is a successor's.
            found = self.read(tip.seq + 1)
            if found is None or found[0].w != mine.w:
                break
            tip = found[0]
        self._mine = None

    @property
    def held(self) -> bool:
        """Whether this process has the log, as far as it knows."""
        return self._mine is not None and not self._fenced

    @staticmethod
    def _next(tip: Slot, mine: Slot) -> Slot:
        return Slot(seq=tip.seq + 1, prev=tip.digest, w=mine.w, claim=mine.seq, seg=tip.seg, off=tip.end)

    def _put(self, slot: Slot, batch: bytes) -> bool:
        payload = slot.header() + batch
        if not self._bucket.put_new(self._key(slot.seq), payload):
            return False
        self._tip = parse_slot(payload, slot.seq)[0]
        return True

    def _fence(self) -> NoReturn:
        self._fenced = True
        raise FencedError(
            f"{self._bucket.where}: another writer took over log {self.folder}. This one has stopped: what it had "
            "in flight is recorded as interrupted by the other."
        )

    def _taken(self, seq: int) -> bool:
        return self._bucket.size(self._key(seq)) is not None

    def _key(self, seq: int) -> str:
        return f"{self.folder}/{slot_name(seq)}"

    def _parsed(self, payload: bytes, seq: int) -> tuple[Slot, bytes]:
        try:
            return parse_slot(payload, seq)
        except ArtifactError as error:
            raise ArtifactError(f"{self._key(seq)}: {error}. The stored run was edited or damaged.") from None

    def _missing(self, seq: int) -> NoReturn:
        raise ArtifactError(f"{self._key(seq)} is missing, and later slots are there. The stored run was damaged.")
