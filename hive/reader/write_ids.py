"""Reads the transaction tables."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import select, tuple_

from hive.names import TableName
from hive.reader.snapshot import DatabaseSnapshot
from hive.write_ids.lists import WriteIdList
from hive.write_ids.pages import Loaded
from hive.write_ids.snapshot import (
    OPEN_TXN_TIMEOUT_MS,
    TxnRow,
    TxnState,
    WriteIdRow,
    loaded_write_ids,
    open_txns,
)

READ_ONLY = 2
"""The TXN_TYPE of transactions that write nothing."""
_OLD_MS = 1 << 62
"""An age of transactions so great that holes among their ids don't count as open."""


class WriteIdRows(NamedTuple):
    """The rows of one table."""

    given: list[WriteIdRow]
    next: int | None
    """NWI_NEXT; None if the table never had a write id."""
    txns: list[TxnRow]
    """The transactions with an id; those whose rows are gone count as committed."""


class StoredTxn(NamedTuple):
    """A row of TXNS."""

    txn: int
    state: TxnState
    age_ms: int
    type: int
    started_ms: int
    heartbeat_ms: int
    user: str
    host: str


def read_write_ids(
    snapshot: DatabaseSnapshot, tables: Collection[TableName]
) -> dict[TableName, WriteIdRows]:
    """The rows of tables; the transaction tables don't know catalogs."""
    allocated, txns = snapshot.tables["TXN_TO_WRITE_ID"].c, snapshot.tables["TXNS"].c
    following = snapshot.tables["NEXT_WRITE_ID"].c
    names = {(name.db, name.table) for name in tables}
    rows_of = {name: WriteIdRows([], None, []) for name in names}
    if not names:
        return {}
    statement = (
        select(
            allocated.T2W_DATABASE,
            allocated.T2W_TABLE,
            allocated.T2W_TXNID,
            allocated.T2W_WRITEID,
            txns.TXN_STATE,
        )
        .outerjoin_from(
            snapshot.tables["TXN_TO_WRITE_ID"],
            snapshot.tables["TXNS"],
            allocated.T2W_TXNID == txns.TXN_ID,
        )
        .where(tuple_(allocated.T2W_DATABASE, allocated.T2W_TABLE).in_(names))
    )
    for db, table, txn, write_id, state in snapshot.rows(statement):
        rows = rows_of[db, table]
        rows.given.append(WriteIdRow(txn, write_id))
        state = TxnState.COMMITTED if state is None else TxnState(state.strip())
        rows.txns.append(TxnRow(txn, state, _OLD_MS))
    statement = select(following.NWI_DATABASE, following.NWI_TABLE, following.NWI_NEXT).where(
        tuple_(following.NWI_DATABASE, following.NWI_TABLE).in_(names)
    )
    for db, table, next_ in snapshot.rows(statement):
        rows_of[db, table] = rows_of[db, table]._replace(next=next_)
    return {name: rows_of[name.db, name.table] for name in tables}


def loaded(rows: WriteIdRows, position: int) -> Loaded:
    """All ids that a table has allocated, as of a snapshot's position."""
    return loaded_write_ids(position, position, open_txns(rows.txns), rows.given, rows.next)


def read_stored_txns(snapshot: DatabaseSnapshot) -> list[StoredTxn]:
    """All rows of TXNS."""
    txns = snapshot.tables["TXNS"].c
    statement = select(
        *(txns.TXN_ID, txns.TXN_STATE, txns.TXN_TYPE, txns.TXN_STARTED),
        *(txns.TXN_LAST_HEARTBEAT, txns.TXN_USER, txns.TXN_HOST),
    )
    return [
        StoredTxn(
            id_,
            TxnState(state.strip()),
            snapshot.now_ms - started_ms,
            type_ or 0,
            started_ms,
            *more,
        )
        for id_, state, type_, started_ms, *more in snapshot.rows(statement)
    ]


def read_txns(snapshot: DatabaseSnapshot, timeout_ms: int = OPEN_TXN_TIMEOUT_MS) -> WriteIdList:
    """The transactions that aren't committed, as a reader that begins now gets them."""
    rows = (
        TxnRow(row.txn, row.state, row.age_ms, row.type == READ_ONLY)
        for row in read_stored_txns(snapshot)
    )
    return open_txns(rows, timeout_ms, with_read_only=False)
