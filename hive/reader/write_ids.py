"""Reads the transaction tables."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import select, tuple_

from hive.names import TableName
from hive.reader.snapshot import DatabaseSnapshot
from hive.write_ids.lists import WriteIdList
from hive.write_ids.pages import Loaded
from hive.write_ids.snapshot import (
    TxnRow,
    TxnState,
    WriteIdRow,
    loaded_write_ids,
    open_txns,
)

_OLD_MS = 1 << 62
"""An age of transactions so great that holes among their ids don't count as open."""


class WriteIdRows(NamedTuple):
    """The rows of one table."""

    given: list[WriteIdRow]
    next: int | None
    """NWI_NEXT; None if the table never had a write id."""
    txns: list[TxnRow]
    """The transactions with an id; those whose rows are gone count as committed."""


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


def read_txns(
    snapshot: DatabaseSnapshot, now_ms: int, *, with_read_only: bool = False
) -> WriteIdList:
    """The transactions that aren't committed."""
    txns = snapshot.tables["TXNS"].c
    statement = select(txns.TXN_ID, txns.TXN_STATE, txns.TXN_STARTED, txns.TXN_TYPE)
    rows = (
        TxnRow(id_, TxnState(state.strip()), now_ms - started_ms, type_ == _READ_ONLY)
        for id_, state, started_ms, type_ in snapshot.rows(statement)
    )
    return open_txns(rows, with_read_only=with_read_only)


_READ_ONLY = 2
