"""The signals that end a command, also where no event loop takes them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType
from typing import Final

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command that an event loop runs."""


def end_by_sigterm() -> None:
    """Has SIGTERM end this process at once, until another handler takes it, also if it is the first
    one of a container: these ignore what they don't handle.
    """
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, _frame: os._exit(128 + number))


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` at each SIGINT and SIGTERM, in a thread of its own: a handler would wait for
    ever for a lock that the code holds which it interrupts."""
    reading, writing = os.pipe()

    def stop_at_each() -> None:
        while os.read(reading, 1):
            stop()

    def note(_number: int, _frame: FrameType | None) -> None:
        os.write(writing, b"\0")

    thread = Thread(target=stop_at_each, name="signals", daemon=True)
    thread.start()
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writing)
        thread.join()
        os.close(reading)
