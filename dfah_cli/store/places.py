"""Where a run lies: a directory, or a URL of an object storage. The one function that opens either.

Credentials come from the environment alone (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, …) and are
never part of a place, a message or a record.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

from dfah_cli.errors import ConfigurationError, OptionalDependencyError
from dfah_cli.store.bucket import INSTALL, Bucket
from dfah_cli.store.log import LogStore
from dfah_cli.store.object_store import ObjectStore, bound_shards
from dfah_cli.store.sharded import ShardedStore

SCHEME = "s3://"
REQUEST_S = 60
_URL = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[^/?#\s]+)*)/?")


@frozen
class RunUrl:
    """A place in an object storage: `s3://bucket/prefix`. As much of a path as places need."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> RunUrl:
        return RunUrl(f"{self.text}/{name}")

    @property
    def name(self) -> str:
        """The last part of the prefix."""
        return self.text.rstrip("/").rpartition("/")[2]


Place = Path | RunUrl


def is_url(value: object) -> bool:
    """Whether a place is one of an object storage."""
    return isinstance(value, RunUrl) or (isinstance(value, str) and value.startswith(SCHEME))


def place_of(value: str | Path | RunUrl) -> Place:
    """The place that was named. Raises: ConfigurationError for a URL that is none of ours."""
    if isinstance(value, RunUrl):
        return value
    if isinstance(value, Path) or "://" not in value:
        return Path(value)
    found = _URL.fullmatch(value)
    if found is None:
        shown = re.sub(r"//[^/@]*@", "//…@", value).partition("?")[0]
        raise ConfigurationError(
            f"{shown}: expected a directory or s3://bucket/prefix, without user, query or empty parts. "
            "Credentials and endpoint come from the environment (AWS_ACCESS_KEY_ID, …, AWS_ENDPOINT_URL)"
        )
    return RunUrl(f"{SCHEME}{found[1]}{found[2]}")


def bucket_of(place: RunUrl) -> Bucket:
    """The storage below a URL. Raises: OptionalDependencyError without the package for it."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError:
        raise OptionalDependencyError(f"{place}: needs the package obstore; run: {INSTALL}") from None
    name, _, prefix = place.text.removeprefix(SCHEME).partition("/")
    options: dict[str, Any] = {
        # Few tries of its own: the store repeats, and knows what an uncertain answer means.
        "retry_config": {"max_retries": 1, "retry_timeout": timedelta(seconds=REQUEST_S)},
        "client_options": {"timeout": timedelta(seconds=REQUEST_S), "allow_http": _allows_http()},
    }
    try:
        return Bucket(S3Store(name, **options), prefix, place.text)
    except BaseError:
        raise ConfigurationError(
            f"{place}: the environment does not describe an object storage; set AWS_REGION, or AWS_ENDPOINT_URL "
            "for another one than S3"
        ) from None


def _allows_http() -> bool:
    """Plain HTTP is for a server on this machine only, unless the environment allows it."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
    local = re.match(r"http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|$)", endpoint)
    return local is not None or os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")


def open_store(value: str | Path | RunUrl, *, shards: int | None = None) -> LogStore | ShardedStore:
    """The store at a place.

    shards: how many logs a new run in an object storage gets; None takes what is bound, else one.
    Raises: ConfigurationError.
    """
    place = place_of(value)
    if isinstance(place, Path):
        if shards not in (None, 1):
            raise ConfigurationError(f"shards: {place} is a directory, which keeps one writer; it is for s3:// only")
        return LogStore(place)
    return store_in(bucket_of(place), shards=shards)


def store_in(bucket: Bucket, *, shards: int | None = None) -> ObjectStore | ShardedStore:
    """The store below a prefix."""
    bound = bound_shards(bucket) or shards or 1
    if shards is not None and shards != bound:
        raise ConfigurationError(
            f"{bucket.where} was made with shards={bound}, which is fixed; found shards={shards}. "
            "Leave it out, or use a new place"
        )
    return ObjectStore(bucket) if bound == 1 else ShardedStore(bucket, bound)
