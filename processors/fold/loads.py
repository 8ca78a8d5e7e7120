"""Folds loads: rows of the metastore's database, in records between those of events.

A scope is cold from its load's Begin to its End. Rows count as of `lo` and give way to newer
events; the End deletes what the load should have brought but didn't.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hive.names import DatabaseName, TableName
from processors.fold import partitions, statistics, tables, truncations
from processors.fold.deferred_events import take_deferred
from processors.fold.entries import delete_upto, put_row, sweep
from processors.fold.names import note_type
from processors.fold.statistics import statistics_guard, statistics_key
from processors.fold.table_change import TableChange
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import PENDING_MAX, doubt_overtaken, ended_ids, merge
from state import entries, keys
from state.loads import Doubt, EndedLoad, Loads
from state.records import LoadBegin, LoadEnd, LoadRows, Rows, Scope, ScopeKind, actions
from state.records.objects import PartitionImage, WriteIdsImage
from state.stored_values import constraint_data, name_data, statistics_data
from state.tables import UNKNOWN_IDS, TableState

DEFERRED: Final[dict[type, Callable[[TableChange, Any], None]]] = {
    actions.AlterTable: tables.change_table,
    actions.AlterPartition: partitions.change_partition,
    actions.PutPartitions: partitions.change_partitions,
    actions.DropPartitions: partitions.remove_partitions,
    actions.PutTableStatistics: statistics.change_table,
    actions.PutPartitionStatistics: statistics.change_partition,
}


class Target(NamedTuple):
    """The part of this shard that a load concerns."""

    loads: Loads
    prefixes: tuple[bytes, ...]
    """The prefixes of its objects' keys."""
    table: TableState | None = None


def begin(work: WorkingSet, record: LoadBegin) -> None:
    scope = record.scope
    if scope.kind is ScopeKind.OBJECTS:
        return
    if _is_table(scope) and not work.lists.allow(scope.name):
        return
    first = scope.kind is ScopeKind.TABLE and work.table(scope.name) is None
    target = _target(work, scope)
    loads = target.loads
    if record.load in (loads.open and loads.open.id, loads.ended and loads.ended.id):
        return
    _delete_unended(work, target)
    work.open_load(loads, record.load, first=first)
    if target.table is not None:
        work.write_ids(scope.name).begin_load(work.head.applied)


def _delete_unended(work: WorkingSet, target: Target) -> None:
    """Deletes the rows of loads that never ended, and what events made of them.

    The database may have lost the event at which they were read. The new load may be of another
    event with the same id, and its End couldn't tell their rows from its own.
    """
    loads = target.loads
    if loads.unended_row:
        for prefix in target.prefixes:
            delete_upto(work, prefix, loads.newest_row)
        loads.unended_row = 0


def rows(work: WorkingSet, record: LoadRows) -> None:
    target = _open_target(work, record)
    if target is None:
        return
    loads = target.loads
    assert loads.open is not None
    if not loads.open.take(record.number):
        return
    for image in record.rows.write_ids:
        loads.open.write_ids = image
    if record.lo < max(loads.floor, work.head.floor, loads.open.applied):
        return
    loads.newest_row = max(loads.newest_row, record.lo)
    loads.unended_row = max(loads.unended_row, record.lo)
    name = record.scope.name
    match record.scope.kind:
        case ScopeKind.TABLE:
            assert target.table is not None
            _put_table_rows(work, name, target.table, record.lo, record.rows)
        case ScopeKind.NAMES:
            _put_name_rows(work, name.database, record.lo, record.rows)
        case ScopeKind.DATABASES:
            for database in record.rows.databases:
                put_row(
                    work, keys.of_database(keys.DATABASE, database.name), record.lo, database.data
                )


def end(work: WorkingSet, record: LoadEnd) -> None:
    target = _open_target(work, record)
    if target is None:
        return
    loads, lo = target.loads, record.lo
    assert loads.open is not None
    opened = loads.open
    complete = opened.next == record.chunks and not opened.early and lo >= opened.applied
    ended = ended_ids(work, opened.write_ids) if opened.write_ids is not None else []
    if target.table is not None:
        # The ends of transactions are kept as long as a load is open.
        _end_write_ids(work, record, target.table, opened.write_ids if complete else None)
    work.close_load(loads)
    usable = complete and lo >= max(loads.floor, work.head.floor)
    if opened.may_leave(lo):
        for prefix in target.prefixes:
            sweep(work, prefix, lo if usable else 0)
    if usable:
        loads.newest_row, loads.unended_row = max(loads.newest_row, lo), 0
    if complete:
        loads.ended = EndedLoad(record.load, lo, record.hi)
    else:
        loads.ended = None
        loads.doubt = Doubt.VOID_LOAD
    if not usable:
        work.signal(record.scope, max(loads.floor, work.head.floor))
    if target.table is not None and record.scope.kind is ScopeKind.TABLE:
        if usable:
            _settle_table(work, record.scope.name, target.table, ended)
        _fold_deferred(work, record.scope.name, target.table)


def _settle_table(
    work: WorkingSet, name: TableName, state: TableState, ended: Sequence[int]
) -> None:
    """Brings the state of a table up to what a load of it has shown. `ended` are the write ids that
    it read as open, and whose transactions have ended since."""
    # While it was open, no object came into doubt alone.
    state.doubtful.clear()
    if work.txn.get(keys.of_table(keys.TABLE, name)) is None:
        state.id = 0
    truncations.look(work, name, state)
    for write_id in ended:
        doubt_overtaken(work, name, work.head.applied, write_id)


