"""Text of a file a user named: a regular file of UTF-8 within the size limit, or one clear refusal."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.source import Source
from dfah_cli.loading.wording import did_you_mean, escaped

MAX_BYTES = 64 * 1024 * 1024

KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
# UTF-32 before UTF-16: the little-endian mark of one begins with that of the other.
FOREIGN_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
OS_REASONS = {
    errno.ELOOP: "is a loop of symbolic links",
    errno.EACCES: "may not be read by this user",
    errno.EPERM: "may not be read by this user",
    errno.ENAMETOOLONG: "is too long a path",
    errno.ENOTDIR: "lies below something that is not a directory",
}


def read_source(path: str | os.PathLike[str]) -> Source:
    """The decoded text of a regular file, without a UTF-8 byte order mark.

    Raises: ConfigurationError when it is missing, no regular file, unreadable, too large or not UTF-8.
    """
    name = os.fspath(path)
    return Source(name, decode(read_bytes(name), name))


def read_bytes(name: str, *, any_size: bool = False) -> bytes:
    """The bytes of a regular file of at most MAX_BYTES, or of any size."""
    shown = escaped(name)
    if "\x00" in name:
        raise ConfigurationError(f"{shown}: a path cannot hold a NUL character")
    try:
        # Looked at first: opening a FIFO would wait for a writer, opening a device may act on it.
        _check_kind(os.stat(name), shown)
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            payload = stream.read(-1 if any_size else MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{shown}: {_os_reason(name, error)}") from None
    except ValueError:
        raise ConfigurationError(f"{shown}: the file system's encoding cannot hold this path") from None
    if not any_size and len(payload) > MAX_BYTES:
        raise ConfigurationError(f"{shown}: larger than {MAX_BYTES // 1024**2} MiB; split the file")
    return payload


def decode(payload: bytes, name: str) -> str:
    """The text of UTF-8 bytes.

    Raises: ConfigurationError naming the encoding found, or line and column of the first wrong byte.
    """
    for mark, encoding in FOREIGN_MARKS:
        if payload.startswith(mark):
            raise ConfigurationError(f"{escaped(name)}:1:1: the file is {encoding}; save it as UTF-8")
    try:
        return payload.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = payload[: error.start].decode("utf-8")
        place = Source(name, before).place(len(before))
        byte = payload[error.start]
        raise ConfigurationError(f"{place}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from None


def _check_kind(status: os.stat_result, shown: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = next((word for test, word in KINDS if test(status.st_mode)), "no regular file")
    raise ConfigurationError(f"{shown}: is {kind}, not a file")


def _os_reason(name: str, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f"no such file{_neighbour(Path(name))}"
    reason = OS_REASONS.get(error.errno or 0)
    return reason if reason is not None else f"cannot be read ({os.strerror(error.errno or 0)})"


def _neighbour(path: Path) -> str:
    try:
        names = sorted(os.listdir(path.parent))[:1000]
    except OSError:
        return ""
    return did_you_mean(path.name, names)
