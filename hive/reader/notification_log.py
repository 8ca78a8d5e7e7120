"""The queries of connectors and readers to the notification log and its sequence of events, each in
one statement. `metatide doctor`, which examines the log itself, has queries of its own.

Each statement sees one state. None reads the whole log: ids are dense, and each statement names a
range of them or has a limit in its text, so that the planner uses the index.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from hive.errors import SourceError
from hive.events.row import NotificationRow
from hive.listener import UNLOGGED_TRANSACTION_TYPES

NEW, CHECKED, CURRENT = 0, 1, 2
"""The first column of a poll's rows: a new event, the event to check, or the next event id."""


def poll(tables: sa.MetaData, hashed_chars_max: int) -> sa.CompoundSelect[Any]:
    """The events after `:after` that make a batch of about `:rows` and `:bytes`, the event `:check`
    with the beginning of its message, and the next event id."""
    log = _log(tables)
    after, check = _big("after"), _big("check")
    columns = _polled(log)
    new = sa.select(
        _mark(NEW), *columns, log.MESSAGE, log.MESSAGE_FORMAT, sa.literal_column("0")
    ).where(log.EVENT_ID > after, log.EVENT_ID <= _last_of_batch(log, after))
    checked = _cut(log, hashed_chars_max).where(log.EVENT_ID == check)
    current = sa.select(
        _mark(CURRENT), sequence(tables).scalar_subquery(), *[sa.null()] * (len(columns) + 2)
    )
    return sa.union_all(new, checked, current)


def checked(tables: sa.MetaData, hashed_chars_max: int) -> sa.Select[Any]:
    """The events `:events` as a poll brings the one to check, in order."""
    log = _log(tables)
    events = log.EVENT_ID.in_(sa.bindparam("events", expanding=True))
    return _cut(log, hashed_chars_max).where(events).order_by(log.EVENT_ID, log.NL_ID)


def polled_row(columns: Sequence[Any]) -> NotificationRow:
    """The event in a NEW or CHECKED row of a poll."""
    _, event_id, _, time, event_type, catalog, db, table, message, form, _ = columns
    return NotificationRow(event_id, time, event_type, catalog, db, table, message or "", form)


def checked_row(columns: Sequence[Any]) -> tuple[NotificationRow, int]:
    """The event in a CHECKED row, whose message may be cut, and the message's full length."""
    return polled_row(columns), columns[-1]


def sequence(tables: sa.MetaData) -> sa.Select[Any]:
    """The next event id."""
    return sa.select(sa.func.max(tables.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID))


def bounds(tables: sa.MetaData, after: int) -> sa.Select[Any]:
    """The oldest event, the first one after an event, and the next event id."""
    event = _log(tables).EVENT_ID
    oldest = sa.select(sa.func.min(event)).scalar_subquery()
    following = sa.select(sa.func.min(event)).where(event > after).scalar_subquery()
    return sa.select(oldest, following, sequence(tables).scalar_subquery())


def oldest_after(tables: sa.MetaData, after: int) -> sa.CompoundSelect[Any]:
    """The next event id in a row of its own, and the id and time of the oldest event that the log
    has after an event."""
    log = _log(tables)
    oldest = (
        sa.select(log.EVENT_ID, log.EVENT_TIME)
        .where(log.EVENT_ID > after)
        .order_by(log.EVENT_ID)
        .limit(sa.literal_column("1"))
        .subquery()
    )
    following = sequence(tables).add_columns(sa.null(), sa.null())
    return sa.union_all(following, sa.select(sa.null(), oldest))


def older(tables: sa.MetaData, event: int, written_s: int | None) -> sa.Select[Any]:
    """The oldest event before another one that was written at a time or before, or at any time."""
    log = _log(tables)
    before = sa.select(log.EVENT_ID).where(log.EVENT_ID < event)
    if written_s is not None:
        before = before.where(log.EVENT_TIME <= written_s)
    return before.order_by(log.EVENT_ID).limit(sa.literal_column("1"))


def alters(tables: sa.MetaData) -> sa.Select[Any]:
    """The ALTER_TABLE events after `:after` up to `:upto`, for `row`."""
    log = _log(tables)
    return (
        sa.select(*_thin(log), log.MESSAGE, log.MESSAGE_FORMAT)
        .where(*_are_alters(log))
        .order_by(log.EVENT_ID)
    )


def alter_sizes(tables: sa.MetaData) -> sa.Select[Any]:
    """The ids of the same events, each with the bytes of its messages."""
    log = _log(tables)
    return (
        sa.select(log.EVENT_ID, sa.func.sum(_size(log)))
        .where(*_are_alters(log))
        .group_by(log.EVENT_ID)
        .order_by(log.EVENT_ID)
    )


def newest(tables: sa.MetaData, count: int) -> sa.Select[Any]:
    """The newest events without their messages, newest first."""
    log = _log(tables)
    return sa.select(*_thin(log)).order_by(log.EVENT_ID.desc()).limit(count)


