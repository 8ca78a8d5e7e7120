"""Reads tables, and lists of their names."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, MetaData, Select, and_, bindparam, null, select

from hive.names import DatabaseName
from hive.reader.details import Owner, read_details
from hive.reader.rows.storage import StorageRow
from hive.reader.rows.tables import (
    StoredName,
    StoredTable,
    TableRow,
    stored_name,
    stored_table,
)
from hive.reader.snapshot import DatabaseSnapshot, Row
from hive.schema import Version, metadata

Condition = ColumnElement[bool]


def read_tables(snapshot: DatabaseSnapshot, *where: Condition) -> list[StoredTable]:
    """The tables that fulfil conditions on TBLS and DBS, in two statements."""
    return _stored(snapshot, snapshot.rows(_statement(snapshot.version).where(*where)))


def read_named_tables(
    snapshot: DatabaseSnapshot, db: DatabaseName, names: Collection[str]
) -> list[StoredTable]:
    """Those of a database's tables that have one of these names."""
    parameters = {"catalog": db.catalog, "database": db.db, "names": list(names)}
    return _stored(snapshot, snapshot.rows(_named_statement(snapshot.version), parameters))


def _stored(snapshot: DatabaseSnapshot, rows: Sequence[Row]) -> list[StoredTable]:
    storage_ids, columns_ids, serde_ids = (
        {row[len(TableRow._fields) + place] for row in rows} - {None} for place in range(3)
    )
    details = read_details(
        snapshot,
        {
            Owner.TABLE: [row[0] for row in rows],
            Owner.STORAGE: storage_ids,
            Owner.COLUMNS: columns_ids,
            Owner.SERDE: serde_ids,
        },
    )
    return [stored_table(row, details) for row in rows]


def named(snapshot: DatabaseSnapshot, db: DatabaseName) -> tuple[Condition, ...]:
    """The conditions for what is in one database."""
    columns = snapshot.tables["DBS"].c
    return columns.CTLG_NAME == db.catalog, columns.NAME == db.db


def stream_names(snapshot: DatabaseSnapshot, *where: Condition) -> Iterator[list[StoredName]]:
    """The lines of a list of tables, in order of their names."""
    statement = _names_statement(snapshot.version).where(*where)
    for rows in snapshot.stream(statement.order_by(snapshot.tables["TBLS"].c.TBL_NAME)):
        yield [stored_name(*row) for row in rows]


def stream_names_of(
    snapshot: DatabaseSnapshot, catalog: str, databases: Sequence[str]
) -> Iterator[list[tuple[str, StoredName]]]:
    """The lines of several databases' lists, each with its database's name, in one statement."""
    dbs = snapshot.tables["DBS"].c
    statement = _names_statement(snapshot.version).add_columns(dbs.NAME)
    chosen = statement.where(dbs.CTLG_NAME == catalog, dbs.NAME.in_(databases))
    for rows in snapshot.stream(chosen):
        yield [(row[-1], stored_name(*row[:-1])) for row in rows]


def storage_columns(described: MetaData) -> list[Any]:
    """The columns of `StorageRow`."""
    sds, serdes = described.tables["SDS"].c, described.tables["SERDES"].c
    columns = [
        *(sds.SD_ID, sds.CD_ID, sds.SERDE_ID, sds.LOCATION, sds.INPUT_FORMAT, sds.OUTPUT_FORMAT),
        *(sds.IS_COMPRESSED, sds.IS_STOREDASSUBDIRECTORIES, sds.NUM_BUCKETS),
        *(serdes.NAME, serdes.SLIB, serdes.DESCRIPTION),
        *(serdes.SERIALIZER_CLASS, serdes.DESERIALIZER_CLASS, serdes.SERDE_TYPE),
    ]
    assert len(columns) == len(StorageRow._fields)
    return columns


@cache
def _statement(version: Version) -> Select[Any]:
    described = metadata(version)
    tbls, dbs, sds, serdes = (described.tables[n] for n in ("TBLS", "DBS", "SDS", "SERDES"))
    t = tbls.c
    return (
        select(
            *(t.TBL_ID, dbs.c.CTLG_NAME, dbs.c.NAME, t.TBL_NAME, t.TBL_TYPE, t.OWNER),
            *(t.OWNER_TYPE, t.CREATE_TIME, t.LAST_ACCESS_TIME, t.RETENTION),
            *(t.VIEW_ORIGINAL_TEXT, t.VIEW_EXPANDED_TEXT, t.IS_REWRITE_ENABLED),
            t.get("WRITE_ID", null()),
            *storage_columns(described),
        )
        .join_from(tbls, dbs, t.DB_ID == dbs.c.DB_ID)
        .outerjoin(sds, t.SD_ID == sds.c.SD_ID)
        .outerjoin(serdes, sds.c.SERDE_ID == serdes.c.SERDE_ID)
    )


@cache
def _named_statement(version: Version) -> Select[Any]:
    """A statement for all names: to build another for each takes longer than to execute it."""
    tbls, dbs = (metadata(version).tables[name].c for name in ("TBLS", "DBS"))
    return _statement(version).where(
        dbs.CTLG_NAME == bindparam("catalog"),
        dbs.NAME == bindparam("database"),
        tbls.TBL_NAME.in_(bindparam("names", expanding=True)),
    )


@cache
def _names_statement(version: Version) -> Select[Any]:
    described = metadata(version)
    tbls, dbs, params = (described.tables[n] for n in ("TBLS", "DBS", "TABLE_PARAMS"))
    comment = and_(params.c.TBL_ID == tbls.c.TBL_ID, params.c.PARAM_KEY == "comment")
    return (
        select(
            *(tbls.c.TBL_NAME, tbls.c.TBL_TYPE, tbls.c.OWNER),
            *(params.c.PARAM_VALUE, tbls.c.OWNER_TYPE),
        )
        .join_from(tbls, dbs, tbls.c.DB_ID == dbs.c.DB_ID)
        .outerjoin(params, comment)
    )
