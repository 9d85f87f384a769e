"""Where a run lies: a directory, or a URL of an object storage.

Credentials come from the environment alone (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, …) and are
never part of a place, a message or a record.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import frozen

from dfah_cli.errors import ConfigurationError, OptionalDependencyError, install_command
from dfah_cli.store import layout

if TYPE_CHECKING:
    from dfah_cli.store.bucket import Bucket

SCHEME = "s3://"
REQUEST_S = 60
ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3")
SENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")
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

    def absolute(self) -> RunUrl:
        """Itself: a URL means the same everywhere."""
        return self

    def modified(self) -> datetime | None:
        """When an object directly below was last stored; None when there is none."""
        return bucket_of(self).modified()

    def exists(self) -> bool:
        """Whether an object has this name, or any lies below it."""
        return self.is_file() or self.is_dir()

    def is_file(self) -> bool:
        """Whether an object has this name."""
        return bucket_of(self).size("") is not None if self._key else False

    def is_dir(self) -> bool:
        """Whether any object lies below: a list, so for people and refusals only."""
        return any(bucket_of(self).names())  # folders or objects

    def read_bytes(self) -> bytes:
        """The bytes of the object. Raises: FileNotFoundError."""
        payload = bucket_of(self).get("")
        if payload is None:
            raise FileNotFoundError(self.text)
        return payload

    def write_bytes(self, payload: bytes) -> None:
        """The object has these bytes, whatever it had."""
        bucket_of(self).put("", payload)

    @property
    def _key(self) -> str:
        return self.text.removeprefix(SCHEME).partition("/")[2]


Place = Path | RunUrl


def place_of(value: str | Path | RunUrl) -> Place:
    """The place that was named. Raises: ConfigurationError for a URL that is none of ours."""
    if isinstance(value, RunUrl):
        return value
    # A path keeps one of the slashes.
    text = re.sub(r"^s3:/(?=[^/])", SCHEME, value.as_posix() if isinstance(value, Path) else value)
    if "://" not in text:
        return Path(value)
    found = _URL.fullmatch(text)
    if found is None:
        shown = re.sub(r"//[^/@]*@", "//…@", text).partition("?")[0]
        raise ConfigurationError(
            f"{shown}: expected a directory or s3://bucket/prefix, without user, query or empty parts. "
            "Credentials and endpoint come from the environment (AWS_ACCESS_KEY_ID, …, AWS_ENDPOINT_URL)"
        )
    return RunUrl(f"{SCHEME}{found[1]}{found[2]}")


def refuse_evidence(place: Place) -> None:
    """Nothing, unless the place is a file or folder that the store of a run keeps, or lies in such a folder.

    Raises: ConfigurationError.
    """
    # The name itself may be a link, which is replaced and not followed.
    text = place.text if isinstance(place, RunUrl) else os.path.join(os.path.realpath(place.parent), place.name)
    parts = text.split("/")
    # An URL begins with its scheme and bucket, which may have any name.
    for number in range(4 if isinstance(place, RunUrl) else 1, len(parts)):
        kind, run = RunUrl if isinstance(place, RunUrl) else Path, "/".join(parts[:number])
        # Both, because others have a file plan.json and a folder of reports too.
        if parts[number] in layout.OURS and all(
            kind(f"{run}/{name}").is_file() for name in (layout.PLAN, layout.MANIFEST)
        ):
            raise ConfigurationError(
                f"{place}: belongs to the evidence of a run, which is never replaced; give another name"
            )


def refuse_nesting(place: Place) -> None:
    """Nothing, unless a directory that is new would lie within a run directory, where no listing looks for runs.

    Raises: ConfigurationError.
    """
    if isinstance(place, RunUrl) or (place / layout.PLAN).exists():
        return
    for parent in Path(os.path.realpath(place)).parents:
        if (parent / layout.PLAN).is_file() and (parent / layout.SEGMENTS).is_dir():
            raise ConfigurationError(
                f"{place}: lies within the run directory {parent.name}, which holds one run; give a place beside it"
            )


def names_in(place: Place) -> list[str]:
    """Files directly below, sorted; empty when there is no such place."""
    if isinstance(place, RunUrl):
        return bucket_of(place).names()[1]
    return sorted(file.name for file in place.glob("*") if file.is_file())


def bucket_of(place: RunUrl) -> Bucket:
    """The storage below a URL. Raises: OptionalDependencyError without the package for it."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store

        from dfah_cli.store.bucket import Bucket
    except ImportError:
        raise OptionalDependencyError(f"{place}: needs the package obstore; run: {install_command('s3')}") from None
    _check_environment()
    allows_http = any(_allows_http(os.environ.get(name, "")) for name in ENDPOINTS)
    name, _, prefix = place.text.removeprefix(SCHEME).partition("/")
    options: dict[str, Any] = {
        # Few tries of its own: the store repeats, and knows what an uncertain answer means.
        "retry_config": {"max_retries": 1, "retry_timeout": timedelta(seconds=REQUEST_S)},
        "client_options": {"timeout": timedelta(seconds=REQUEST_S), "allow_http": allows_http},
    }
    try:
        return Bucket(S3Store(name, **options), prefix, place.text)
    except BaseError:
        raise ConfigurationError(
            f"{place}: the environment does not describe an object storage; set AWS_REGION, or AWS_ENDPOINT_URL "
            "for another one than S3"
        ) from None


def _check_environment() -> None:
    """Raises: ConfigurationError for a value that the library for object storage would panic over."""
    for name in SENT:
        value = os.environ.get(name, "")
        if not (value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"{name}: found a line end, another control character or a letter outside ASCII; "
                "expected the value alone; set it again"
            )
    for name in ENDPOINTS:
        found = os.environ.get(name)
        if found is not None and not is_address(found):
            raise ConfigurationError(
                f"{name}: found no address; expected http:// or https:// with a host, such as http://127.0.0.1:8333; "
                "set it so, or unset it for S3 itself"
            )
        if found is not None and found.lower().startswith("http://") and not _allows_http(found):
            raise ConfigurationError(
                f"{name}: found plain http:// to another machine, where others can read what is sent; expected "
                "https://, or AWS_ALLOW_HTTP=true to allow it"
            )


def is_address(text: str) -> bool:
    """Whether it is http:// or https:// with a host."""
    try:
        parts = urlsplit(text)
        return (
            bool(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
            and "".join(text.split()) == text
        )
    except ValueError:
        return False


def _allows_http(endpoint: str) -> bool:
    """Plain HTTP is for a server on this machine only, unless the environment allows it."""
    local = re.match(r"http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|$)", endpoint, re.IGNORECASE)
    return local is not None or os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
