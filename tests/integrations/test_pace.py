"""Moments are given out in order, never faster than allowed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.integrations.loopback.conversation import Fault
from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.integrations.wire.pace import MAX_PAUSE_S, Pace, retry_after_s
from tests.integrations.build import FRAMEWORKS, ran_in
from tests.integrations.test_frameworks import first_of_each


class Clock:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0, 5), max_size=40), st.floats(1, 600), st.integers(1, 5))
def test_no_minute_has_more_requests_than_allowed(gaps: list[float], per_minute: float, burst: int) -> None:
    clock = Clock()
    pace = Pace(per_minute, burst=burst, clock=clock)
    moments = []
    for gap in gaps:
        clock.now += gap
        moments.append(clock.now + pace.reserve())
    assert moments == sorted(moments)
    interval = 60 / per_minute
    for first, later in zip(moments, moments[burst:], strict=False):
        assert later - first >= interval - 1e-6


def test_without_a_limit_nobody_waits() -> None:
    pace = Pace()
    assert [pace.reserve() for _ in range(100)] == [0.0] * 100


def test_a_pause_holds_back_everyone() -> None:
    clock = Clock()
    pace = Pace(60.0, clock=clock)
    pace.pause(10.0)
    assert [pace.reserve() for _ in range(3)] == [10.0, 11.0, 12.0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("2", 2.0),
        ("0.5", 0.5),
        ("-1", 0.0),
        ("nan", 0.0),
        ("soon", 0.0),
        ("99999", MAX_PAUSE_S),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 10.0),
    ],
)
def test_a_retry_after_is_read_in_both_forms(header: str | None, seconds: float) -> None:
    assert retry_after_s(header, lambda: 20.0) == seconds


def test_the_requests_of_a_run_keep_the_pace(out: Path) -> None:
    began = time.monotonic()
    ran = ran_in(FRAMEWORKS[0], out, Seeded(), requests_per_minute=600)
    assert ran.report.status == "complete"
    assert time.monotonic() - began >= 0.1 * (len(ran.provider.served) - 1)


def test_a_rate_limited_run_waits_as_long_as_the_provider_asks(out: Path) -> None:
    began = time.monotonic()
    ran = ran_in(FRAMEWORKS[0], out, first_of_each(Fault(kind="rate_limit", retry_after_s=0.4)), max_retries=1)
    assert ran.report.status == "complete"
    assert time.monotonic() - began >= 0.8
