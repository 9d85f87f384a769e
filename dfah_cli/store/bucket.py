"""One prefix of an object storage: the few requests the store makes, each answered for certain or refused.

Two rules make an uncertain answer certain. A conditional create that was refused is followed by a read: nothing there
means it was not ours to lose, so it is tried again; our own bytes mean that an earlier try succeeded unheard; other
bytes mean that another writer was first. And whatever is repeated is repeated with the same bytes.
"""

from __future__ import annotations

import errno
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from dfah_cli.errors import ConfigurationError

T = TypeVar("T")

TRIES = 6
FIRST_PAUSE_S = 0.1
PART_BYTES = 16 << 20


class ObjectStorageError(OSError):
    """The object storage gave no usable answer, however often it was asked."""

    def __init__(self, what: str) -> None:
        super().__init__(errno.EIO, what)


class Bucket:
    """Requests below one prefix. `requests` counts what was sent, by kind, retries included."""

    def __init__(self, store: Any, prefix: str, where: str, *, pause_s: float = FIRST_PAUSE_S) -> None:
        """store: an `obstore` store. where: how messages name the place; without credentials."""
        import obstore  # there, because the store is one of its

        self._ask, self._store, self._pause_s = obstore, store, pause_s
        self._prefix = prefix.strip("/")
        self.where = where
        self.requests: Counter[str] = Counter()

    def below(self, name: str) -> Bucket:
        """The same storage, one prefix deeper; requests are counted together."""
        inner = Bucket(self._store, f"{self._prefix}/{name}", f"{self.where}/{name}", pause_s=self._pause_s)
        inner.requests = self.requests
        return inner

    def put_new(self, key: str, payload: bytes) -> bool:
        """Whether the object exists with these bytes because of this call; False when other bytes were there first.

        Raises: ObjectStorageError.
        """
        for _ in range(TRIES):
            if self._certain("put", lambda: self._create(key, payload)):
                return True
            found = self.get(key)
            if found is not None:
                return found == payload
        raise ObjectStorageError("conditional creates are refused although nothing is there")

    def put(self, key: str, payload: bytes) -> None:
        """The object has these bytes, whatever was there. Raises: ObjectStorageError."""
        self._certain("put", lambda: self._ask.put(self._store, self._path(key), payload))

    def put_large(self, key: str, chunks: Iterator[bytes]) -> None:
        """The same for more bytes than memory should hold; appears whole or not at all."""
        self._certain("multipart", lambda: self._stream(key, chunks), tries=1)

    def get(self, key: str) -> bytes | None:
        """All bytes of an object; None when there is none."""
        return self._certain("get", lambda: self._found(key))

    def get_range(self, key: str, start: int, size: int) -> bytes | None:
        """Up to `size` bytes from `start`; None when there is no object. `start` must lie inside it."""
        return self._certain("get", lambda: self._part(key, start, size))

    def size(self, key: str) -> int | None:
        """Bytes of an object; None when there is none."""
        return self._certain("head", lambda: self._size(key))

    def delete(self, key: str) -> None:
        """The object is gone."""
        self._certain("delete", lambda: self._gone(key))

    def names(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Folders and objects directly below; for people's lists only, never for correctness."""
        found = self._certain("list", lambda: self._listed(folder))
        start = len(self._path(folder)) + 1 if self._path(folder) else 0
        prefixes, objects = found["common_prefixes"], [meta["path"] for meta in found["objects"]]
        return sorted(str(p)[start:].strip("/") for p in prefixes), sorted(str(p)[start:] for p in objects)

    def all_names(self) -> list[str]:
        """Every object below, sorted."""
        start = len(self._path("")) + 1 if self._prefix else 0
        return sorted(path[start:] for path in self._certain("list", self._every_path))

    def modified(self) -> datetime | None:
        """When an object directly below was last stored; None when there is none."""
        return max(
            (meta["last_modified"] for meta in self._certain("list", lambda: self._listed(""))["objects"]), default=None
        )

    def check_conditional_create(self, token: str) -> None:
        """Nothing, when the endpoint lets exactly one of two creates of a name succeed.

        Raises: ConfigurationError when it ignores the condition: every fence of the log would be open.
        """
        key = f"probe/{token}"
        first, second = self.put_new(key, b"first"), self.put_new(key, b"second")
        self.delete(key)
        if not first or second:
            raise ConfigurationError(
                f"{self.where}: the endpoint does not keep If-None-Match on PUT (two creates of one name gave "
                f"{'two successes' if first and second else 'no success'}), so two writers could call one episode "
                "twice. Use a storage with conditional writes."
            )

    # one request each

    def _create(self, key: str, payload: bytes) -> bool:
        refused = self._ask.exceptions
        try:
            self._ask.put(self._store, self._path(key), payload, mode="create")
        except (refused.AlreadyExistsError, refused.PreconditionError):
            return False
        return True

    def _stream(self, key: str, chunks: Iterator[bytes]) -> None:
        writer = self._ask.open_writer(self._store, self._path(key), buffer_size=PART_BYTES)
        for chunk in chunks:
            writer.write(chunk)
        writer.close()  # not when a chunk could not be had: what is not closed never appears

    def _found(self, key: str) -> bytes | None:
        try:
            return bytes(self._ask.get(self._store, self._path(key)).bytes())
        except FileNotFoundError:
            return None

    def _part(self, key: str, start: int, size: int) -> bytes | None:
        try:
            return bytes(self._ask.get_range(self._store, self._path(key), start=start, length=size))
        except FileNotFoundError:
            return None

    def _size(self, key: str) -> int | None:
        try:
            return int(self._ask.head(self._store, self._path(key))["size"])
        except FileNotFoundError:
            return None

    def _gone(self, key: str) -> None:
        try:
            self._ask.delete(self._store, self._path(key))
        except FileNotFoundError:
            return

    def _listed(self, folder: str) -> Any:
        return self._ask.list_with_delimiter(self._store, self._path(folder) or None)

    def _every_path(self) -> list[str]:
        # With the slash: a run must not take in those whose names begin like its own.
        below = f"{self._prefix}/" if self._prefix else None
        return [str(meta["path"]) for page in self._ask.list(self._store, below) for meta in page]

    def _path(self, key: str) -> str:
        return "/".join(part for part in (self._prefix, key) if part)

    def _certain(self, kind: str, request: Callable[[], T], *, tries: int = TRIES) -> T:
        """The answer. An unacknowledged request is repeated, with the same bytes."""
        errors = self._ask.exceptions
        for attempt in range(tries):
            self.requests[kind] += 1
            try:
                return request()
            except (errors.BaseError, FileNotFoundError) as problem:
                refusal = self._refusal(problem)
                if refusal is not None:
                    raise refusal from None
                status = _status(problem)
                what = type(problem).__name__ + (f", status {status}" if status else "")
            time.sleep(self._pause_s * 2**attempt if attempt + 1 < tries else 0)
        raise ObjectStorageError(
            f"the object storage gives no answer for {self.where} ({what}); check the name of the bucket, the "
            "credentials, AWS_REGION, AWS_ENDPOINT_URL and the network, then repeat the command"
        )

    def _refusal(self, problem: Exception) -> ConfigurationError | None:
        """What no repetition helps against; None for everything else."""
        errors, status = self._ask.exceptions, _status(problem)
        # A list that is refused raises a general error.
        if isinstance(problem, errors.PermissionDeniedError | errors.UnauthenticatedError) or status in (401, 403):
            return ConfigurationError(
                f"{self.where}: the object storage refused access. Give credentials in the environment "
                "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION) that may read and write there."
            )
        if isinstance(problem, FileNotFoundError) or status == 404:
            return ConfigurationError(f"{self.where}: no such bucket. Make it first.")
        if isinstance(problem, errors.NotSupportedError):
            return ConfigurationError(f"{self.where}: the endpoint does not know conditional writes.")
        return None


def _status(problem: Exception) -> int | None:
    """The status of the answer; the rest of the text may quote an endpoint with credentials, or its answer."""
    found = re.search(r"non-2xx status code: (\d{3})\b", str(problem))
    return int(found[1]) if found else None
