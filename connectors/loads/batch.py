"""Several loads in one snapshot: they share statements, but each scope is a load of its own.

Every Begin is acknowledged before the snapshot is opened, so the fold keeps tombstones of what is
deleted between the two. The snapshot holds exactly the effects of the events up to its position.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import CompoundSelect, Engine, Select, func, null, select, tuple_, union_all
from sqlalchemy.exc import SQLAlchemyError

from connectors.loads import images
from connectors.loads.chunks import Load
from connectors.loads.end_gate import EndGate
from connectors.loads.sink import Sink
from connectors.log.last_event import LastEvent, read_last_event
from hive.errors import InputError, RefusedLoadError, SourceError, UnwritableRecordError
from hive.names import DatabaseName, TableName
from hive.reader.constraints import read_constraints
from hive.reader.databases import read_databases, read_functions
from hive.reader.driver_errors import driver_reason
from hive.reader.engines import connect_for_one_statement
from hive.reader.partitions import stream_partitions
from hive.reader.rows.partitions import StoredPartition
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.reader.statistics import OF_PARTITIONS, OF_TABLES, stream_statistics
from hive.reader.tables import Condition, named, read_tables, stream_names
from hive.reader.write_ids import read_write_ids
from hive.schema import Version, metadata, require_followed
from state.records import Scope, ScopeKind


class Database(NamedTuple):
    """The database that loads read."""

    engine: Engine
    version: Version


def find_database(engine: Engine) -> Database:
    """Reads the version of the database's schema and describes the database by it."""
    try:
        with engine.connect() as connection:
            return Database(engine, require_followed(connection))
    except SQLAlchemyError as error:
        raise unreadable(error) from error


def unreadable(error: SQLAlchemyError) -> SourceError:
    """The driver's error as a SourceError, in one line."""
    return SourceError(f"the metastore's database can't be read: {driver_reason(error)}")


CONTENT_ERRORS: Final = (SQLAlchemyError, InputError, UnicodeError, UnwritableRecordError)
"""The errors of a load that may be about what was to be loaded: `refusal` says whether they are."""


def refusal(database: Database, error: Exception) -> RefusedLoadError | SourceError:
    """The error of a load: about what was to be loaded if the database answers otherwise."""
    if not isinstance(error, SQLAlchemyError):
        return RefusedLoadError(str(error))
    fault = unreadable(error)
    try:
        with open_snapshot(*database):
            return RefusedLoadError(str(fault))
    except SQLAlchemyError:
        return fault


class BatchResult(NamedTuple):
    """The outcome of a batch."""

    last: LastEvent
    """The last event that the batch has seen."""
    loads: tuple[Load, ...]


def load(
    database: Database,
    sink: Sink,
    epoch: int,
    scopes: Sequence[Scope],
    loaded: Callable[[int], None] = lambda _: None,
    gate: EndGate | None = None,
) -> BatchResult:
    """Loads scopes, all of them different; `loaded` is called with the number of partitions of each
    page. The loads end when the gate lets them.

    Scopes of remote databases are left out. When it fails, the loads that it began never end, and
    their scopes stay cold until the next load.
    """
    assert len(set(scopes)) == len(scopes)
    elsewhere = _look_up(database, scopes)
    loads = {
        scope: Load(sink, epoch, uuid.uuid4().hex[:16], scope)
        for scope in scopes
        if scope.name.database not in elsewhere
    }
    for load in loads.values():
        load.begin()
    sink.flush()
    with open_snapshot(database.engine, database.version) as snapshot:
        last = read_last_event(snapshot) if gate is None else gate.see(snapshot)
        here = read(snapshot, loads, loaded)
    if gate is not None:
        gate.wait()
    for load in here.values():
        load.end(last)
    sink.flush()
    return BatchResult(last, tuple(here.values()))


def read(
    snapshot: DatabaseSnapshot,
    loads: dict[Scope, Load],
    loaded: Callable[[int], None] = lambda _: None,
) -> dict[Scope, Load]:
    """Reads the scopes and returns the loads that may end."""
    for load in loads.values():
        load.read_at(snapshot.position)
    elsewhere = _remote(snapshot, loads)
    here = {scope: load for scope, load in loads.items() if scope.name.database not in elsewhere}
    _read(snapshot, here, loaded)
    return here


