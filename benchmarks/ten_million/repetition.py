"""Does something again and again beside what is measured."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(action: Callable[[], object], pause_s: float) -> Iterator[None]:
    """Repeats an action with pauses while the block runs; raises afterwards if one failed."""
    ended, failures = threading.Event(), []

    def repeat() -> None:
        try:
            while not ended.wait(pause_s):
                action()
        except Exception as failure:
            failures.append(failure)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
