"""Keeps tasks that adapters left running from being collected.

A coroutine that is collected hears of it by an exception inside it. One that swallows every exception and waits
again finds no event loop to wait on, swallows that too, and never returns: the collector, and the program with it,
would hang.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

_LOCK = threading.Lock()
_KEPT: set[asyncio.Task[Any]] = set()
_KEEPERS: list[threading.Thread] = []


def keep_until_done(task: asyncio.Task[Any]) -> None:
    """The task is not collected before it is done, not even when the interpreter ends."""
    with _LOCK:
        _KEPT.add(task)
        if not _KEEPERS:
            # The interpreter empties its modules when it ends, but not the variables of a daemon thread.
            _KEEPERS.append(threading.Thread(target=_hold, args=(_KEPT,), name="dfah-keeper", daemon=True))
            _KEEPERS[0].start()
    task.add_done_callback(_KEPT.discard)


def _hold(_kept: set[asyncio.Task[Any]]) -> None:
    threading.Event().wait()
