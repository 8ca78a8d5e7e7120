"""Holds back the end of a load until the events that it has seen are published.

A database that is restored loses events. If a load ended that had seen events which no connector
has published, nothing would tell afterwards that it belongs to a history which is lost.
"""

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from connectors.log.last_event import LastEvent, read_event, read_last_event
from connectors.publish.watermark import Watermark
from hive.errors import SourceError, StoppedError
from hive.reader.snapshot import DatabaseSnapshot

LOOK_S: Final = 5.0
"""A load that waits to end looks this often whether the database still has what it has seen."""


class EndGate:
    """The gate of the loads that share a snapshot, all of them of these shards. It is made before
    the snapshot is opened: what was published by then, connectors compare with the database by
    themselves."""

    def __init__(
        self,
        watermark: Watermark,
        epoch: int,
        shards: Collection[int],
        open_snapshot: Callable[[], AbstractContextManager[DatabaseSnapshot]],
        going_on: Callable[[], bool],
    ) -> None:
        self._watermark = watermark
        self._epoch = epoch
        self._shards = shards
        self._open_snapshot = open_snapshot
        self._going_on = going_on
        self._published = watermark.event(epoch, shards)
        self._last_event: LastEvent | None = None

    def see(self, snapshot: DatabaseSnapshot) -> LastEvent:
        """Notes what the snapshot of the loads has seen, and refuses one that is behind. Its last
        event comes without its row if brokers have that already."""
        event = snapshot.position
        if event < self._published:
            raise SourceError(
                f"the database has come to event {event} only, but event {self._published} was "
                "published before a load began: it isn't the one that was followed, or lost events"
            )
        if event <= self._published and self._watermark.mark(self._epoch, event) is None:
            return LastEvent(event)
        self._last_event = read_last_event(snapshot)
        return self._last_event

    def wait(self) -> None:
        """Returns when all that was seen is published."""
        if self._last_event is None:
            return
        event, _, mark = self._last_event
        self._await_published(event)
        published = self._watermark.mark(self._epoch, event)
        if published is not None and mark:
            is_same = published == mark
        elif event > self._published:
            with self._open_snapshot() as snapshot:
                is_same = read_event(snapshot, event) == self._last_event
        else:
            # The cleaner has deleted the row since it was published.
            return
        if not is_same:
            raise _lost(event)

    def _await_published(self, event: int) -> None:
        """Waits for the event; a database that has lost it may write no other for long."""

        def waits() -> bool:
            return self._going_on() and time.monotonic() < look_at

        look_at = time.monotonic() + LOOK_S
        while not self._watermark.wait(self._epoch, event, self._shards, waits):
            if not self._going_on():
                raise StoppedError("a load isn't ended any more")
            # A database that can't be asked now has lost nothing yet.
            with suppress(SQLAlchemyError), self._open_snapshot() as snapshot:
                if snapshot.position < event:
                    raise _lost(event)
            look_at = time.monotonic() + LOOK_S


def _lost(event: int) -> SourceError:
    return SourceError(f"the database has lost event {event}, which a load has seen")
