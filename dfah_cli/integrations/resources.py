"""Clients and keys: opened when they are first needed, one for each event loop, closed with it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from dfah_cli.errors import ConfigurationError, OptionalDependencyError, install_command

R = TypeVar("R")
HERE = ("127.0.0.1", "localhost", "::1")


class PerLoop(Generic[R]):
    """One resource for each event loop: connections of one loop are of no use to another."""

    def __init__(self, opened: Callable[[], R], closed: Callable[[R], Awaitable[object]]) -> None:
        self._opened = opened
        self._closed = closed
        self._resources: WeakKeyDictionary[asyncio.AbstractEventLoop, R] = WeakKeyDictionary()

    def get(self) -> R:
        """The resource of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._resources.get(loop)
        if found is None:
            found = self._resources[loop] = self._opened()
        return found

    async def discard(self, resource: R) -> None:
        """Closes a resource that is of no use any more; the next `get` opens another one."""
        loop = asyncio.get_running_loop()
        if self._resources.get(loop) is resource:
            del self._resources[loop]
            await self._closed(resource)

    async def aclose(self) -> None:
        """Closes the resource of the running loop."""
        found = self._resources.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await self._closed(found)


def optional(module: str, extra: str) -> ModuleType:
    """An optional package.

    Raises: OptionalDependencyError with the exact install command.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as problem:
        missing = problem.name or module
        raise OptionalDependencyError(
            f"this adapter needs the package {missing}; run: {install_command(extra)}"
        ) from None


def api_key(variable: str, base_url: str | None) -> str:
    """The key in an environment variable; a server on this machine needs none.

    Raises: ConfigurationError naming the variable.
    """
    key = os.environ.get(variable, "")
    if key:
        return key
    if base_url is not None and urlsplit(base_url).hostname in HERE:
        return "none"
    raise ConfigurationError(f"the environment variable {variable} is not set; set it to the provider's key")
