"""Folds databases, which every shard holds."""

from hive.names import DatabaseName
from hive.write_ids.pages import WriteIdsCold
from processors.fold.entries import Replaced, clear, delete, put, replace
from processors.fold.tables import drop_table
from processors.fold.working_set import WorkingSet
from state import keys
from state.entries import Entry
from state.loads import Doubt
from state.records import databases_scope
from state.records.actions import DropDatabase, PutDatabase


def put_database(work: WorkingSet, event: int, action: PutDatabase) -> None:
    name, data = action.database.name, action.database.data
    loads = work.databases_of(name.catalog)
    key = keys.of_database(keys.DATABASE, name)
    if not action.altered:
        put(work, loads, key, event, data)
        return
    replaced = replace(work, loads, key, Entry(event, data), action.before)
    if loads.begun and replaced in (Replaced.CONFLICT, Replaced.ABSENT):
        loads.raise_floor(event, Doubt.CONFLICT)
        work.signal(databases_scope(name.catalog), event)


def drop_database(work: WorkingSet, event: int, action: DropDatabase) -> None:
    """Deletes a database and everything in it, whatever earlier events said of its tables."""
    key = keys.of_database(keys.DATABASE, action.name)
    delete(work, work.databases_of(action.name.catalog), key, event)
    for table in list(work.table_names(keys.of_database(keys.TABLE_STATE, action.name))):
        drop_table(work, event, table, WriteIdsCold.DROPPED)
    _drop_names(work, event, action.name)


def _drop_names(work: WorkingSet, event: int, db: DatabaseName) -> None:
    key = keys.of_database(keys.NAMES_LOADS, db)
    loads = work.loads.get(key)
    if loads is None:
        return
    for kind in keys.OF_NAMES:
        clear(work, loads, keys.of_database(kind, db), event)
    if loads.open is None and not loads.may_include(event):
        work.loads.put(key, None)
    else:
        loads.raise_floor(event, Doubt.DROPPED)
        work.loads.put(key, loads)
