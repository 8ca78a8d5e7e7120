"""Limits and rate of a run."""

import time

import pytest

from metatide.demo.options import Limits
from metatide.demo.pace import Pace


def begun(limits: Limits, events: int = 0) -> Pace:
    pace = Pace(limits)
    pace.begin(events)
    return pace


def test_events_before_the_beginning_dont_count() -> None:
    pace = begun(Limits(events=10), events=100)
    assert pace.go_on(109)
    assert not pace.go_on(110)
    assert pace.ended
    assert not pace.go_on(100)


def test_time_ends_a_run() -> None:
    pace = begun(Limits(seconds=0.05))
    assert pace.go_on(0)
    time.sleep(0.06)
    assert not pace.go_on(0)


@pytest.mark.parametrize("events", [1, 5])
def test_a_rate_makes_writers_wait_for_their_time(events: int) -> None:
    begin = time.monotonic()
    pace = begun(Limits(events_per_s=50))
    assert pace.go_on(events)
    assert time.monotonic() - begin >= events / 50


def test_an_end_wakes_up_a_waiting_thread() -> None:
    pace = begun(Limits(events_per_s=0.01))
    pace.end()
    assert not pace.go_on(1_000)
