"""Plans the loads of a database, and says how much one snapshot loads."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import func, select

from hive.names import TableName, table_name
from hive.reader.databases import read_catalogs, read_databases
from hive.reader.snapshot import DatabaseSnapshot
from state.records import Scope, ScopeKind, databases_scope, names_scope
from state.records.table_lists import TableLists

BATCH_SCOPES_MAX = 200
BATCH_PARTITIONS_MAX = 5_000
"""A larger table is a batch of its own: its pages are read one after the other in any case."""


class Planned(NamedTuple):
    """A scope to load, and its number of partitions."""

    scope: Scope
    partitions: int = 0


def everything(snapshot: DatabaseSnapshot, lists: TableLists) -> list[Planned]:
    """All scopes: first databases, which every shard needs, then names, then tables."""
    catalogs = read_catalogs(snapshot)
    databases = [database for database in read_databases(snapshot) if not database.remote]
    here = {database.name for database in databases}
    planned = [Planned(databases_scope(name)) for name in catalogs]
    planned += [Planned(names_scope(database.name)) for database in databases]
    planned += [
        Planned(Scope(ScopeKind.TABLE, name), partitions)
        for name, partitions in _tables(snapshot)
        if name.database in here and lists.allow(name)
    ]
    return planned


def _tables(snapshot: DatabaseSnapshot) -> Iterator[tuple[TableName, int]]:
    dbs, tbls, partitions = (snapshot.tables[name] for name in ("DBS", "TBLS", "PARTITIONS"))
    counted = (
        select(partitions.c.TBL_ID, func.count().label("count"))
        .group_by(partitions.c.TBL_ID)
        .subquery()
    )
    statement = (
        select(dbs.c.CTLG_NAME, dbs.c.NAME, tbls.c.TBL_NAME, counted.c["count"])
        .join_from(tbls, dbs, tbls.c.DB_ID == dbs.c.DB_ID)
        .outerjoin(counted, counted.c.TBL_ID == tbls.c.TBL_ID)
        .order_by(tbls.c.TBL_ID)
    )
    for rows in snapshot.stream(statement):
        for catalog, db, table, count in rows:
            yield table_name(catalog, db, table), count or 0
