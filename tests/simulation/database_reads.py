"""How connectors and workers read the simulated database, in the place of SQL."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from connectors.loads.chunks import Load
from connectors.log.last_event import LastEvent
from connectors.log.source import Bounds, OpenTxns, Poll, rows_hash
from connectors.publish.translate import columns_hash
from hive.events.column_limits import UNLIMITED, ColumnLimits
from hive.events.row import NotificationRow
from hive.names import TableName
from hive.thrift.view import PartitionView
from hive.write_ids.snapshot import loaded_write_ids, open_txns
from query_api.database.fallback import Fallback
from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import ROWS_MAX, LogEnd, ThinRow
from query_api.latest.log_history import LogHistory
from query_api.latest.row_effects import WITH_MESSAGE
from query_api.latest.sequence import Tail
from query_api.latest.shared_read import SharedRead
from query_api.positions import Position
from query_api.reads.read import Read
from state.records import Reread, Rows, Scope, ScopeKind
from state.records.actions import MISNAMED_EVENTS_MAX
from state.records.objects import DatabaseImage, PartitionImage, WriteIdsImage
from tests.simulation.content import (
    ContentObjects,
    Table,
    Values,
    database_bytes,
    name_image,
)
from tests.simulation.database import Database, Moment

_ROWS_MAX: Final = 2_000
_LOOK_S: Final = 1.0
_WATCHED_SHARE: Final = 1 / 4
_WATCHED_INTERVALS: Final = 2.5


class SimulatedSource:
    """The notification log as a connector reads it."""

    def __init__(self, database: Database, poll_interval_ms: int) -> None:
        self._database = database
        self._watched_s_max = _WATCHED_INTERVALS * poll_interval_ms / 1000
        self._calm: tuple[int, int] | None = None
        self._calm_until_s = 0.0
        self._quiet_since_s = 0.0
        self._checked: NotificationRow | None = None
        self._checked_hash = b""

    def poll(self, after: int, check: int) -> Poll:
        database = self._database

        def read(now: Moment) -> Poll:
            checked = database.log.get(check)
            rows = database.rows_after(after, _ROWS_MAX)
            if checked is None:
                return Poll(now.event, None, rows)
            return Poll(now.event, self._hash(checked), rows, checked.event_time)

        poll = database.query(read)
        if poll.rows:
            self._quiet_since_s = database.scheduler.now
        self._calm = (after, check) if not poll.rows and poll.current == after else None
        self._calm_until_s = database.scheduler.now + _LOOK_S
        return poll

    def _hash(self, checked: NotificationRow) -> bytes:
        """The hash of the row that is checked, mostly the one of the poll before."""
        if checked is not self._checked:
            self._checked, self._checked_hash = checked, rows_hash([checked])
        return self._checked_hash

    def rests(self, after: int, check: int) -> bool:
        """A look takes a share of the time without events, and ends when there is one: it stands
        for many, which would be most of what a simulation does."""
        database = self._database
        now = database.scheduler.now
        if self._calm != (after, check) or now > self._calm_until_s:
            return False
        if database.now.event == after:
            quiet_s = now - self._quiet_since_s
            database.watch(min(quiet_s * _WATCHED_SHARE, self._watched_s_max))
        return database.scheduler.now >= database.down_until and database.now.event == after

    def hashes(self, events: Sequence[int]) -> dict[int, bytes]:
        log = self._database.log
        return self._database.query(
            lambda _: {event: rows_hash([log[event]]) for event in events if event in log}
        )

    def bounds(self, after: int) -> Bounds:
        log = self._database.log

        def read(now: Moment) -> Bounds:
            following = next((e for e in range(after + 1, now.event + 1) if e in log), None)
            return Bounds(min(log, default=None), following, now.event)

        return self._database.query(read)

    def older(self, event: int, written_s: int | None) -> int | None:
        def read(_: Moment) -> int | None:
            for row in self._database.log.values():
                if row.event_id < event and (written_s is None or row.event_time <= written_s):
                    return row.event_id
            return None

        return self._database.query(read)

    def alters(self, upto: int) -> Iterator[NotificationRow]:
        first = max(0, upto - MISNAMED_EVENTS_MAX)
        rows = self._database.query(lambda _: self._database.rows_after(first, MISNAMED_EVENTS_MAX))
        return (row for row in rows if row.event_type == "ALTER_TABLE" and row.event_id <= upto)

    def column_limits(self) -> ColumnLimits:
        return UNLIMITED

    def open_transactions(self) -> OpenTxns:
        return self._database.query(lambda now: OpenTxns(now.event, now.open, frozenset(now.open)))

    def close(self) -> None:
        self._calm = None


class Snapshot:
    """A transaction that sees one moment."""

    def __init__(
        self, database: Database, moment: Moment, log: Mapping[int, NotificationRow]
    ) -> None:
        self.database = database
        self.moment = moment
        self.log = log
        self.position = moment.event

    def spend(self) -> None:
        """The time of a large statement."""
        self.database.scheduler.sleep(self.database.large_s())
        self.database.check()


def read_last_event(snapshot: Snapshot) -> LastEvent:
    return read_event(snapshot, snapshot.position)


def read_event(snapshot: Snapshot, event: int) -> LastEvent:
    row = snapshot.log.get(event)
    return LastEvent.of(event, [] if row is None else [(row, len(row.message))])


@contextmanager
def open_snapshot(database: Database, *_: object) -> Iterator[Snapshot]:
    yield Snapshot(database, *database.query(lambda now: (now, database.log)))


def read_loads(snapshot: Snapshot, loads_by_scope: dict[Scope, Load], _: object) -> Any:
    """Reads the scopes of a batch of loads."""
    for scope, load in loads_by_scope.items():
        load.read_at(snapshot.position)
        snapshot.spend()
        for kind, images in _images(snapshot.moment, scope):
            load.add(kind, images)
        load.flush()
    return loads_by_scope


def _images(moment: Moment, scope: Scope) -> Iterator[tuple[str, Sequence[Any]]]:
    content = moment.content
    match scope.kind:
        case ScopeKind.DATABASES:
            databases = content.databases.items()
            yield "databases", [DatabaseImage(db, database_bytes(db, p)) for db, p in databases]
        case ScopeKind.NAMES:
            yield "names", [name_image(table) for table in content.of(scope.name.database)]
        case ScopeKind.WRITE_IDS:
            yield "write_ids", [_write_ids(moment, scope.name)]
        case ScopeKind.TABLE:
            yield "write_ids", [_write_ids(moment, scope.name)]
            table = content.tables.get(scope.name)
            if table is not None:
                yield "tables", [table.image]
                yield (
                    "partitions",
                    [partition_image(table, values) for values, _ in table.partitions],
                )
        case ScopeKind.OBJECTS:
            raise AssertionError("objects are reread")


def _write_ids(moment: Moment, name: TableName) -> WriteIdsImage:
    txns = open_txns(moment.txn_rows())
    rows, next_id = moment.id_rows(name), moment.next_ids.get(name)
    ids = loaded_write_ids(moment.event, moment.event, txns, rows, next_id)
    return WriteIdsImage(ids.hwm, ids.open, ids.aborted)


def partition_image(table: Table, values: Values) -> PartitionImage:
    row = dict(table.partitions)[values]
    data = table.partition_bytes(values, row)
    return PartitionImage(values, row.write_id, columns_hash(PartitionView(data).columns), data)


def reread(
    snapshot: Snapshot, epoch: int, name: TableName, objects: Iterable[Values]
) -> Iterator[Reread]:
    """These objects of a table as they are."""
    wanted = tuple(objects)
    table = snapshot.moment.content.tables.get(name)
    if table is None:
        yield Reread(epoch, name, snapshot.position, 0, wanted, Rows())
        return
    stored = dict(table.partitions)
    rows = Rows(
        tables=(table.image,) if () in wanted else (),
        partitions=tuple(partition_image(table, values) for values in wanted if values in stored),
    )
    yield Reread(epoch, name, snapshot.position, table.row.id, wanted, rows)


class SimulatedPrimary:
    """The database as a worker's resolver asks it: production's ways of sharing reads, over the
    simulated database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.history = LogHistory()
        self._index = SharedRead(self._tail, self.history)
        self._fallback = Fallback(lambda: open_snapshot(database), 4)  # type: ignore[arg-type, return-value]

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        return await self._fallback.answer(read)

    async def after_now(self, reached: Position) -> LogEnd | None:
        return await self._index.after_now(reached)

    async def _tail(self, first: int, messages_after: int) -> Tail:
        database = self._database
        low, high = 0.000_3, 0.003
        await asyncio.sleep(database.delay_s(low, high))
        database.check()
        now = database.now
        rows = [
            _thin(database.log[event], messages_after)
            for event in range(max(first, now.event - ROWS_MAX), now.event + 1)
            if event in database.log
        ]
        await asyncio.sleep(database.delay_s(low, high))
        return Tail(now.event, rows)


def _thin(row: NotificationRow, messages_after: int) -> ThinRow:
    has_message = row.event_type in WITH_MESSAGE and row.event_id > messages_after
    return ThinRow(
        row.event_id,
        row.event_time,
        row.event_type,
        row.cat_name,
        row.db_name,
        row.tbl_name,
        row.message if has_message else "",
        row.message_format,
    )


def objects_of(snapshot: Snapshot, _open_txn_timeout_ms: int) -> ContentObjects:
    return ContentObjects(snapshot.moment.content, snapshot.position)
