"""One replay recorded elsewhere, in the shape every importer gives. What was not recorded stays unavailable."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import digest, digest_bytes
from dfah_cli.errors import ConfigurationError, ValidationError
from dfah_cli.loading.wording import escaped
from dfah_cli.metrics.paths import StepLike

# What a label may be as long as and still be shown; longer answers appear as a digest.
LONGEST_LABEL = 64


@frozen(kw_only=True)
class RecordedReplay:
    """One replay.

    agent: everything that must be equal for two replays to be replays of one agent (provider, model,
    version). decision: None = unavailable. steps: None = the path is unavailable; empty = no tool was
    called, and that is known; a hash in a step is None where it was not recorded. replay_index: None = in
    order of appearance. backend: what served it, None = not recorded. started_at: with its offset. parallel: sets of
    tools whose calls may swap, sorted. where: file and line or record, for messages.
    """

    configuration_id: str
    agent: tuple[Hashable, ...]
    task: str
    case_id: str
    replay_index: int | None
    decision: str | None
    steps: tuple[StepLike, ...] | None
    where: str
    provider: str | None = None
    model: str | None = None
    status: str = "valid"
    wire: str | None = None
    endpoint: str | None = None
    cost_nusd: int = 0
    latency_us: int = 0
    backend: str | None = None
    started_at: datetime | None = None
    parallel: tuple[tuple[str, ...], ...] = ()


@frozen(kw_only=True)
class Recording:
    """What one file or directory holds.

    replays: in file order, read when they are asked for, once. expected: the number of replays its design
    fixed, None when it had none. planned: (task, case) that were planned, also without a replay. notes:
    what a reader should know about this source.
    """

    source: str
    format: str
    replays: Iterable[RecordedReplay]
    expected: int | None = None
    planned: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())


def shown(path: Path) -> str:
    """A path as it may stand in a message."""
    return escaped(str(path))


def refused(where: str, problem: str) -> ValidationError:
    """The refusal of one record: nothing of the file is imported."""
    return ValidationError(f"{where}: {problem}; nothing was imported")


def label(text: str | None) -> str | None:
    """A recorded answer as a decision label: stripped, lower case; a long or multi-line one by its digest only."""
    if text is None or not text.strip():
        return None
    plain = text.strip().lower()
    if len(plain) > LONGEST_LABEL or "\n" in plain or not plain.isprintable():
        return f"sha256:{digest_bytes(plain.encode('utf-8', 'surrogatepass'))[:16]}"
    return plain


def value_hash(value: Any, where: str) -> str:
    """Digest of recorded arguments or a recorded result."""
    try:
        return digest(value)
    except ValidationError as error:
        raise refused(where, f"a value cannot be hashed ({error})") from None


def read_document(path: Path) -> bytes:
    """The bytes of a file. Raises: ConfigurationError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> ConfigurationError:
    """The refusal of a file that the system does not give."""
    return ConfigurationError(f"{shown(path)}: cannot be read ({error.strerror or type(error).__name__})")
