"""The notification log in the metastore's database.

Every read is one statement in autocommit, so it sees one state: what was committed before it, at
the default isolation level of PostgreSQL and MySQL alike.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from connectors.source import HASHED_CHARS_MAX, Bounds, OpenTxns, Poll, fields_hash
from hive.errors import SourceError
from hive.events.row import NotificationRow
from hive.reader.sessions import KeptPlans
from hive.schema import detect_followed, metadata
from state.records.actions import MISNAMED_EVENTS_MAX

ROWS_MAX = 2_000
BYTES_MAX = 16 * 1024 * 1024
"""A poll brings about this much at most; a single event may be larger."""
_NEW, _CHECKED, _CURRENT = 0, 1, 2
_UNLOGGED_TYPES = frozenset([1, 2])
"""Values of TXNS.TXN_TYPE: replication and read-only transactions write no events."""


class SqlSource:
    """A `Source` on PostgreSQL, MySQL or MariaDB; it connects on first use."""

    def __init__(
        self, engine: sa.Engine, *, rows_max: int = ROWS_MAX, bytes_max: int = BYTES_MAX
    ) -> None:
        self._engine = engine
        self._limits = {"rows": rows_max, "bytes": bytes_max}
        self._connection: sa.Connection | None = None
        self._tables: sa.MetaData | None = None
        self._poll: sa.CompoundSelect[Any] | None = None
        self._plans: KeptPlans | None = None

    def poll(self, after: int, check: int) -> Poll:
        connection, _ = self._connected()
        assert self._poll is not None
        parameters = {"after": after, "check": check, **self._limits}
        rows = self._run(connection, self._poll, parameters, seen=after)
        kinds: tuple[list[Any], ...] = ([], [], [])
        for row in rows:
            kinds[row[0]].append(row)
        for group in kinds[:2]:
            group.sort(key=lambda row: (row[1], row[2]))
        checked = [(_row(row), row[10]) for row in kinds[_CHECKED]]
        return Poll(
            _current(kinds[_CURRENT][0][1]),
            fields_hash(checked) if checked else None,
            [_row(row) for row in kinds[_NEW]],
        )

    def bounds(self, after: int) -> Bounds:
        connection, tables = self._connected()
        event = tables.tables["NOTIFICATION_LOG"].c.EVENT_ID
        oldest = sa.select(sa.func.min(event)).scalar_subquery()
        following = sa.select(sa.func.min(event)).where(event > after).scalar_subquery()
        statement = sa.select(oldest, following, _next_id(tables).scalar_subquery())
        [(first, after_it, following_id)] = self._run(connection, statement, {})
        return Bounds(first, after_it, _current(following_id))

    def alters(self, upto: int) -> list[NotificationRow]:
        connection, tables = self._connected()
        log = tables.tables["NOTIFICATION_LOG"].c
        statement = (
            sa.select(
                *(log.EVENT_ID, log.EVENT_TIME, log.EVENT_TYPE, log.CAT_NAME, log.DB_NAME),
                *(log.TBL_NAME, log.MESSAGE, log.MESSAGE_FORMAT),
            )
            .where(log.EVENT_ID > upto - MISNAMED_EVENTS_MAX, log.EVENT_ID <= upto)
            .where(log.EVENT_TYPE == "ALTER_TABLE")
            .order_by(log.EVENT_ID)
        )
        rows = self._run(connection, statement, {})
        return [
            NotificationRow(event, time, kind, cat, db, table, message or "", form)
            for event, time, kind, cat, db, table, message, form in rows
        ]

    def open_transactions(self) -> OpenTxns:
        connection, tables = self._connected()
        txns = tables.tables["TXNS"].c
        statement = sa.union_all(
            sa.select(txns.TXN_ID, txns.TXN_TYPE, sa.literal_column("0")).where(
                txns.TXN_STATE == "o"
            ),
            _next_id(tables).add_columns(sa.null(), sa.literal_column("1")),
        )
        rows = self._run(connection, statement, {})
        opened = sorted((row[0], row[1]) for row in rows if not row[2])
        [current] = [row[0] for row in rows if row[2]]
        return OpenTxns(
            _current(current),
            tuple(txn for txn, _ in opened),
            frozenset(txn for txn, kind in opened if kind not in _UNLOGGED_TYPES),
        )

    def close(self) -> None:
        """Closes the connection; the next call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _connected(self) -> tuple[sa.Connection, sa.MetaData]:
        if self._connection is None:
            try:
                self._connect()
            except SQLAlchemyError as error:
                self.close()
                raise self._problem(error) from error
        assert self._connection is not None
        assert self._tables is not None
        return self._connection, self._tables

    def _connect(self) -> None:
        connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._connection = connection
        version = detect_followed(connection)
        if version is None:
            self.close()
            raise SourceError(
                f"{self._shown} has no metastore's tables yet; "
                "start the metastore, or correct database.url"
            )
        self._tables = metadata(version)
        self._poll = _poll_statement(self._tables)
        self._plans = KeptPlans(connection)

    def _run(
        self,
        connection: sa.Connection,
        statement: Any,
        parameters: dict[str, int],
        *,
        seen: int | None = None,
    ) -> Sequence[Any]:
        """Runs a statement; `seen` is the event up to which the log was read."""
        assert self._plans is not None
        try:
            if seen is not None:
                self._plans.use(seen)
            return connection.execute(statement, parameters).all()
        except SQLAlchemyError as error:
            self.close()
            raise self._problem(error) from error

    def _problem(self, error: SQLAlchemyError) -> SourceError:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()
        why = cause[0] if cause else type(error).__name__
        return SourceError(f"{self._shown} can't be read: {why}")

    @property
    def _shown(self) -> str:
        return self._engine.url.render_as_string()


