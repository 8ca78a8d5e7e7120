"""What runs periodically beside the work of a process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[], None]


@contextmanager
def ticking(every_s: float) -> Iterator[Callable[[Show], None]]:
    """Yields a way to run a function periodically, and once at the end."""
    shows: list[Show] = []
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(every_s):
            for show in shows:
                show()

    thread = threading.Thread(target=run, name="progress", daemon=True)
    thread.start()
    try:
        yield shows.append
    finally:
        ended.set()
        thread.join()
        for show in shows:
            show()
