"""Keeps an adapter from ending the process behind the run's back.

`os._exit(0)` in an adapter would end the command with code 0 and no result: a green light for a dead agent. While a run
is on, it raises SystemExit in the code that called it, which ends that episode like any other exit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

leave = os._exit  # the real one, for our own last word


@contextmanager
def staying() -> Iterator[None]:
    """Inside, `os._exit` ends the calling code and not the process; forked children may still leave."""
    owner, before = os.getpid(), os._exit

    def refuse(status: int = 0) -> NoReturn:
        if os.getpid() != owner:
            leave(status)
        raise SystemExit(status)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = before
