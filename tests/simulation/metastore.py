"""Writers of a simulated metastore: what they read, write and log, in transactions that overlap.

A writer reads, does its SQL, waits for the lock on the sequence, and commits; its event has the
objects as the writer believed them to be, while the database merges what overlapping writers did.
"""

from collections.abc import Callable
from typing import Final

from hive.events.envelope import GZIP
from hive.events.row import NotificationRow
from hive.names import DatabaseName, TableName
from metatide.demo import messages
from tests.simulation.database import Database, Write
from tests.simulation.scheduler import Scheduler
from tests.simulation.writes import WRITES, Change, Picks, Refused

AboutToCommit = Callable[[TableName | DatabaseName | None], None]
FORMATS: Final = ("json-0.2", GZIP)


class Metastore:
    """One metastore; several share a database."""

    def __init__(
        self,
        scheduler: Scheduler,
        database: Database,
        name: str,
        about_to_commit: AboutToCommit,
    ) -> None:
        self.message_format = FORMATS[0]
        self._about_to_commit = about_to_commit
        self._scheduler = scheduler
        self._database = database
        self.random = scheduler.random(name)

    def write(self, kind: str, picks: tuple[int, ...]) -> int | None:
        """Runs one change; returns its event, or None if there was nothing to do."""
        database = self._database
        before = database.now
        apply = WRITES[kind](before, Picks(picks))
        if apply is None:
            return None
        self._scheduler.sleep(self._spread(0.001, 0.03))
        history = before.history
        if database.lock_sequence() != history:
            database.unlock_sequence()
            return None
        try:
            change = apply(database.now)
            if picks[-1] % 2:
                self._about_to_commit(change.table)
            self._scheduler.sleep(self._spread(0.000_2, 0.004))
            if database.now.history != history or self._scheduler.now < database.down_until:
                return None
            return self._commit(change)
        except Refused:
            return None
        finally:
            database.unlock_sequence()

    def _commit(self, change: Change) -> int:
        database = self._database
        event = database.commit(change.changes, self._row(change))
        if change.write is not None:
            database.writes.append(Write(database.now.history, event, *change.write))
        self._scheduler.note(f"event {event}: {change.text}")
        return event

    def _row(self, change: Change) -> NotificationRow:
        time_s = int(self._scheduler.epoch_s + self._scheduler.now)
        of = change.table
        message = messages.seal(change.message, time_s, self.message_format)
        return NotificationRow(
            0,
            time_s,
            change.kind,
            None if of is None else of.catalog,
            None if of is None else of.db,
            of.table if isinstance(of, TableName) else None,
            message,
            self.message_format,
        )

    def _spread(self, low: float, high: float) -> float:
        """Mostly short; now and then long enough for much else to happen."""
        factor = self.random.choice((1, 1, 1, 1, 1, 1, 1, 1, 10, 60))
        return self.random.uniform(low, high) * factor