def _fold_deferred(work: WorkingSet, name: TableName, state: TableState) -> None:
    """Folds what events that came while the load was open change in its rows."""
    for event, action in take_deferred(work, name):
        DEFERRED[type(action)](TableChange(work, name, state, event), action)


def _end_write_ids(
    work: WorkingSet, record: LoadEnd, state: TableState, image: WriteIdsImage | None
) -> None:
    name = record.scope.name
    ids = work.write_ids(name)
    if record.scope.kind is ScopeKind.TABLE:
        # Writes before the load, such as a dropped partition, have left no write id.
        state.pending_upto = UNKNOWN_IDS
    if image is not None:
        merge(work, name, image, record.lo, record.hi)
    alone = state.loads.open is None or state.ids_loads.open is None
    if ids.loading and alone:
        ids.end_load()
    if not (ids.cold or ids.loading):
        is_unsaid = state.pending_upto > ids.hwm and not state.partitioned
        if is_unsaid and ids.open_count <= PENDING_MAX:
            # Whoever holds an open id may have written.
            state.pending = sorted({*state.pending, *ids.open_ids()})
        # By now the list has all ids that were open at any write, whichever load brought it.
        state.pending_upto = min(state.pending_upto, ids.hwm)
        state.drop_ended(ids)


def _is_table(scope: Scope) -> bool:
    return scope.kind in (ScopeKind.TABLE, ScopeKind.WRITE_IDS)


def _target(work: WorkingSet, scope: Scope) -> Target:
    name = scope.name
    match scope.kind:
        case ScopeKind.TABLE:
            state = work.touch_state(name)
            prefixes = tuple(keys.of_table(kind, name) for kind in keys.OF_TABLE)
            return Target(state.loads, prefixes, state)
        case ScopeKind.WRITE_IDS:
            state = work.touch_state(name)
            return Target(state.ids_loads, (), state)
        case ScopeKind.NAMES:
            db = name.database
            prefixes = tuple(keys.of_database(kind, db) for kind in keys.OF_NAMES)
            return Target(work.names_of(db), prefixes)
    assert scope.kind is ScopeKind.DATABASES, "objects are reread, they have no loads"
    prefix = keys.of_catalog(keys.DATABASE, name.catalog)
    return Target(work.databases_of(name.catalog), (prefix,))


def _open_target(work: WorkingSet, record: LoadRows | LoadEnd) -> Target | None:
    """The target of a load; None if another load is open, or none. A load that has read less than
    one before it doesn't count."""
    if record.scope.kind is ScopeKind.OBJECTS:
        return None
    if _is_table(record.scope) and work.table(record.scope.name) is None:
        return None
    target = _target(work, record.scope)
    opened = target.loads.open
    if opened is None or opened.id != record.load:
        return None
    if record.lo < opened.row_before:
        target.loads.raise_floor(opened.row_before, Doubt.VOID_LOAD)
    return target


def _put_table_rows(
    work: WorkingSet, name: TableName, state: TableState, lo: int, rows: Rows
) -> None:
    assert state.loads.open is not None
    compare = state.loads.open.take_rows(lo)
    for table in rows.tables:
        if put_row(work, keys.of_table(keys.TABLE, name), lo, table.data, table.write_id):
            state.describe(table)
    _put_partition_rows(work, name, state, lo, rows.partitions, compare=compare)
    state.detailed = state.detailed or bool(rows.statistics or rows.constraints)
    if lo >= state.statistics_floor:
        for column in rows.statistics:
            key, guard = statistics_key(name, column), statistics_guard(name, column.values)
            data = statistics_data(column)
            put_row(
                work, key, lo, data, column.write_id, column.fields, guard=guard, compare=compare
            )
    for constraint in rows.constraints:
        key = keys.constraint(name, constraint.name, constraint.kind)
        guard = keys.constraint_named(name, constraint.name)
        put_row(work, key, lo, constraint_data(constraint), guard=guard, compare=compare)


def _put_partition_rows(
    work: WorkingSet,
    name: TableName,
    state: TableState,
    lo: int,
    partitions: Sequence[PartitionImage],
    *,
    compare: bool,
) -> None:
    all_keys = keys.partitions(name, [partition.values for partition in partitions])
    if not compare:
        values = (
            entries.encode(lo, partition.data, partition.write_id, partition.columns_hash)
            for partition in partitions
        )
        work.txn.put_all(zip(all_keys, values, strict=True))
        return
    floor = max(state.loads.floor, work.head.floor)
    for key, partition in zip(all_keys, partitions, strict=True):
        write_id, columns_hash = partition.write_id, partition.columns_hash
        put_row(work, key, lo, partition.data, write_id, columns_hash, floor=floor)


def _put_name_rows(work: WorkingSet, db: DatabaseName, lo: int, rows: Rows) -> None:
    loads = work.names_of(db)
    for image in rows.names:
        note_type(loads, lo, image)
        put_row(work, keys.name(db, image.table), lo, name_data(image))
    for function in rows.functions:
        put_row(work, keys.function(db, function.name), lo, function.data)
