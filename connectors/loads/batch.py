"""Several loads in one snapshot: their statements are shared, each table is a load of its own.

Begin of every load is acknowledged, then the snapshot is opened, so what the fold deletes between
the two is known there. The snapshot holds exactly the effects of the events up to its position.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, tuple_
from sqlalchemy.exc import SQLAlchemyError

from connectors.loads import images
from connectors.loads.chunks import Load
from connectors.loads.sink import Sink
from hive.errors import SourceError
from hive.names import TableName
from hive.reader.constraints import read_constraints
from hive.reader.databases import read_databases, read_functions
from hive.reader.partitions import stream_partitions
from hive.reader.rows.partitions import StoredPartition
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.reader.statistics import OF_PARTITIONS, OF_TABLES, stream_statistics
from hive.reader.tables import Condition, named, read_tables, stream_names
from hive.reader.write_ids import read_write_ids
from hive.schema import Version, detect_followed
from state.records import Scope, ScopeKind


class Database(NamedTuple):
    """Where loads read."""

    engine: Engine
    version: Version


def find_database(engine: Engine) -> Database:
    """The metastore's database with the shape of its schema."""
    try:
        with engine.connect() as connection:
            version = detect_followed(connection)
    except SQLAlchemyError as error:
        raise unreadable(error) from error
    if version is None:
        raise SourceError(f"{engine.url.render_as_string()} holds no metastore: give another one")
    return Database(engine, version)


def unreadable(error: SQLAlchemyError) -> SourceError:
    """What a driver says, in one line."""
    cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    return SourceError(f"the metastore's database can't be read: {cause}")


class Read(NamedTuple):
    """What a batch came to."""

    position: int
    loads: tuple[Load, ...]


def load(
    database: Database,
    sink: Sink,
    epoch: int,
    scopes: Sequence[Scope],
    loaded: Callable[[int], None] = lambda _: None,
) -> Read:
    """Loads scopes, which are all different; `loaded` hears how many partitions came, page by page.

    When it fails, the loads that it began never end: what they are of stays cold until the next.
    """
    assert len(set(scopes)) == len(scopes)
    loads = {scope: Load(sink, epoch, uuid.uuid4().hex[:16], scope) for scope in scopes}
    for one in loads.values():
        one.begin()
    sink.flush()
    with open_snapshot(database.engine, database.version) as snapshot:
        here = read(snapshot, loads, loaded)
        position = snapshot.position
    for one in here.values():
        one.end()
    sink.flush()
    return Read(position, tuple(here.values()))


def read(
    snapshot: DatabaseSnapshot,
    loads: dict[Scope, Load],
    loaded: Callable[[int], None] = lambda _: None,
) -> dict[Scope, Load]:
    """Brings what the scopes hold; gives the loads that may end."""
    for one in loads.values():
        one.read_at(snapshot.position)
    elsewhere = _remote(snapshot, loads)
    here = {
        scope: one
        for scope, one in loads.items()
        if (scope.name.catalog, scope.name.db) not in elsewhere
    }
    _read(snapshot, here, loaded)
    return here


def read_table_alone(snapshot: DatabaseSnapshot, one: Load) -> None:
    """Brings a table with all that hangs on it but its partitions."""
    name = one.scope.name
    _read_write_ids(snapshot, [(name, one)])
    _read_tables(snapshot, {name: one})
    one.flush()


def read_stretch(
    snapshot: DatabaseSnapshot,
    one: Load,
    table: int,
    first: int,
    last: int,
    loaded: Callable[[int], None],
) -> None:
    """Brings the partitions of a table between two ids."""
    ids = snapshot.tables["PARTITIONS"].c.PART_ID
    name = {table: one.scope.name}
    _read_partitions(snapshot, name, {table: one}, loaded, ids.between(first, last))
    one.flush()


def _remote(snapshot: DatabaseSnapshot, scopes: Iterable[Scope]) -> set[tuple[str, str]]:
    """Databases whose tables are elsewhere: nothing can be said of these, so no load ends."""
    names = {(scope.name.catalog, scope.name.db) for scope in scopes if scope.name.db}
    if not names:
        return set()
    dbs = snapshot.tables["DBS"].c
    if "TYPE" not in dbs:
        return set()
    found = read_databases(
        snapshot, dbs.TYPE != "NATIVE", tuple_(dbs.CTLG_NAME, dbs.NAME).in_(sorted(names))
    )
    return {(one.catalog, one.name) for one in found if one.remote}


