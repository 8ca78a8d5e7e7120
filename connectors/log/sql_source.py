"""The notification log in the metastore's database.

Every read is one statement in autocommit, so it sees one state: what was committed before it, at
the default isolation level of PostgreSQL and MySQL alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, starmap
from time import monotonic
from typing import Any, NamedTuple

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import SQLAlchemyError

from connectors.log.sequence_reader import SequenceReader
from connectors.log.source import HASHED_CHARS_MAX, Bounds, OpenTxns, Poll, cut_rows_hash
from hive.errors import SourceError
from hive.events.column_limits import ColumnLimits
from hive.events.row import NotificationRow
from hive.listener import UNLOGGED_TRANSACTION_TYPES
from hive.reader import column_limits, notification_log
from hive.reader.driver_errors import driver_reason
from hive.reader.engines import RECYCLED_S
from hive.reader.sessions import DROP_PLANS, PlanAge
from hive.schema import metadata, require_followed
from hive.urls import masked
from state.records.actions import MISNAMED_EVENTS_MAX

log = structlog.get_logger()
ROWS_MAX = 2_000
BYTES_MAX = 16 * 1024 * 1024
"""A poll brings about this much at most; a single event may be larger."""
EVENTS_AT_ONCE = 500
EVENTS_SOUGHT_MAX = 10_000
"""A statement looks at this many events at most for those of a type, which no index tells."""
LOOK_S = 1.0
"""While nothing happens, the log is looked at this often. Between these looks the sequence tells
whether an event was written, at a tenth of the cost to the server."""


class _Rest(NamedTuple):
    """A poll that brought nothing, and until when the sequence may stand for the next one."""

    after: int
    check: int
    until_s: float


class SqlSource:
    """A `Source` on PostgreSQL, MySQL or MariaDB; it connects on first use."""

    def __init__(
        self, engine: sa.Engine, *, rows_max: int = ROWS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self._engine = engine
        self._limits = {"rows": rows_max, "bytes": bytes_max}
        self._connection: sa.Connection | None = None
        self._connected_at_s = 0.0
        self._release: str | None = None
        """The metastore's release that our own log names; None after a fault."""
        self._tables: sa.MetaData | None = None
        self._poll: sa.CompoundSelect[Any] | None = None
        self._sequence: SequenceReader | None = None
        self._rest: _Rest | None = None
        self._plan_age = PlanAge()
        self._column_limits: ColumnLimits | None = None

    def poll(self, after: int, check: int) -> Poll:
        # Here alone: what follows a poll asks the same server.
        self._leave_old_connection()
        connection, _ = self._connected()
        assert self._poll is not None
        parameters = {"after": after, "check": check, **self._limits}
        rows = self._run(connection, self._poll, parameters, read_upto=after)
        kinds: tuple[list[Any], ...] = ([], [], [])
        for row in rows:
            kinds[row[0]].append(row)
        for group in kinds[:2]:
            group.sort(key=lambda row: (row[1], row[2]))
        checked = list(map(notification_log.checked_row, kinds[notification_log.CHECKED]))
        poll = Poll(
            notification_log.last_event(kinds[notification_log.CURRENT][0][1]),
            cut_rows_hash(checked) if checked else None,
            [notification_log.polled_row(row) for row in kinds[notification_log.NEW]],
            max((row.event_time for row, _ in checked), default=None),
        )
        is_calm = not poll.rows and poll.current == after
        self._rest = _Rest(after, check, monotonic() + LOOK_S) if is_calm else None
        return poll

    def rests(self, after: int, check: int) -> bool:
        rest, sequence = self._rest, self._sequence
        if rest is None or sequence is None or monotonic() > rest.until_s:
            return False
        if (rest.after, rest.check) != (after, check):
            return False
        next_id = sequence.read()
        return next_id is not None and notification_log.last_event(next_id) == after

    def hashes(self, events: Sequence[int]) -> dict[int, bytes]:
        connection, tables = self._connected()
        statement = notification_log.checked(tables, HASHED_CHARS_MAX)
        hashes: dict[int, bytes] = {}
        for start in range(0, len(events), EVENTS_AT_ONCE):
            some = events[start : start + EVENTS_AT_ONCE]
            rows = self._run(connection, statement, {"events": some})
            for event, same in groupby(rows, key=lambda row: row[1]):
                hashes[int(event)] = cut_rows_hash(map(notification_log.checked_row, same))
        return hashes

    def bounds(self, after: int) -> Bounds:
        connection, tables = self._connected()
        statement = notification_log.bounds(tables, after)
        [(first, after_it, following_id)] = self._run(connection, statement, {})
        return Bounds(first, after_it, notification_log.last_event(following_id))

    def older(self, event: int, written_s: int | None) -> int | None:
        connection, tables = self._connected()
        statement = notification_log.older(tables, event, written_s)
        return next((row[0] for row in self._run(connection, statement, {})), None)

    def alters(self, upto: int) -> Iterator[NotificationRow]:
        _, tables = self._connected()
        sized = notification_log.alter_sizes(tables)
        statement = notification_log.alters(tables)
        for first in range(max(upto - MISNAMED_EVENTS_MAX, 0), upto, EVENTS_SOUGHT_MAX):
            sought = {"after": first, "upto": min(first + EVENTS_SOUGHT_MAX, upto)}
            connection, _ = self._connected()
            sizes = self._run(connection, sized, sought)
            for after, last in _ranges(sizes, self._limits["bytes"]):
                connection, _ = self._connected()
                # No name holds them: while the next ones are read, these must be gone.
                yield from starmap(
                    notification_log.row,
                    self._run(connection, statement, {"after": after, "upto": last}),
                )

    def open_transactions(self) -> OpenTxns:
        connection, tables = self._connected()
        rows = self._run(connection, notification_log.open_transactions(tables), {})
        opened = sorted((row[0], row[1]) for row in rows if not row[2])
        [current] = [row[0] for row in rows if row[2]]
        return OpenTxns(
            notification_log.last_event(current),
            tuple(txn for txn, _ in opened),
            frozenset(txn for txn, kind in opened if kind not in UNLOGGED_TRANSACTION_TYPES),
        )

    def column_limits(self) -> ColumnLimits:
        connection, _ = self._connected()
        if self._column_limits is None:
            statement = column_limits.statement(self._engine.dialect.name)
            rows = [] if statement is None else self._run(connection, statement, {})
            self._column_limits = column_limits.column_limits(rows)
        return self._column_limits

    def close(self) -> None:
        """Closes the connection; the next call opens another."""
        self._disconnect()
        self._release = None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._rest = self._sequence = None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _leave_old_connection(self) -> None:
        """Leaves a server that may have been a primary when the connection was made."""
        is_old = monotonic() - self._connected_at_s > RECYCLED_S
        if is_old and self._engine.dialect.name != "postgresql":
            self._disconnect()

    def _connected(self) -> tuple[sa.Connection, sa.MetaData]:
        if self._connection is None:
            try:
                self._connect()
            except SourceError:
                self.close()
                raise
            except SQLAlchemyError as error:
                self.close()
                raise self._problem(error) from error
        assert self._connection is not None
        assert self._tables is not None
        return self._connection, self._tables

    def _connect(self) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._connection = connection
        self._connected_at_s = monotonic()
        version = require_followed(connection)
        if version.release != self._release:
            log.info("connected to the database", database=self._shown, release=version.release)
            self._release = version.release
        self._tables = metadata(version)
        self._poll = notification_log.poll(self._tables, HASHED_CHARS_MAX)
        self._sequence = SequenceReader(connection, notification_log.sequence(self._tables))
        self._rest = self._column_limits = None
        self._plan_age = PlanAge()

    def _run(
        self,
        connection: sa.Connection,
        statement: Any,
        parameters: Mapping[str, int | Sequence[int]],
        *,
        read_upto: int | None = None,
    ) -> Sequence[Any]:
        """Runs a statement; `read_upto` is the event up to which the log was read."""
        try:
            if read_upto is not None and self._plan_age.outgrown(read_upto):
                self._drop_plans(connection)
            return connection.execute(statement, parameters).all()
        except SQLAlchemyError as error:
            self.close()
            raise self._problem(error) from error

    def _drop_plans(self, connection: sa.Connection) -> None:
        if self._engine.dialect.name == "postgresql":
            connection.exec_driver_sql(DROP_PLANS)

    def _problem(self, error: SQLAlchemyError) -> SourceError:
        return SourceError(f"{self._shown} can't be read: {driver_reason(error)}")

    @property
    def _shown(self) -> str:
        return masked(self._engine.url.render_as_string())


def _ranges(sizes: Iterable[tuple[int, int]], bytes_max: int) -> Iterator[tuple[int, int]]:
    """Divides events, given by their ids and bytes, into ranges `(after, upto]` of ids whose events
    have this many bytes at most; a single one may have more."""
    after, upto, range_bytes = 0, 0, 0
    for event_id, size in sizes:
        if not upto:
            after = event_id - 1
        elif range_bytes + size > bytes_max:
            yield after, upto
            after, range_bytes = upto, 0
        upto = event_id
        range_bytes += int(size)
    if upto:
        yield after, upto
