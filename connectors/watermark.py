"""How far the log is published in the present epoch."""

import threading
from collections.abc import Callable
from typing import Final

_LOOK_S: Final = 0.5
"""Who waits asks this often whether to go on."""


class Watermark:
    """The event up to which every shard has all that concerns it; several threads may use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch = -1
        self._event = 0
        self._wanted: list[int] = []

    @property
    def wanted(self) -> int:
        """The last event that anybody waits for."""
        with self._changed:
            return max(self._wanted, default=0)

    def rise(self, epoch: int, event: int) -> None:
        """Notes that the brokers have everything up to an event."""
        with self._changed:
            if epoch != self._epoch or event > self._event:
                self._epoch, self._event = epoch, event
                self._changed.notify_all()

    def event(self, epoch: int) -> int:
        """The last event that is published in this epoch; -1 if none is yet."""
        with self._changed:
            return self._event if epoch == self._epoch else -1

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
