"""A wall clock that is somewhere else, for Python code of this process that is imported afterwards.

Only reading is changed: `time.time`, `time_ns`, `gmtime`, `localtime`, `ctime`, `strftime`, `datetime.now`, `utcnow`,
`today` and `date.today`. Extension modules, child processes, the file system and monotonic clocks keep the real time.
"""

from __future__ import annotations

import datetime
import time
from datetime import date as RealDate  # noqa: N812 - before one of them is replaced
from datetime import datetime as RealDatetime  # noqa: N812
from typing import Any


def shift_clock(seconds: float) -> None:
    """From now on the wall clock reads so many seconds later."""
    _shift_time(seconds)
    shift = datetime.timedelta(seconds=seconds)

    class OfDatetime(type):
        # A moment that comes from elsewhere is still one.
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, RealDatetime)

    class OfDate(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, RealDate)

    class Shifted(RealDatetime, metaclass=OfDatetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return super().now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            return super().utcnow() + shift

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class ShiftedDate(RealDate, metaclass=OfDate):
        @classmethod
        def today(cls) -> Any:
            found = RealDatetime.now() + shift
            return cls(found.year, found.month, found.day)

    names = {"datetime": Shifted, "date": ShiftedDate}
    for name, shifted in names.items():
        shifted.__name__ = shifted.__qualname__ = name
        setattr(datetime, name, shifted)


def _shift_time(seconds: float) -> None:
    real_time, real_time_ns = time.time, time.time_ns
    shift_ns = int(seconds * 1_000_000_000)
    real = {name: getattr(time, name) for name in ("gmtime", "localtime", "ctime")}
    real_strftime = time.strftime

    def converted(name: str) -> Any:
        def at(moment: float | None = None) -> Any:
            return real[name](real_time() + seconds if moment is None else moment)

        return at

    def strftime(form: str, moment: Any = None) -> str:
        return real_strftime(form, real["localtime"](real_time() + seconds) if moment is None else moment)

    changed = {
        "time": lambda: real_time() + seconds,
        "time_ns": lambda: real_time_ns() + shift_ns,
        "strftime": strftime,
        **{name: converted(name) for name in real},
    }
    for name, function in changed.items():
        setattr(time, name, function)
