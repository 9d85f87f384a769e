"""Whether a document has a version that is known here. Pure."""

from __future__ import annotations

import re

from dfah_cli.errors import ArtifactError, NewerVersionError

_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")


def version_order(version: str) -> tuple[int, ...]:
    """Sorts versions by their numbers: 1.10 comes after 1.9."""
    return tuple(map(int, version.split(".")))


def known_version(found: object, known: tuple[str, ...], where: str) -> str:
    """The version, when it is one of the known ones.

    Raises: NewerVersionError for one that comes after them; ArtifactError for every other.
    """
    if type(found) is str and found in known:
        return found
    if type(found) is str and _VERSION.fullmatch(found) and version_order(found) > version_order(known[-1]):
        raise NewerVersionError(where, found, " and ".join(known), part=where)
    raise ArtifactError(f"{where}: found no version that was ever recorded; expected {' or '.join(known)}", part=where)
