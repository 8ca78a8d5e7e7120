"""Snapshots of a database that may be behind the one that connectors read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from connectors.loads.batch import Database
from hive.errors import SourceError
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot

WAIT_S: Final = 60.0
_LOOK_S: Final = 0.2


@contextmanager
def open_reached(database: Database, event: int) -> Iterator[DatabaseSnapshot]:
    """A snapshot that shows this event: a load that has read less than was published before its
    Begin doesn't count. Waits for a replica that is a little behind."""
    ends_at = time.monotonic() + WAIT_S
    while True:
        with open_snapshot(*database) as snapshot:
            position = snapshot.position
            if position >= event:
                yield snapshot
                return
        if time.monotonic() >= ends_at:
            raise SourceError(
                f"the database has come to event {position} only, but event {event} was published: "
                "if it is a replica, it lags too far behind, so name the primary; if it was put "
                "back, run `metatide connect` first"
            )
        time.sleep(_LOOK_S)
