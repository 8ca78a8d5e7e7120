"""The database of the simulated metastores: every moment that it ever had, and its log."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from hive.errors import SourceError
from hive.events.row import NotificationRow
from hive.names import TableName
from hive.schema import Version
from hive.write_ids.lists import WriteIdList
from hive.write_ids.snapshot import (
    TxnRow,
    TxnState,
    WriteIdRow,
    open_txns,
    valid_write_ids,
)
from tests.model.valid_txns import valid_txns
from tests.simulation.content import Content
from tests.simulation.scheduler import Scheduler, Strand

_OLD_MS = 9_999
CLEANED_AFTER_S: Final = 120.0
"""Events are kept for longer than outages last."""
T = TypeVar("T")


@dataclass(frozen=True)
class Moment:
    """All rows of the database since a commit, but for the log."""

    number: int = 0
    committed_s: float = 0.0
    history: int = 0
    event: int = 0
    content: Content = field(default_factory=Content)
    txns: Mapping[int, TxnState] = field(default_factory=dict)
    next_txn: int = 1
    next_id: int = 1
    ids: Mapping[TableName, Mapping[int, int]] = field(default_factory=dict)
    """TXN_TO_WRITE_ID."""
    next_ids: Mapping[TableName, int] = field(default_factory=dict)

    @property
    def open(self) -> tuple[int, ...]:
        return tuple(txn for txn, state in self.txns.items() if state is TxnState.OPEN)

    def txn_rows(self) -> list[TxnRow]:
        return [TxnRow(txn, state, _OLD_MS, False) for txn, state in self.txns.items()]

    def id_rows(self, table: TableName) -> list[WriteIdRow]:
        return [WriteIdRow(txn, id_) for txn, id_ in self.ids.get(table, {}).items()]

    def valid_ids(self, table: TableName) -> WriteIdList:
        """The list of a reader that begins now."""
        txns = open_txns(self.txn_rows(), with_read_only=False)
        seen = valid_txns(txns, txns.hwm + 1)
        rows, next_id = self.id_rows(table), self.next_ids.get(table)
        return valid_write_ids(seen, rows, next_id, table.in_catalog)


class Write(NamedTuple):
    """A committed change of a table under a write id."""

    history: int
    event: int
    table_id: int
    txn: int
    write_id: int


class Database:
    """The rows, the log, and the lock on the sequence of events."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.moments = [Moment()]
        self.version = Version.V4_0
        self.log: dict[int, NotificationRow] = {}
        self.oldest = 1
        """The cleaner has deleted what is older."""
        self.writes: list[Write] = []
        self.down_until = 0.0
        self.restored_s = -CLEANED_AFTER_S
        self._random = scheduler.random("database")
        self._sequence = _Lock()
        self._watching: dict[Strand, None] = {}

    @property
    def now(self) -> Moment:
        return self.moments[-1]

    def query(self, read: Callable[[Moment], T]) -> T:
        """Reads one state of the database; raises if it is down. The answer takes its time, too:
        whoever is frozen meanwhile gets an old one."""
        scheduler, strand = self.scheduler, self.scheduler.strand
        half_s = self.delay_s(0.000_15, 0.002)
        results: list[T] = []

        def see() -> None:
            if scheduler.now >= self.down_until:
                results.append(read(self.now))
            scheduler.after(half_s, strand.wake)

        scheduler.after(half_s, see)
        strand.park()
        if not results:
            raise SourceError("the database is down")
        return results[0]

    def delay_s(self, low: float, high: float) -> float:
        """How long a statement takes; sometimes far longer than usual."""
        factor = 50.0 if self._random.random() < 0.005 else 1.0
        return self._random.uniform(low, high) * factor

    def large_s(self) -> float:
        """How long a statement takes that reads much: long enough for much else to happen."""
        return self._random.choice((0.0, 0.01, 0.1, 1.0, 5.0)) * self._random.random()

    def check(self) -> None:
        if self.scheduler.now < self.down_until:
            raise SourceError("the database is down")

    def lock_sequence(self) -> int:
        """Waits for the row of NOTIFICATION_SEQUENCE; returns the history that is locked."""
        self._sequence.take(self.scheduler.strand)
        return self.now.history

    def unlock_sequence(self) -> None:
        self._sequence.release()

    def commit(self, changes: Mapping[str, Any], row: NotificationRow | None) -> int:
        """Makes a transaction visible, with the event that it wrote, if any."""
        event = self.now.event + (row is not None)
        if row is not None:
            time_s = int(self.scheduler.epoch_s + self.scheduler.now)
            self.log[event] = NotificationRow(
                event,
                time_s,
                row.event_type,
                row.cat_name,
                row.db_name,
                row.tbl_name,
                row.message,
                row.message_format,
            )
        committed_s = self.scheduler.now
        number = len(self.moments)
        self.moments.append(
            replace(self.now, number=number, committed_s=committed_s, event=event, **changes)
        )
        self._changed()
        return event

    def watch(self, seconds: float) -> None:
        """Waits for a change, or so long."""
        strand = self.scheduler.strand
        self._watching[strand] = None
        try:
            strand.park(seconds)
        finally:
            del self._watching[strand]

    def _changed(self) -> None:
        for strand in self._watching:
            strand.wake()

    def restore(self, lost: int) -> None:
        """Puts the database back to how it was some events ago; it goes on from there."""
        self.restored_s = self.scheduler.now
        target = max(0, self.now.event - lost)
        history = self.now.history
        past = [m for m in self.moments if m.history == history and m.event <= target]
        if not past:
            return
        moment = past[-1]
        # Snapshots keep the log that they have seen.
        self.log = {event: row for event, row in self.log.items() if event <= moment.event}
        self.oldest = min(self.oldest, moment.event + 1)
        self.moments.append(
            replace(
                moment,
                number=len(self.moments),
                history=history + 1,
                committed_s=self.scheduler.now,
                # Ids come from sequences, which replicas get ahead of what they hand out.
                next_id=self.now.next_id,
            )
        )
        self._changed()
        self.scheduler.note(f"the database is put back to event {moment.event}")

    def clean(self, count: int) -> None:
        """The cleaner deletes the oldest rows of the log, but none soon after a restore: nobody
        could tell from what is left that there was one."""
        if self.scheduler.now < self.restored_s + CLEANED_AFTER_S:
            return
        self.oldest = max(self.oldest, self.now.event + 1 - count)
        for event in [event for event in self.log if event < self.oldest]:
            del self.log[event]

    def rows_after(self, event: int, most: int) -> list[NotificationRow]:
        """The rows after an event that the log still has."""
        rows = []
        for following in range(max(event + 1, self.oldest), self.now.event + 1):
            row = self.log.get(following)
            if row is not None:
                rows.append(row)
                if len(rows) == most:
                    break
        return rows

    def moment_at(self, event: int, history: int) -> list[Moment]:
        """The states of a history that have this as their last event."""
        return [m for m in self.moments if m.event == event and m.history == history]

    def at(self, age_s: float) -> Moment:
        """The state that it was in so long ago."""
        then_s = self.scheduler.now - age_s
        return next((m for m in reversed(self.moments) if m.committed_s <= then_s), self.now)

    def between(self, began_s: float, ended_s: float) -> list[Moment]:
        """All states that the database was in, in that time."""
        states = []
        for moment in reversed(self.moments):
            if moment.committed_s <= ended_s:
                states.append(moment)
            if moment.committed_s < began_s:
                break
        return states


class _Lock:
    """A lock that strands wait for in turn; one that has died doesn't hold it."""

    def __init__(self) -> None:
        self._holder: Strand | None = None
        self._waiting: deque[Strand] = deque()

    def take(self, strand: Strand) -> None:
        while self._holder is not None and self._holder is not strand:
            if self._holder.dead or not self._holder.process.alive:
                break
            self._waiting.append(strand)
            strand.park(1.0)
        self._holder = strand

    def release(self) -> None:
        self._holder = None
        if self._waiting:
            self._waiting.popleft().wake()
