"""Events and records that make a whole shard, or much of it, unknown."""

from hive.names import TableName
from hive.write_ids.pages import WriteIdsCold
from processors.fold.table_change import change_of
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import forget
from state import keys, kv
from state.loads import Doubt
from state.records import Scope, ScopeKind, names_scope
from state.records.actions import Misnamed, Undecodable


def undecodable(work: WorkingSet, event: int, action: Undecodable) -> None:
    """Makes a table, or the whole shard, unknown: an event that can't be read may have done
    anything."""
    if action.table is None:
        break_chain(work, event)
    else:
        _doubt_all_of(work, event, action.table, Doubt.UNDECODABLE, WriteIdsCold.LOST_EVENTS)


def misnamed(work: WorkingSet, event: int, action: Misnamed) -> None:
    """Makes a table unknown: the event may have changed anything of it, or dropped it."""
    table = action.table
    if not action.hanging:
        _doubt_all_of(work, event, table, Doubt.CONFLICT, WriteIdsCold.RENAMED)
    elif work.table(table) is not None:
        change_of(work, table, event).doubt(Doubt.CONFLICT)


def _doubt_all_of(
    work: WorkingSet, event: int, table: TableName, doubt: Doubt, reason: WriteIdsCold
) -> None:
    """Makes a table unknown, and its name at the home shard of its database."""
    if work.table(table) is not None:
        change_of(work, table, event).doubt(doubt)
        forget(work, table, event, reason)
    key = keys.of_database(keys.NAMES_LOADS, table.database)
    names = work.loads.get(key)
    if names is not None:
        names.raise_floor(event, doubt)
        work.loads.put(key, names)
        work.signal(names_scope(table.database), event)


def break_chain(work: WorkingSet, event: int) -> None:
    """Makes the whole shard unknown up to an event: records before it are missing."""
    head = work.head
    head.floor = event
    # A new shard has missed what the log lost before it began: no writer is as old as that.
    if head.applied or head.renames_floor >= 0:
        head.renames_floor = event
    for table in list(work.table_names()):
        forget(work, table, event, WriteIdsCold.LOST_EVENTS)
    _ask_for_all(work, event)


def reset(work: WorkingSet, epoch: int, at: int, mark: int = 0) -> None:
    """Begins another history: its event ids can't be compared with those folded so far."""
    head = work.head
    head.epoch, head.applied, head.mark = epoch, at, mark
    _forget_all(work)


def skip(work: WorkingSet) -> None:
    """Passes over a record that can't be read: the shard doesn't serve until an operator has
    decided so again, for the record may have been a pause."""
    lose(work)
    work.head.paused = True


def lose(work: WorkingSet) -> None:
    """Notes that records are missing before the next one.

    They may have been anything. Events show as a gap in the intervals. But there may also have been
    a table's old name, a part of a load, or an order; so nothing known is kept.
    """
    _forget_all(work)


def _forget_all(work: WorkingSet) -> None:
    """Deletes all that is known. What is read is asked for by its readers: whatever is asked for
    without one would be loaded before it."""
    head = work.head
    head.floor = head.lists_floor = head.renames_floor = head.applied
    head.loads_open = head.ended_count = 0
    work.forget()
    for kind in keys.KINDS:
        kv.delete_prefix(work.txn, kind)


def _ask_for_all(work: WorkingSet, floor: int) -> None:
    for table in work.table_names():
        work.signal(Scope(ScopeKind.TABLE, table), floor)
    for prefix, kind in (
        (keys.NAMES_LOADS, ScopeKind.NAMES),
        (keys.CATALOG_LOADS, ScopeKind.DATABASES),
    ):
        for key, _ in kv.scan_prefix(work.txn, prefix):
            catalog, db = (*keys.split_texts(key[1:]), "")[:2]
            work.signal(Scope(kind, TableName(catalog, db, "")), floor)
