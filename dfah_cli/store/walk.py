"""One pass over a whole log: every line digest, every root, every pin between segments, every state change.

Reads only. Gives out records as their batches are checked, and afterwards says where the log ends.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterator
from typing import NoReturn

from attrs import Factory, define

from dfah_cli.errors import ArtifactError, NewerVersionError
from dfah_cli.merkle import CompactRange
from dfah_cli.store import layout
from dfah_cli.store.blobs import is_reference, resolved
from dfah_cli.store.files import RunFiles
from dfah_cli.store.framing import Line, decode_body, parse_line
from dfah_cli.store.layout import Head, segment_name, sha256_hex
from dfah_cli.store.plan import PlanFacts
from dfah_cli.store.protocol import Body
from dfah_cli.store.scan import Batch, SegmentScan
from dfah_cli.store.slots import SlotTable
from dfah_cli.store.torn import TORN_LIMIT, Ending, judge
from dfah_cli.store.vocabulary import FORMAT_VERSION, check_fields, stated_time

RECENT_BATCHES = 4096


@define(kw_only=True)
class LogEnd:
    """Where the log stands, enough to continue it.

    b: number of the next batch. length, digest: committed bytes of the last segment and the hash over them.
    torn, whole: the bytes behind them and the whole lines among these. closed_at: the head at the close
    record.
    digests: SHA-256 by name of every evidence file as it is on disk.
    """

    b: int = 0
    tree: CompactRange = Factory(CompactRange)
    segments: int = 0
    length: int = 0
    digest: hashlib._Hash = Factory(layout.new_digest)
    torn: bytes = b""
    whole: list[Line] = Factory(list)
    close: Body | None = None
    closed_at: Head | None = None
    sealed: bool = False
    last_at: str | None = None
    ordinals: dict[str, int] = Factory(lambda: {"report": 0, "gate": 0})
    digests: dict[str, str] = Factory(dict)


class LogWalk:
    """A pass. `table`, `end` and `compared` are right when `records` has come to its end."""

    def __init__(
        self, files: RunFiles, facts: PlanFacts, boot_id: str, faults: list[ArtifactError] | None = None
    ) -> None:
        """faults: takes what is wrong with the files beside the log; without it, the first fault is raised."""
        self._files, self._facts, self._boot_id, self._faults = files, facts, boot_id, faults
        self.compared: Counter[str] = Counter()
        self.table = SlotTable(facts.episodes_planned, facts.manifest_hash)
        self.end = LogEnd()
        self._objects: set[str] = set()
        self._roots: deque[tuple[int, str]] = deque(maxlen=RECENT_BATCHES)
        self._head: Head | None = None
        self._header: Body = {}

    def records(self) -> Iterator[tuple[str, Body]]:
        """(h, body) of every record but commits. Raises: ArtifactError."""
        # In this order: each was durable before the next one read was written, also beside a live writer.
        sums = self._files.read(layout.SUMS)
        seal = self._files.read(layout.SEAL)
        head = self._files.read(layout.HEAD)
        self._head = layout.parse_head(head)
        self.compared[layout.HEAD] += self._head is not None
        number = 0
        while number < self._files.segments():
            yield from self._segment(number)
            number += 1
        if number == 0 and self._head is not None:
            raise ArtifactError(f"head names a segment, and there is none. {layout.ADVICE}", part=layout.HEAD)
        if seal is not None:
            self._check_seal(seal, head)
        self._check_sums(sums)

    # one segment

    def _segment(self, number: int) -> Iterator[tuple[str, Body]]:
        fs, directory = self._files.fs, self._files.part(layout.SEGMENTS)
        assert directory is not None
        file = fs.open_read(directory, segment_name(number))
        try:
            pin = self._pin(number + 1)
            limit = None if pin is None else pin["prev_len"]
            scan = SegmentScan(
                lambda size, offset: fs.read(file, size, offset), b=self.end.b, tree=self.end.tree, limit=limit
            )
            yield from self._batches(scan, number)
            if pin is None and (pin := self._pin(number + 1)):
                # A live writer began the next segment meanwhile, so this one is final now.
                scan.go_on(pin["prev_len"])
                yield from self._batches(scan, number)
            self._end_segment(scan, number, pin, fs.size(file))
        finally:
            fs.close(file)

    def _pin(self, number: int) -> Body | None:
        """The header of a segment, which pins the one before; None when it does not exist."""
        if number >= self._files.segments():
            return None
        fs, directory = self._files.fs, self._files.part(layout.SEGMENTS)
        assert directory is not None
        file = fs.open_read(directory, segment_name(number))
        try:
            line = fs.read(file, 4096, 0).partition(b"\n")[0] + b"\n"
            body = decode_body(parse_line(line).raw)
            if check_fields(body) != "segment" or type(body["prev_len"]) is not int:
                raise ArtifactError("the first record of a segment is not its header")
            return body
        except ArtifactError as error:
            self._refuse(number, f"line 1: {error}", error)
        finally:
            fs.close(file)

    def _batches(self, scan: SegmentScan, number: int) -> Iterator[tuple[str, Body]]:
        for batch in scan:
            if self.end.closed_at is not None and self.end.closed_at.seg == number:
                self._refuse(number, f"line {batch.line}: a batch behind the close record")
            for offset, line in enumerate(batch.lines):
                try:
                    body = decode_body(line.raw)
                    kind = check_fields(body)
                    if (kind == "segment") != (batch.start == 0 and offset == 0):
                        raise ArtifactError("segment record elsewhere than at the start, or none there")
                    given = self._take(kind, body, line.h, number)
                except ArtifactError as error:
                    self._refuse(number, f"line {batch.line + offset}: {error}", error)
                if given is not None:
                    yield line.h, given
            # Once a batch is enough: times within one do not differ by anything that is shown.
            self.end.last_at = stated_time(body) or self.end.last_at
            self._after(batch, scan, number)

    def _take(self, kind: str, body: Body, h: str, number: int) -> Body | None:
        """The record as given out; None for a terminal record that stands twice."""
        if not self.table.apply(kind, body, h):
            return None
        if kind == "episode":
            if is_reference(body.get("trajectory")):
                if body["trajectory"]["sha256"] not in self._objects:
                    raise ArtifactError("the trajectory names an object that no record announces")
                body = self._resolved(body)
        elif kind == "segment":
            self._check_header(body, number)
        elif kind == "object":
            self._objects.add(body["sha256"])
        elif kind in ("report", "gate"):
            self._check_statement(kind, body)
        elif kind == "close":
            self.end.close = body
        return body

    def _after(self, batch: Batch, scan: SegmentScan, number: int) -> None:
        self.end.b, self.end.tree = scan.b, scan.tree
        self._roots.append((batch.mark.n, batch.mark.root))
        if self.end.close is not None and self.end.closed_at is None:
            mark = batch.mark
            self.end.closed_at = Head(seg=number, len=batch.end, n=mark.n, root=mark.root)

    # claims

    def _check_header(self, body: Body, number: int) -> None:
        end = self.end
        expected = {
            "no": number,
            "v": FORMAT_VERSION,
            "run": self._facts.plan_sha256,
            "prev_len": end.length,
            "prev_sha256": end.digest.hexdigest(),
            "prev_torn": sha256_hex(end.torn),
            "prev_n": end.tree.size,
            "prev_root": end.tree.root().hex(),
        }
        for field, value in expected.items():
            if body[field] != value or type(body[field]) is not type(value):
                part = layout.PLAN if field == "run" else None
                raise ArtifactError(f"the segment header's {field} does not match what it continues", part=part)
        self._header = body

    def _check_statement(self, kind: str, body: Body) -> None:
        ordinal = body["ordinal"]
        if type(ordinal) is not int or ordinal <= self.end.ordinals[kind]:
            raise ArtifactError(f"{kind} ordinal that does not grow")
        self.end.ordinals[kind] = ordinal
        part, name = f"{kind}s", layout.statement_name(ordinal)
        payload = self._files.read_in(part, name)
        if payload is None or sha256_hex(payload) != body["sha256"]:
            fault = "is missing" if payload is None else "does not match its log record"
            self._fault(f"{part}/{name}", f"{part}/{name} {fault}")
        self.compared[part] += 1
        self.end.digests[f"{part}/{name}"] = body["sha256"]
        if kind == "report":
            known = [root for n, root in self._roots if n == body["log_n"]]
            if type(body["log_n"]) is not int or (known and known[0] != body["log_root"]):
                raise ArtifactError("the report was stated from another log than this one")

    def _end_segment(self, scan: SegmentScan, number: int, pin: Body | None, size: int) -> None:
        end = self.end
        end.segments, end.length, end.digest = number + 1, scan.end, scan.digest
        if pin is None:
            self._end_last(scan, number)
        elif scan.end != pin["prev_len"]:
            self._refuse(number, str(scan.fault or "is shorter than the next segment says"))
        elif self._head and self._head.seg == number and self._head.len > scan.end:
            self._refuse(number, "head says that more of it was durable")
        else:
            end.torn = scan.behind(size)
        whole = end.digest.copy()
        whole.update(end.torn)
        end.digests[f"{layout.SEGMENTS}/{segment_name(number)}"] = whole.hexdigest()

    def _end_last(self, scan: SegmentScan, number: int) -> None:
        end = self.end
        end.torn = scan.rest(TORN_LIMIT + 1)
        ending = Ending(
            seg=number,
            length=scan.end,
            b=scan.b,
            same_boot=bool(self._boot_id) and self._header.get("boot") == self._boot_id,
            closed=end.closed_at is not None and end.closed_at.seg == number,
        )
        try:
            end.whole = judge(end.torn, ending, self._head)
        except ArtifactError as error:
            self._refuse(number, f"{scan.fault or f'byte {scan.end}'}; {error}")

    def _check_seal(self, seal: bytes, head: bytes | None) -> None:
        close, closed_at = self.end.close, self.end.closed_at
        if close is None or closed_at is None:
            self._fault(layout.SEAL, f"seal.json: the log has no close record. {layout.ADVICE}")
            return
        expected = layout.Seal(
            plan_sha256=self._facts.plan_sha256,
            episodes=close["episodes"],
            episode_root=close["episode_root"],
            head=closed_at,
        )
        for problem in layout.sealing_problems(seal, head, expected):
            self._beside(problem)
        self.end.sealed = True
        self.end.digests[layout.SEAL] = sha256_hex(seal)
        self.compared[layout.SEAL] += 1

    def _check_sums(self, sums: bytes | None) -> None:
        self.end.digests[layout.PLAN] = self._facts.plan_sha256
        self.end.digests[layout.MANIFEST] = self._facts.manifest_hash
        for name, digest in self._listed(sums).items():
            self.compared[layout.SUMS] += 1
            if self.end.digests.get(name) != digest:
                self._fault(layout.SUMS, f"{name} does not match {layout.SUMS}. {layout.ADVICE}")

    def _listed(self, sums: bytes | None) -> dict[str, str]:
        try:
            return {} if sums is None else layout.parse_sums(sums)
        except ArtifactError as error:
            self._fault(layout.SUMS, str(error))
            return {}

    def _resolved(self, body: Body) -> Body:
        self.compared[layout.OBJECTS] += 1
        try:
            return resolved(body, self._files.object)
        except ArtifactError as error:
            error.part = layout.OBJECTS
            raise

    def _fault(self, part: str, text: str) -> None:
        self._beside(ArtifactError(text, part=part))

    def _beside(self, error: ArtifactError) -> None:
        """Something is wrong with a file beside the log: the pass itself can go on."""
        if self._faults is None:
            raise error
        self._faults.append(error)

    def _refuse(self, number: int, claim: str, error: ArtifactError | None = None) -> NoReturn:
        name = f"{layout.SEGMENTS}/{segment_name(number)}"
        if isinstance(error, NewerVersionError):
            error.part = name
            raise error
        kind, part = (ArtifactError, None) if error is None else (type(error), error.part)
        raise kind(f"{name} {claim}. {layout.ADVICE}", part=part or name)
