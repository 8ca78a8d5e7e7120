"""Folds the names of a database's tables, and its functions, at its home shard."""

from processors.fold.entries import clear, delete, put, reflects
from processors.fold.working_set import WorkingSet
from state import entries, keys
from state.loads import Doubt, Loads
from state.records import names_scope
from state.records.actions import CreateNames, DropFunction, DropName, PutFunction, PutName
from state.records.objects import NameImage
from state.stored_values import name_data


def note_type(loads: Loads, event: int, image: NameImage) -> None:
    """Notes a name whose type may change without an event."""
    if not image.type:
        loads.silent_at = max(loads.silent_at, event)


def create_names(work: WorkingSet, event: int, action: CreateNames) -> None:
    loads = work.names_of(action.db)
    for kind in keys.OF_NAMES:
        clear(work, loads, keys.of_database(kind, action.db), event)
    loads.created(event)


def put_name(work: WorkingSet, event: int, action: PutName) -> None:
    key, data = keys.name(action.db, action.name.table), name_data(action.name)
    loads = work.names_of(action.db)
    note_type(loads, event, action.name)
    if action.altered and action.before is None:
        loads.moved_at = event
    if not action.altered or _is_sure(work, loads, event, action, data):
        put(work, loads, key, event, data)
        return
    delete(work, loads, key, event)
    if not loads.begun:
        return
    loads.raise_floor(event, Doubt.CONFLICT)
    work.signal(names_scope(action.db), event)


def _is_sure(work: WorkingSet, loads: Loads, event: int, action: PutName, data: bytes) -> bool:
    """Whether an alter's line is certain: its writer has read the line stored here, or a load or an
    entry already reflects what it says."""
    if loads.knows(event) or reflects(work, keys.name(action.db, action.name.table), event):
        return True
    if action.before is None:
        return False
    entry = entries.live(work.txn.get(keys.name(action.db, action.before.table)))
    if entry is None:
        return False
    if action.before.table == action.name.table and entries.data_of(entry) == data:
        return True
    return entries.data_of(entry) == name_data(action.before)


def drop_name(work: WorkingSet, event: int, action: DropName) -> None:
    delete(work, work.names_of(action.db), keys.name(action.db, action.table), event)


def put_function(work: WorkingSet, event: int, action: PutFunction) -> None:
    key = keys.function(action.db, action.function.name)
    put(work, work.names_of(action.db), key, event, action.function.data)


def drop_function(work: WorkingSet, event: int, action: DropFunction) -> None:
    delete(work, work.names_of(action.db), keys.function(action.db, action.function), event)
