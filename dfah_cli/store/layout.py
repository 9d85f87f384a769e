"""Names and small files of a run directory. Pure: renders and parses bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import orjson
from attrs import frozen

from dfah_cli.errors import ArtifactError, NewerVersionError
from dfah_cli.merkle import checkpoint_text, commitment
from dfah_cli.store.framing import decode_body, line_of, parse_line

PLAN = "plan.json"
MANIFEST = "manifest.json"
GUARD = "writer.guard"
LEASE = "lease.json"
HEAD = "head"
SEAL = "seal.json"
SUMS = "SHA256SUMS"
RESERVE = "reserve"
SEGMENTS = "segments"
REPORTS = "reports"
GATES = "gates"
OBJECTS = "objects"
LEASES = "leases"
CACHE = "cache"
TEMPORARY = ".tmp"

DIRECTORIES = (SEGMENTS, REPORTS, GATES, OBJECTS, LEASES)
OURS = frozenset({PLAN, MANIFEST, GUARD, LEASE, HEAD, SEAL, SUMS, RESERVE, CACHE, *DIRECTORIES})

ADVICE = "The run directory was edited or damaged; restore it from a copy, or use a new --out."

HEAD_SIZE = 256
SEAL_VERSION = 1
SEGMENT_BYTES = 256 * 1024 * 1024
SEGMENT_RECORDS = 1 << 18
CHECKPOINT_ORIGIN = "dfah-cli/run/"

_SUM_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9_./-]+)\n")
_SEGMENT_NAME = re.compile(r"\d{8}\.jsonl")


def segment_name(number: int) -> str:
    return f"{number:08d}.jsonl"


def is_segment(name: str) -> bool:
    return _SEGMENT_NAME.fullmatch(name) is not None


def statement_name(ordinal: int) -> str:
    """File name of a report or gate record."""
    return f"{ordinal}.json"


def is_run(names: list[str]) -> bool:
    """Whether a directory holds a run, or what a writer left that died before it recorded the plan."""
    return PLAN in names or (GUARD in names and all(_stem(name) in OURS for name in names))


def _stem(name: str) -> str:
    return name.removesuffix(TEMPORARY)


@frozen(kw_only=True)
class Head:
    """How far the log is durable: `len` bytes of segment `seg`, `n` records with this hex root."""

    seg: int
    len: int
    n: int
    root: str

    def render(self) -> bytes:
        """Always 256 bytes: one framed record, spaces, LF."""
        # Written after every batch, so not through the general encoder.
        raw = b'{"len":%d,"n":%d,"root":"%b","seg":%d}' % (self.len, self.n, self.root.encode("ascii"), self.seg)
        return line_of(raw).framed()[:-1].ljust(HEAD_SIZE - 1) + b"\n"


def parse_head(payload: bytes | None) -> Head | None:
    """The hint, or None when it is absent or not whole: an overwrite may have been cut by a power loss."""
    if payload is None or len(payload) != HEAD_SIZE:
        return None
    try:
        head = Head(**decode_body(parse_line(payload.rstrip(b" \n") + b"\n").raw))
        return head if head.render() == payload else None
    except (ArtifactError, TypeError):
        return None


@frozen(kw_only=True)
class Seal:
    """What completion published: the episode set and where the log stood with its close record."""

    plan_sha256: str
    episodes: int
    episode_root: str
    head: Head

    @property
    def commitment(self) -> str:
        return commitment(episodes=self.episodes, episode_root=self.episode_root, plan_sha256=self.plan_sha256)

    def render(self) -> bytes:
        origin = CHECKPOINT_ORIGIN + self.plan_sha256
        stated: dict[str, Any] = {
            "checkpoint": checkpoint_text(origin, self.head.n, bytes.fromhex(self.head.root)),
            "commitment": self.commitment,
            "episode_root": self.episode_root,
            "episodes": self.episodes,
            "length": self.head.len,
            "log_n": self.head.n,
            "log_root": self.head.root,
            "plan": self.plan_sha256,
            "segment": self.head.seg,
            "v": SEAL_VERSION,
        }
        return orjson.dumps(stated, option=orjson.OPT_SORT_KEYS)


def sealing_problems(seal: bytes, head: bytes | None, expected: Seal) -> Iterator[ArtifactError]:
    """In what seal and head of a sealed run are not what the log says."""
    if seal != expected.render():
        version = _seal_version(seal)
        if version is not None and version > SEAL_VERSION:
            yield NewerVersionError(SEAL, version, SEAL_VERSION, part=SEAL)
        else:
            yield ArtifactError(f"{SEAL} does not state what the log says. {ADVICE}", part=SEAL)
    if head != expected.head.render():
        yield ArtifactError(f"{HEAD} does not state the sealed length of the log. {ADVICE}", part=HEAD)


def _seal_version(payload: bytes) -> int | None:
    try:
        stated = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None
    found = stated.get("v") if isinstance(stated, dict) else None
    return found if type(found) is int else None


def render_sums(digests: Mapping[str, str]) -> bytes:
    """`sha256sum -c` reads this."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode("ascii")


def parse_sums(payload: bytes) -> dict[str, str]:
    """Digest by file name. Raises: ArtifactError unless the file is exactly what `render_sums` gives."""
    text = payload.decode("ascii", errors="replace")
    digests = {name: digest for digest, name in _SUM_LINE.findall(text)}
    if render_sums(digests) != payload:
        raise ArtifactError(f"{SUMS}: not a sorted list of digests and names. Restore the run directory.", part=SUMS)
    return digests


def new_digest() -> hashlib._Hash:
    """A running SHA-256 over nothing yet."""
    return sha256()


def sha256_hex(payload: bytes) -> str:
    return sha256(payload).hexdigest()
