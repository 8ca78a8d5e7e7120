"""A writer: a stream of random decisions, ids, a clock, and a sink for what it writes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from hive.schema import Version
from metatide.demo.catalog import Catalog
from metatide.demo.changes import Change
from metatide.demo.ids import Ids
from metatide.demo.makers import Maker
from metatide.demo.options import Release
from metatide.demo.records import Notification, encode
from metatide.demo.sessions import Sink

Clock = Callable[[], float]
"""The time in seconds since 1970."""


@dataclass
class Actor:
    """Everything that the operations of one writer use."""

    rng: Random
    catalog: Catalog
    ids: Ids
    make: Maker
    sink: Sink
    clock: Clock
    release: Release
    schema: Version
    zipped_share: float
    events: int = 0
    """The number of events that it has written."""

    def now(self) -> int:
        """The time in whole seconds, as messages and rows have it."""
        return int(self.clock())

    def open_transactions(self, count: int) -> list[int]:
        """Opens transactions and returns their ids; their rows are written with the next write."""
        return self.sink.open_transactions(count, int(self.clock() * 1000))

    def write(self, changes: Sequence[Change], *notifications: Notification) -> None:
        """Writes changes and their events in one database transaction."""
        log_ids = self.ids.take_many("NOTIFICATION_LOG", len(notifications))
        records = encode(notifications, log_ids, self.now(), self.rng, self.zipped_share)
        self.sink.write(changes, records)
        self.events += len(records)
