"""How far the log is published in the present epoch."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

MARKS_MAX: Final = 10_000
_LOOK_S: Final = 0.5
"""Whoever waits asks this often whether to go on."""
_NO_MARKS: Final[Mapping[int, int]] = MappingProxyType({})


class _Wanted(NamedTuple):
    """What somebody waits for."""

    event: int
    shards: Collection[int]


class Watermark:
    """The event up to which each shard has all that concerns it; several threads may use it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch = -1
        self._uptos: Sequence[int] = ()
        self._marks: dict[int, int] = {}
        self._wanted: list[_Wanted] = []

    def wanted(self, event: int) -> set[int]:
        """The shards that lack an event for which somebody waits, up to this one."""
        with self._changed:
            return {
                shard
                for wanted in self._wanted
                if wanted.event <= event
                for shard in wanted.shards
                if not self._uptos or self._uptos[shard] < wanted.event
            }

    def rise(self, epoch: int, uptos: Sequence[int], marks: Mapping[int, int] = _NO_MARKS) -> None:
        """Notes up to which event brokers have everything for each shard, and the marks of the rows
        that were published since the last call, by event."""
        with self._changed:
            if epoch != self._epoch:
                self._marks.clear()
            self._marks.update(marks)
            for oldest in list(self._marks)[: max(0, len(self._marks) - MARKS_MAX)]:
                del self._marks[oldest]
            uptos = tuple(uptos)
            if epoch == self._epoch:
                uptos = tuple(map(max, uptos, self._uptos))
            if (epoch, uptos) != (self._epoch, self._uptos):
                self._epoch, self._uptos = epoch, uptos
                self._changed.notify_all()

    def event(self, epoch: int, shards: Collection[int]) -> int:
        """The last event that these shards have in this epoch; -1 if they have none yet."""
        with self._changed:
            is_known = epoch == self._epoch and len(self._uptos) > 0
            return min(self._uptos[shard] for shard in shards) if is_known else -1

    def furthest(self, epoch: int) -> int:
        """The last event that any shard has in this epoch; -1 if none has any yet."""
        with self._changed:
            return max(self._uptos, default=-1) if epoch == self._epoch else -1

    def mark(self, epoch: int, event: int) -> int | None:
        """The mark of an event's row that was published in this epoch, if it is still known."""
        with self._changed:
            return self._marks.get(event) if epoch == self._epoch else None

    def wait(
        self, epoch: int, event: int, shards: Collection[int], going_on: Callable[[], bool]
    ) -> bool:
        """Waits until these shards have the event in this epoch; False once `going_on` returns
        False.
        """
        wanted = _Wanted(event, shards)
        with self._changed:
            self._wanted.append(wanted)
            try:
                while self.event(epoch, shards) < event:
                    if not going_on():
                        return False
                    self._changed.wait(_LOOK_S)
                return True
            finally:
                self._wanted.remove(wanted)
