"""Folds events of tables."""

from hive.names import TableName
from hive.write_ids.pages import WriteIdsCold
from processors.fold import renamed_partitions, truncations
from processors.fold.deferred_events import defer, take_deferred
from processors.fold.entries import Replaced
from processors.fold.table_change import TableChange, change_of
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import forget, note_write, signal_ids
from state import keys, kv
from state.entries import Entry
from state.loads import Doubt
from state.records import ResetTable, Scope, ScopeKind
from state.records.actions import AlterTable, CreateTable, DropTable, RenameTable, Side
from state.tables import TABLE_ROW, FormerName, TableState


def create(work: WorkingSet, event: int, action: CreateTable) -> None:
    name = action.table.name
    change = change_of(work, name, event)
    state = change.state
    change.clear(keys.OF_TABLE)
    _end_events(change)
    change.put(keys.of_table(keys.TABLE, name), action.table.data, action.table.write_id)
    if not state.loads.may_include(event):
        state.describe(action.table)
        state.detailed = False
    state.loads.created(event)
    if action.table.managed and work.write_ids(name).cold:
        signal_ids(work, name, event)
    note_write(change, action.table.write_id)


def alter(work: WorkingSet, event: int, action: AlterTable) -> None:
    change = change_of(work, action.table.name, event)
    if not defer(change, action):
        change_table(change, action)
    note_write(change, action.table.write_id)


def change_table(change: TableChange, action: AlterTable) -> None:
    """Folds an alter of a table and its effects on everything below the table."""
    image, work, name = action.table, change.work, change.name
    state, event = change.state, change.event
    entry = Entry(event, image.data, image.write_id)
    replaced = change.replace(keys.of_table(keys.TABLE, name), entry, action.before)
    if replaced is Replaced.CONFLICT or TABLE_ROW in state.doubtful:
        change.doubt_object(TABLE_ROW)
    if image.managed and not state.managed:
        # A converted table's write ids begin far above those of the transactions that convert it.
        forget(work, name, event, WriteIdsCold.CONVERTED)
        signal_ids(work, name, event)
    if not state.loads.may_include(event):
        state.describe(image)
    truncations.note(state, event, action)
    truncations.look(work, name, state)
    if action.rewrites and not _bare(work, state):
        change.clear(keys.BELOW_TABLE)
        if state.detailed and not image.managed:
            # Before 4.2, the metastore adds to the row afterwards which statistics are accurate.
            state.loads.newest_row = max(state.loads.newest_row, event)
        change.doubt(Doubt.REWRITTEN)
    elif action.truncates and state.detailed:
        change.clear((keys.TABLE_STATISTICS, keys.PARTITION_STATISTICS))
        change.doubt_statistics(Doubt.TRUNCATED)


def rename(work: WorkingSet, event: int, action: RenameTable) -> None:
    name = action.table.name
    if action.sides & Side.OLD:
        drop_table(work, event, action.old, WriteIdsCold.RENAMED)
    if action.sides & Side.NEW and work.lists.allow(name):
        change = change_of(work, name, event)
        state = change.state
        change.clear(keys.OF_TABLE)
        _end_events(change)
        for former in (*action.former, action.old):
            state.note_former_name(FormerName(former, event))
        if not state.loads.may_include(event):
            state.describe(action.table)
        state.pending = []
        forget(work, name, event, WriteIdsCold.RENAMED)
        change.doubt(Doubt.RENAMED)


def drop(work: WorkingSet, event: int, action: DropTable) -> None:
    drop_table(work, event, action.table, WriteIdsCold.DROPPED)


def drop_table(work: WorkingSet, event: int, name: TableName, reason: WriteIdsCold) -> None:
    """Deletes everything of this name up to the event; what a load read later stays."""
    if work.table(name) is None:
        return
    change = change_of(work, name, event)
    state = change.state
    change.clear(keys.OF_TABLE)
    renamed_partitions.forget(work, name)
    _end_events(change)
    forget(work, name, event, reason)
    state.pending = []
    if not state.loads.may_include(event):
        state.id = 0
    loads, ids_loads = state.loads, state.ids_loads
    if loads.open is None and ids_loads.open is None and not loads.may_include(event):
        # No floor is needed: the `lo` of a load is read after its Begin was written, so whatever
        # begins from here on reads the effects of this event too.
        forget_table(work, name)
    else:
        loads.raise_floor(event, Doubt.DROPPED)


def forget_table(work: WorkingSet, name: TableName) -> None:
    """Deletes all that is known under a name, but for what its partitions were called."""
    state = work.touch_table(name)
    for loads in (state.loads, state.ids_loads):
        if loads.open is not None:
            work.close_load(loads)
    for kind in (*keys.OF_TABLE, keys.DEFERRED):
        kv.delete_prefix(work.txn, keys.of_table(kind, name))
    work.forget_write_ids(name)
    work.forget_table(name)


def reset(work: WorkingSet, record: ResetTable) -> None:
    """Deletes a table that an operator doubts, and what an open load would bring.

    The fault may be as new as the last event, so nothing of the table can be kept. But what it and
    its partitions were called before renames is: late events may come by those names after the next
    load. So is a truncation, which the next load may still read before it is stored.
    """
    name, current = record.table, work.table(record.table)
    if current is None or current.loads.knows(record.at + 1):
        return
    for event, action in take_deferred(work, name):
        if isinstance(action, AlterTable):
            truncations.note(current, event, action)
    forget_table(work, name)
    state = work.touch_table(name)
    state.former_names, state.partitions_renamed = current.former_names, current.partitions_renamed
    state.truncation = current.truncation
    for loads in (state.loads, state.ids_loads):
        loads.raise_floor(record.at, Doubt.RESET)
    if record.load:
        work.signal(Scope(ScopeKind.TABLE, name), record.at)


def _end_events(change: TableChange) -> None:
    """Drops what events of a table that has gone have left to be done; what a load has left that
    read later stays."""
    state = change.state
    if state.loads.knows(change.event):
        return
    state.doubtful.clear()
    state.truncation = None
    if state.loads.open is not None:
        take_deferred(change.work, change.name)


def _bare(work: WorkingSet, state: TableState) -> bool:
    """Whether the table is fully known and has nothing below it that could be rewritten."""
    warm = state.cold(work.head.applied, work.head.floor) is None
    return warm and not state.partitioned and not state.detailed
