import errno
import threading
import time

import click
import pytest

from hive.errors import MachineError
from metatide.process import rate_report
from metatide.process.rate_report import reporting


@pytest.fixture(autouse=True)
def _full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(click, "echo", fail)
    monkeypatch.setattr(rate_report, "INTERVAL_S", 0.01)


def test_work_goes_on_where_its_rate_cannot_be_printed() -> None:
    done = []

    def load() -> None:
        for number in range(20):
            time.sleep(0.01)
            done.append(number)

    with pytest.raises(OSError, match="No space left"), reporting("loads", lambda: len(done)):
        load()
    assert len(done) == 20


def test_why_work_failed_counts_more_than_its_rate() -> None:
    def fail() -> None:
        time.sleep(0.05)
        raise MachineError("loads were given up")

    with pytest.raises(MachineError, match="given up"), reporting("loads", lambda: 0):
        fail()


def test_a_run_that_needs_a_reader_is_stopped_without_one() -> None:
    stopped = threading.Event()
    with (
        pytest.raises(OSError, match="No space left"),
        reporting("events", lambda: 0, stop_unread=stopped.set),
    ):
        assert stopped.wait(30)
