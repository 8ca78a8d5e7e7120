"""Reads catalogs, databases and functions."""

from functools import cache
from typing import Any

from sqlalchemy import Select, null, select

from hive.reader.details import Owner, read_details
from hive.reader.rows.databases import (
    DatabaseRow,
    FunctionRow,
    StoredDatabase,
    StoredFunction,
    stored_database,
    stored_function,
)
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.tables import Condition
from hive.schema import Version, metadata


def read_catalogs(snapshot: DatabaseSnapshot) -> list[str]:
    """The names of all catalogs."""
    name = snapshot.tables["CTLGS"].c.NAME
    return [row[0] for row in snapshot.rows(select(name).order_by(name))]


def read_databases(snapshot: DatabaseSnapshot, *where: Condition) -> list[StoredDatabase]:
    """The databases that fulfil conditions on DBS, in order of their names."""
    rows = snapshot.rows(_databases(snapshot.version).where(*where))
    details = read_details(snapshot, {Owner.DATABASE: [row[0] for row in rows]})
    return [stored_database(row, details) for row in rows]


def read_functions(snapshot: DatabaseSnapshot, *where: Condition) -> list[StoredFunction]:
    """The functions that fulfil conditions on FUNCS and DBS, in order of their names."""
    rows = snapshot.rows(_functions(snapshot.version).where(*where))
    details = read_details(snapshot, {Owner.FUNCTION: [row[0] for row in rows]})
    return [stored_function(row, details) for row in rows]


def read_function_names(snapshot: DatabaseSnapshot, *where: Condition) -> list[str]:
    """The names of the functions that fulfil conditions on FUNCS and DBS, in the database's
    order.
    """
    functions, dbs = snapshot.tables["FUNCS"], snapshot.tables["DBS"]
    name = functions.c.FUNC_NAME
    statement = select(name).join_from(functions, dbs, functions.c.DB_ID == dbs.c.DB_ID)
    return [row[0] for row in snapshot.rows(statement.where(*where).order_by(name))]


@cache
def _databases(version: Version) -> Select[Any]:
    c = metadata(version).tables["DBS"].c
    columns = (
        *(c.DB_ID, c.CTLG_NAME, c.NAME, c.DESC, c.DB_LOCATION_URI, c.OWNER_NAME, c.OWNER_TYPE),
        *(
            c.get(name, null())
            for name in (
                "CREATE_TIME",
                "DB_MANAGED_LOCATION_URI",
                "TYPE",
                "DATACONNECTOR_NAME",
                "REMOTE_DBNAME",
            )
        ),
    )
    assert len(columns) == len(DatabaseRow._fields)
    return select(*columns).order_by(c.CTLG_NAME, c.NAME)


@cache
def _functions(version: Version) -> Select[Any]:
    functions, dbs = (metadata(version).tables[name] for name in ("FUNCS", "DBS"))
    c = functions.c
    columns = (
        *(c.FUNC_ID, dbs.c.CTLG_NAME, dbs.c.NAME, c.FUNC_NAME, c.CLASS_NAME),
        *(c.OWNER_NAME, c.OWNER_TYPE, c.CREATE_TIME, c.FUNC_TYPE),
    )
    assert len(columns) == len(FunctionRow._fields)
    return select(*columns).join_from(functions, dbs, c.DB_ID == dbs.c.DB_ID).order_by(c.FUNC_NAME)
