"""Lets threads fold in turns, but for those that wait for brokers."""

from threading import Lock
from types import TracebackType
from typing import Self


class Turn:
    """The turn of one thread, from the beginning of the block to its end.

    Two threads that fold at once wait for each other at every step, because Python runs one at a
    time: that takes a quarter more processor time than one thread takes for both, and the records
    that each has fetched are twice as much memory.
    """

    def __init__(self, lock: Lock, offset: int) -> None:
        self._lock = lock
        self._offset = offset
        self._has_it = False

    def reach(self, offset: int) -> None:
        """Takes note of how far the thread has come, and gives way to others while that is no
        further than before."""
        self._have(has_it=offset > self._offset)
        self._offset = offset

    def _have(self, *, has_it: bool) -> None:
        if has_it and not self._has_it:
            self._lock.acquire()
        elif self._has_it and not has_it:
            self._lock.release()
        self._has_it = has_it

    def __enter__(self) -> Self:
        self._have(has_it=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._have(has_it=False)
