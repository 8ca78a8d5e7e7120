"""What a client of the metastore sees at one moment: the lists that it sends with its requests."""

import time
from typing import NamedTuple

from sqlalchemy import Connection, Engine, MetaData, select

from hive.names import DEFAULT_CATALOG
from hive.write_ids.lists import WriteIdList
from hive.write_ids.snapshot import (
    TxnRow,
    TxnState,
    WriteIdRow,
    open_txns,
    valid_write_ids,
)
from tests.model.valid_txns import valid_txns

READ_ONLY = 2
"""TXN_TYPE of a transaction that only reads."""


class ClientView(NamedTuple):
    """A ValidTxnList, and the ValidWriteIdList and id of one table; None if there is no table."""

    txns: WriteIdList
    write_ids: WriteIdList
    table_id: int | None


def client_view(
    engine: Engine, metadata: MetaData, database: str, table: str, txn_id: int | None = None
) -> ClientView:
    """What a client sees inside its transaction, or outside of any, as of one moment."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        txns = current_txns(connection, metadata)
        if txn_id is not None:
            txns = valid_txns(txns, txn_id)
        return ClientView(
            txns,
            _write_ids(connection, metadata, txns, database, table),
            _table_id(connection, metadata, database, table),
        )


def current_txns(connection: Connection, metadata: MetaData) -> WriteIdList:
    """The transactions that are currently not committed."""
    txns = metadata.tables["TXNS"].c
    now_ms = int(time.time() * 1000)
    result = connection.execute(
        select(txns.TXN_ID, txns.TXN_STATE, txns.TXN_STARTED, txns.TXN_TYPE)
    )
    rows = (
        TxnRow(id_, TxnState(state), now_ms - started_ms, type_ == READ_ONLY)
        for id_, state, started_ms, type_ in result
    )
    return open_txns(rows, with_read_only=False)


def _write_ids(
    connection: Connection, metadata: MetaData, txns: WriteIdList, database: str, table: str
) -> WriteIdList:
    columns = metadata.tables["TXN_TO_WRITE_ID"].c
    following = metadata.tables["NEXT_WRITE_ID"].c
    rows = connection.execute(
        select(columns.T2W_TXNID, columns.T2W_WRITEID).where(
            columns.T2W_DATABASE == database, columns.T2W_TABLE == table
        )
    )
    next_write_id = connection.scalar(
        select(following.NWI_NEXT).where(
            following.NWI_DATABASE == database, following.NWI_TABLE == table
        )
    )
    pairs = [WriteIdRow(txn_id, write_id) for txn_id, write_id in rows]
    return valid_write_ids(txns, pairs, next_write_id, f"{database}.{table}")


def _table_id(connection: Connection, metadata: MetaData, database: str, table: str) -> int | None:
    tables, databases = metadata.tables["TBLS"].c, metadata.tables["DBS"].c
    return connection.scalar(
        select(tables.TBL_ID)
        .join_from(metadata.tables["TBLS"], metadata.tables["DBS"])
        .where(
            databases.CTLG_NAME == DEFAULT_CATALOG,
            databases.NAME == database,
            tables.TBL_NAME == table,
        )
    )
