"""Where suites and configs lie: a project's own folders first, then the packaged ones.

`data_root` is the only function that knows whether this is an installed package or a checkout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.wording import did_you_mean, quoted

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# The override grammar of the command line reads these as a truth value, a number or null.
RESERVED = frozenset({"true", "false", "null", "nan", "inf", "on", "off", "yes", "no"})
SUFFIXES = (".yaml", ".yml", ".json")


@frozen
class Folder:
    """A folder that names are looked up in. origin: `project` or `packaged`."""

    origin: str
    path: Path

    def files(self) -> dict[str, Path]:
        """Its files by name, in order of name; files whose name cannot be asked for are left out."""
        if not self.path.is_dir():
            return {}
        found = (path for path in sorted(self.path.iterdir()) if path.suffix in SUFFIXES)
        return {path.stem: path for path in found if is_name(path.stem)}


@cache
def data_root() -> Path:
    """The folder that holds the packaged `configs` and `suites`."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent


def folders(kind: str) -> list[Folder]:
    """The folders of `suites` or `configs` (or a group, `configs/gate`), in the order in which they are searched."""
    # Read from the current directory each time: a process may change it, and tests do.
    both = [Folder("project", Path(kind)), Folder("packaged", data_root() / kind)]
    return both if both[0].path.resolve() != both[1].path.resolve() else both[1:]


def is_name(name: str) -> bool:
    """Whether a suite or config may be called so."""
    return NAME.fullmatch(name) is not None and name not in RESERVED


def check_name(name: str, what: str) -> str:
    """The name itself.

    Raises: ConfigurationError for a name that no suite or config can have.
    """
    if name in RESERVED:
        raise ConfigurationError(f"no {what} can be named {quoted(name)}: the command line reads it as a value")
    if NAME.fullmatch(name) is None:
        raise ConfigurationError(
            f"{quoted(name)} is no name of a {what}; names are lower-case words joined by '-', such as toy-risk"
        )
    return name


def find(kind: str, name: str, what: str) -> Path:
    """The file that a name means; a project's own file hides the packaged one.

    Raises: ConfigurationError with the nearest name and all of them.
    """
    check_name(name, what)
    for _, path in _named(kind, name):
        return path
    names = available(kind)
    listed = f" (available: {', '.join(names)})" if names else ""
    raise ConfigurationError(f"no {what} named {quoted(name)}{did_you_mean(name, names)}{listed}")


def available(kind: str) -> list[str]:
    """The names of everything of a kind, sorted."""
    return sorted({name for folder in folders(kind) for name in folder.files()})


def _named(kind: str, name: str) -> Iterator[tuple[Folder, Path]]:
    for folder in folders(kind):
        found = [path for path in (folder.path / f"{name}{suffix}" for suffix in SUFFIXES) if path.exists()]
        if len(found) > 1:
            both = " and ".join(str(path) for path in found)
            raise ConfigurationError(f"{both} have one name; remove one of them")
        yield from ((folder, path) for path in found)
