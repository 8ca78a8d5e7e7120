"""How far the log is published in the present epoch."""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

MARKS_MAX: Final = 10_000
_LOOK_S: Final = 0.5
"""Who waits asks this often whether to go on."""
_NO_MARKS: Final[Mapping[int, int]] = MappingProxyType({})


class Watermark:
    """The event up to which every shard has all that concerns it; several threads may use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch = -1
        self._event = 0
        self._marks: dict[int, int] = {}
        self._wanted: list[int] = []

    @property
    def wanted(self) -> int:
        """The last event that anybody waits for."""
        with self._changed:
            return max(self._wanted, default=0)

    def rise(self, epoch: int, event: int, marks: Mapping[int, int] = _NO_MARKS) -> None:
        """Notes that the brokers have everything up to an event, and the marks of the rows that
        were published since the last call, by event."""
        with self._changed:
            if epoch != self._epoch:
                self._marks.clear()
            self._marks.update(marks)
            for oldest in list(self._marks)[: max(0, len(self._marks) - MARKS_MAX)]:
                del self._marks[oldest]
            if epoch != self._epoch or event > self._event:
                self._epoch, self._event = epoch, event
                self._changed.notify_all()

    def event(self, epoch: int) -> int:
        """The last event that is published in this epoch; -1 if none is yet."""
        with self._changed:
            return self._event if epoch == self._epoch else -1

    def mark(self, epoch: int, event: int) -> int | None:
        """The mark of an event's row that was published in this epoch, if it is still known."""
        with self._changed:
            return self._marks.get(event) if epoch == self._epoch else None

    def wait(self, epoch: int, event: int, going_on: Callable[[], bool]) -> bool:
        """Waits until the event is published in this epoch; False once `going_on` returns False."""
        with self._changed:
            self._wanted.append(event)
            try:
                while self.event(epoch) < event:
                    if not going_on():
                        return False
                    self._changed.wait(_LOOK_S)
                return True
            finally:
                self._wanted.remove(event)