def _poll_statement(tables: sa.MetaData) -> sa.CompoundSelect[Any]:
    """One statement for new rows, the checked row and the sequence, each row marked with its
    kind."""
    log = tables.tables["NOTIFICATION_LOG"].c
    after, check = (
        sa.bindparam("after", type_=sa.BigInteger),
        sa.bindparam("check", type_=sa.BigInteger),
    )
    columns = (
        log.EVENT_ID,
        log.NL_ID,
        log.EVENT_TIME,
        log.EVENT_TYPE,
        log.CAT_NAME,
        log.DB_NAME,
        log.TBL_NAME,
    )
    new = sa.select(
        _mark(_NEW), *columns, log.MESSAGE, log.MESSAGE_FORMAT, sa.literal_column("0")
    ).where(log.EVENT_ID > after, log.EVENT_ID <= _last_of_batch(log, after))
    checked = sa.select(
        _mark(_CHECKED),
        *columns,
        sa.func.substr(log.MESSAGE, 1, HASHED_CHARS_MAX),
        log.MESSAGE_FORMAT,
        sa.func.char_length(sa.func.coalesce(log.MESSAGE, "")),
    ).where(log.EVENT_ID == check)
    sequence = sa.select(
        _mark(_CURRENT), _next_id(tables).scalar_subquery(), *[sa.null()] * (len(columns) + 2)
    )
    return sa.union_all(new, checked, sequence)


def _last_of_batch(log: Any, after: sa.BindParameter[int]) -> sa.ScalarSelect[int]:
    """The last event that still fits into a batch; at least the next one.

    Ids are dense, so a limit on ids limits rows, and the rows of one id stay together.
    """
    rows, bytes_ = (
        sa.bindparam("rows", type_=sa.Integer),
        sa.bindparam("bytes", type_=sa.BigInteger),
    )
    size = sa.func.coalesce(sa.func.octet_length(log.MESSAGE), 0)
    sizes = (
        sa.select(log.EVENT_ID, sa.func.sum(size).over(order_by=log.EVENT_ID).label("BYTES"))
        .where(log.EVENT_ID > after, log.EVENT_ID <= after + rows)
        .subquery()
    )
    last = sa.func.coalesce(sa.func.max(sizes.c.EVENT_ID), 0)
    fitting = sa.select(sa.func.greatest(last, after + 1)).where(sizes.c.BYTES <= bytes_)
    return fitting.scalar_subquery()


def _mark(kind: int) -> Any:
    return sa.literal_column(str(kind))


def _next_id(tables: sa.MetaData) -> sa.Select[Any]:
    return sa.select(sa.func.max(tables.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID))


def _current(next_id: int | None) -> int:
    if next_id is None:
        raise SourceError(
            "NOTIFICATION_SEQUENCE has no row, so no event can be numbered; "
            "wait until the database is restored, or let Hive's schematool complete it"
        )
    return next_id - 1


def _row(columns: Any) -> NotificationRow:
    _, event_id, _, event_time, event_type, cat, db, tbl, message, message_format, _ = columns
    return NotificationRow(
        event_id, event_time, event_type, cat, db, tbl, message or "", message_format
    )