def _read(
    snapshot: DatabaseSnapshot, loads: dict[Scope, Load], loaded: Callable[[int], None]
) -> None:
    of: dict[ScopeKind, dict[TableName, Load]] = {kind: {} for kind in ScopeKind}
    for scope, one in loads.items():
        of[scope.kind][scope.name] = one
    for name, one in of[ScopeKind.DATABASES].items():
        found = read_databases(snapshot, snapshot.tables["DBS"].c.CTLG_NAME == name.catalog)
        one.add("databases", map(images.database_image, found))
        one.flush()
    for name, one in of[ScopeKind.NAMES].items():
        _read_names(snapshot, name, one)
    _read_write_ids(snapshot, [*of[ScopeKind.WRITE_IDS].items(), *of[ScopeKind.TABLE].items()])
    for one in of[ScopeKind.WRITE_IDS].values():
        one.flush()
    if of[ScopeKind.TABLE]:
        names, by_id = _read_tables(snapshot, of[ScopeKind.TABLE])
        _read_partitions(snapshot, names, by_id, loaded)
        for one in of[ScopeKind.TABLE].values():
            one.flush()


def _read_names(snapshot: DatabaseSnapshot, db: TableName, one: Load) -> None:
    where = named(snapshot, db.catalog, db.db)
    for names in stream_names(snapshot, *where):
        one.add("names", map(images.name_image, names))
    one.add("functions", map(images.function_image, read_functions(snapshot, *where)))
    one.flush()


def _read_write_ids(snapshot: DatabaseSnapshot, loads: Sequence[tuple[TableName, Load]]) -> None:
    rows = read_write_ids(snapshot, [name for name, _ in loads])
    for name, one in loads:
        one.add("write_ids", [images.write_ids_image(rows[name], snapshot.position)])


def _read_tables(
    snapshot: DatabaseSnapshot, loads: dict[TableName, Load]
) -> tuple[dict[int, TableName], dict[int, Load]]:
    """Gives the partitioned ones, and the loads of all."""
    tbls, dbs = snapshot.tables["TBLS"].c, snapshot.tables["DBS"].c
    wanted = [(name.catalog, name.db, name.table) for name in loads]
    columns = tuple_(dbs.CTLG_NAME, dbs.NAME, tbls.TBL_NAME)
    tables = {table.id: table for table in read_tables(snapshot, columns.in_(wanted))}
    by_id = {id_: loads[table.name] for id_, table in tables.items()}
    for id_, table in tables.items():
        by_id[id_].add("tables", [images.table_image(table)])
    for constraint in read_constraints(snapshot, by_id):
        by_id[constraint.table].add("constraints", [images.constraint_image(constraint)])
    for columns_ in stream_statistics(snapshot, OF_TABLES, by_id):
        for column in columns_:
            image = images.statistics_image(column, None, tables[column.owner].write_id)
            by_id[column.owner].add("statistics", [image])
    return {id_: table.name for id_, table in tables.items() if table.partition_keys}, by_id


def _read_partitions(
    snapshot: DatabaseSnapshot,
    names: dict[int, TableName],
    loads: dict[int, Load],
    loaded: Callable[[int], None],
    *where: Condition,
) -> None:
    for page in stream_partitions(snapshot, names, *where) if names else ():
        owners: dict[int, tuple[Load, StoredPartition]] = {}
        for id_, partitions in page.items():
            loads[id_].add("partitions", map(images.partition_image, partitions))
            owners |= {partition.id: (loads[id_], partition) for partition in partitions}
        for columns in stream_statistics(snapshot, OF_PARTITIONS, owners):
            for column in columns:
                one, of = owners[column.owner]
                image = images.statistics_image(column, of.values, of.write_id)
                one.add("statistics", [image])
        # Only the last table of a page goes on in the next.
        for id_ in list(page)[:-1]:
            loads[id_].flush()
        loaded(len(owners))
