"""Signals that come at any moment."""

import os
import signal
import subprocess
import sys
from threading import Event, Lock

import pytest

from metatide.process.stop_signals import stopped_by_signals

PATIENCE_S = 30


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_also_stops_the_thread_with_the_lock_that_stopping_needs(number: int) -> None:
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


def test_a_command_that_waits_is_ended_by_sigterm_also_in_a_container() -> None:
    waits = (
        "import os, time\nfrom metatide import cli, entry\n"
        "def wait(): print('waits', flush=True); time.sleep(60)\n"
        "cli.main, os.getpid = wait, lambda: 1\nentry.main()\n"
    )
    command = [sys.executable, "-c", waits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