def _look_up(database: Database, scopes: Iterable[Scope]) -> set[DatabaseName]:
    """Has the database look up the names, so that those which it can't even compare are refused
    before anything is written about them. Returns the remote databases, in the same statement.
    """
    schema = metadata(database.version).tables
    tbls, dbs = schema["TBLS"], schema["DBS"]
    names = sorted({scope.name for scope in scopes})
    columns = tuple_(dbs.c.CTLG_NAME, dbs.c.NAME, tbls.c.TBL_NAME)
    joined = tbls.join(dbs, tbls.c.DB_ID == dbs.c.DB_ID)
    database_columns, databases = (dbs.c.CTLG_NAME, dbs.c.NAME), _databases_of(scopes)
    tables = select(*database_columns, tbls.c.TBL_ID).select_from(joined).where(columns.in_(names))
    statement: Select[Any] | CompoundSelect[Any] = tables
    if databases and "TYPE" in dbs.c:
        is_remote = func.upper(dbs.c.TYPE) == "REMOTE"
        is_wanted = tuple_(*database_columns).in_(databases)
        remote = select(*database_columns, null()).where(is_remote, is_wanted)
        statement = union_all(tables, remote)
    with connect_for_one_statement(database.engine) as connection:
        rows = connection.execute(statement).all()
    return {
        DatabaseName(catalog.lower(), db.lower())
        for catalog, db, table_id in rows
        if table_id is None
    }


def read_table_alone(snapshot: DatabaseSnapshot, load: Load) -> None:
    """Reads a table with everything that belongs to it except its partitions."""
    name = load.scope.name
    _read_write_ids(snapshot, [(name, load)])
    _read_tables(snapshot, {name: load})
    load.flush()


def read_stretch(
    snapshot: DatabaseSnapshot,
    load: Load,
    table: int,
    first: int,
    last: int,
    loaded: Callable[[int], None],
) -> None:
    """Reads the partitions of a table whose ids are in a range."""
    ids = snapshot.tables["PARTITIONS"].c.PART_ID
    name = {table: load.scope.name}
    _read_partitions(snapshot, name, {table: load}, loaded, ids.between(first, last))
    load.flush()


def _remote(snapshot: DatabaseSnapshot, scopes: Iterable[Scope]) -> set[DatabaseName]:
    """The remote databases: their tables are in another metastore. Loads of those that have become
    remote since they were looked up never end."""
    names = _databases_of(scopes)
    if not names:
        return set()
    dbs = snapshot.tables["DBS"].c
    if "TYPE" not in dbs:
        return set()
    databases = read_databases(
        snapshot, dbs.TYPE != "NATIVE", tuple_(dbs.CTLG_NAME, dbs.NAME).in_(names)
    )
    return {database.name for database in databases if database.remote}


def _databases_of(scopes: Iterable[Scope]) -> list[tuple[str, str]]:
    return sorted({(scope.name.catalog, scope.name.db) for scope in scopes if scope.name.db})


def _read(
    snapshot: DatabaseSnapshot, loads: dict[Scope, Load], loaded: Callable[[int], None]
) -> None:
    of: dict[ScopeKind, dict[TableName, Load]] = {kind: {} for kind in ScopeKind}
    for scope, load in loads.items():
        of[scope.kind][scope.name] = load
    for name, load in of[ScopeKind.DATABASES].items():
        databases = read_databases(snapshot, snapshot.tables["DBS"].c.CTLG_NAME == name.catalog)
        load.add("databases", map(images.database_image, databases))
        load.flush()
    for name, load in of[ScopeKind.NAMES].items():
        _read_names(snapshot, name.database, load)
    _read_write_ids(snapshot, [*of[ScopeKind.WRITE_IDS].items(), *of[ScopeKind.TABLE].items()])
    for load in of[ScopeKind.WRITE_IDS].values():
        load.flush()
    if of[ScopeKind.TABLE]:
        names, by_id = _read_tables(snapshot, of[ScopeKind.TABLE])
        _read_partitions(snapshot, names, by_id, loaded)
        for load in of[ScopeKind.TABLE].values():
            load.flush()


def _read_names(snapshot: DatabaseSnapshot, db: DatabaseName, load: Load) -> None:
    where = named(snapshot, db)
    for names in stream_names(snapshot, *where):
        load.add("names", map(images.name_image, names))
    load.add("functions", map(images.function_image, read_functions(snapshot, *where)))
    load.flush()


def _read_write_ids(snapshot: DatabaseSnapshot, loads: Sequence[tuple[TableName, Load]]) -> None:
    rows = read_write_ids(snapshot, [name for name, _ in loads])
    for name, load in loads:
        load.add("write_ids", [images.write_ids_image(rows[name], snapshot.position)])


def _read_tables(
    snapshot: DatabaseSnapshot, loads: dict[TableName, Load]
) -> tuple[dict[int, TableName], dict[int, Load]]:
    """Reads tables; returns the names of the partitioned ones and the loads of all, by table id."""
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
                owner, partition = owners[column.owner]
                image = images.statistics_image(column, partition.values, partition.write_id)
                owner.add("statistics", [image])
        # Only the last table of a page continues in the next one.
        for id_ in list(page)[:-1]:
            loads[id_].flush()
        loaded(len(owners))