def tail(tables: sa.MetaData, rows_max: int, with_message: Sequence[str]) -> sa.CompoundSelect[Any]:
    """The next event id in a row of its own, and the newest events from `:first` on, one more than
    `rows_max` at most.

    Only events after `:messages_after` of the types `with_message` come with their messages.
    """
    log = _log(tables)
    first, messages_after = _big("first"), _big("messages_after")
    # Not IN: SQLAlchemy would render such a statement anew for each read.
    tells_names = sa.or_(*(log.EVENT_TYPE == event_type for event_type in with_message))
    columns = (
        *_thin(log),
        sa.case((sa.and_(tells_names, log.EVENT_ID > messages_after), log.MESSAGE)).label(
            "MESSAGE"
        ),
        log.MESSAGE_FORMAT,
    )
    recent = (
        sa.select(*columns)
        .where(log.EVENT_ID >= first)
        .order_by(log.EVENT_ID.desc())
        .limit(sa.literal_column(str(rows_max + 1)))
        .subquery()
    )
    following = sa.func.max(tables.tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID)
    return sa.union_all(
        sa.select(following, *[sa.null()] * len(columns)), sa.select(sa.null(), recent)
    )


def period(tables: sa.MetaData, events_max: int) -> sa.Select[Any]:
    """The times of the oldest of the newest events and of the last OPEN_TXN among them."""
    log = _log(tables)
    last = sa.select(sa.func.max(log.EVENT_ID)).scalar_subquery()
    return sa.select(
        sa.func.min(log.EVENT_TIME),
        sa.func.max(sa.case((log.EVENT_TYPE == "OPEN_TXN", log.EVENT_TIME))),
    ).where(log.EVENT_ID > last - events_max)


def last_logged_begin(tables: sa.MetaData) -> sa.Select[Any]:
    """The time at which the last transaction began that a transactional listener logs."""
    txns = tables.tables["TXNS"].c
    return sa.select(sa.func.max(txns.TXN_STARTED)).where(
        txns.TXN_TYPE.not_in(UNLOGGED_TRANSACTION_TYPES)
    )


def open_transactions(tables: sa.MetaData) -> sa.CompoundSelect[Any]:
    """The open transactions with their types, and, marked by 1, the next event id."""
    txns = tables.tables["TXNS"].c
    return sa.union_all(
        sa.select(txns.TXN_ID, txns.TXN_TYPE, sa.literal_column("0")).where(txns.TXN_STATE == "o"),
        sequence(tables).add_columns(sa.null(), sa.literal_column("1")),
    )


def row(
    event_id: int,
    time: int,
    event_type: str,
    catalog: str | None,
    db: str | None,
    table: str | None,
    message: str | None = None,
    form: str | None = None,
) -> NotificationRow:
    """The event with these columns; it has no message if none was read."""
    return NotificationRow(event_id, time, event_type, catalog, db, table, message or "", form)


def last_event(next_id: int | None) -> int:
    """The id of the last event, computed from the next event id."""
    if next_id is None:
        raise SourceError(
            "NOTIFICATION_SEQUENCE has no row, so no event can be numbered; "
            "wait until the database is restored, or let Hive's schematool complete it"
        )
    return next_id - 1


def _log(tables: sa.MetaData) -> Any:
    return tables.tables["NOTIFICATION_LOG"].c


def _thin(log: Any) -> tuple[Any, ...]:
    return log.EVENT_ID, log.EVENT_TIME, log.EVENT_TYPE, log.CAT_NAME, log.DB_NAME, log.TBL_NAME


def _polled(log: Any) -> tuple[Any, ...]:
    event_id, *others = _thin(log)
    return event_id, log.NL_ID, *others


def _cut(log: Any, hashed_chars_max: int) -> sa.Select[Any]:
    """Events with the beginning of their messages."""
    return sa.select(
        _mark(CHECKED),
        *_polled(log),
        sa.func.substr(log.MESSAGE, 1, hashed_chars_max),
        log.MESSAGE_FORMAT,
        sa.func.char_length(sa.func.coalesce(log.MESSAGE, "")),
    )


def _last_of_batch(log: Any, after: sa.BindParameter[int]) -> sa.ScalarSelect[int]:
    """The last event that still fits into a batch; at least the next one.

    Ids are dense, so a limit on ids limits rows, and the rows of one id stay together.
    """
    rows, bytes_ = sa.bindparam("rows", type_=sa.Integer), _big("bytes")
    sizes = (
        sa.select(log.EVENT_ID, sa.func.sum(_size(log)).over(order_by=log.EVENT_ID).label("BYTES"))
        .where(log.EVENT_ID > after, log.EVENT_ID <= after + rows)
        .subquery()
    )
    last = sa.func.coalesce(sa.func.max(sizes.c.EVENT_ID), 0)
    fitting = sa.select(sa.func.greatest(last, after + 1)).where(sizes.c.BYTES <= bytes_)
    return fitting.scalar_subquery()


def _are_alters(log: Any) -> tuple[Any, ...]:
    in_range = log.EVENT_ID > _big("after"), log.EVENT_ID <= _big("upto")
    return *in_range, log.EVENT_TYPE == "ALTER_TABLE"


def _size(log: Any) -> Any:
    return sa.func.coalesce(sa.func.octet_length(log.MESSAGE), 0)


def _mark(kind: int) -> Any:
    return sa.literal_column(str(kind))


def _big(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)
