"""Signals that come at any moment."""

import os
import signal
from threading import Event, Lock

import pytest

from metatide.stop_signals import stopped_by_signals

PATIENCE_S = 30


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_also_who_holds_the_lock_that_stopping_needs(number: int) -> None:
    lock, stopped = Lock(), Event()

    def stop() -> None:
        with lock:
            stopped.set()

    before = signal.getsignal(number)
    with stopped_by_signals(stop):
        with lock:
            os.kill(os.getpid(), number)
        assert stopped.wait(PATIENCE_S)
    assert signal.getsignal(number) == before


def test_each_signal_counts() -> None:
    stops = Event(), Event()
    following = iter(stops)
    with stopped_by_signals(lambda: next(following).set()):
        for stop in stops:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.wait(PATIENCE_S)
