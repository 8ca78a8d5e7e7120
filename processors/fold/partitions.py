"""Partitions come, change, move and go."""

from hive.names import TableName
from hive.thrift.splice import lacking_serde_details, lacks_serde_details
from processors.fold.deferred_events import defer
from processors.fold.entries import Replaced, delete, delete_below, put, reflects, replace
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import note_write
from state import entries, keys
from state.entries import Entry, Mark
from state.loads import Doubt
from state.records.actions import AlterPartition, DropPartitions, PutPartitions
from state.records.objects import PartitionImage
from state.tables import TableState


def put_partitions(work: WorkingSet, event: int, action: PutPartitions) -> None:
    name = action.table
    state = work.touch_table(name)
    if action.added:
        _add_partitions(work, event, action)
    elif not defer(work, name, state, event, action):
        change_partitions(work, event, action)
    note_write(work, name, state, event, action.write_id)


def _add_partitions(work: WorkingSet, event: int, action: PutPartitions) -> None:
    """They weren't there before, so whoever changes them from here on has read them so."""
    name = action.table
    state = work.touch_table(name)
    watched = state.detailed or state.loads.open is not None
    for partition in action.partitions:
        if watched:
            _end_statistics(work, name, state, event, partition.values, added=True)
        if state.doubtful:
            state.doubtful.pop(keys.named_values(partition.values), None)
        put(
            work,
            state.loads,
            keys.partition(name, partition.values),
            event,
            partition.data,
            partition.write_id,
            partition.columns_hash,
            Mark.ORDERED,
        )


def change_partitions(work: WorkingSet, event: int, action: PutPartitions) -> None:
    """What ALTER_PARTITIONS does: the event doesn't tell what its writer had read, but that it held
    the rows of the partitions."""
    name = action.table
    state = work.touch_table(name)
    for partition in action.partitions:
        key = keys.partition(name, partition.values)
        same = _columns_are(work, key, event, partition) and not action.truncates
        if state.detailed and not same:
            _end_statistics(work, name, state, event, partition.values, added=False)
        data = _as_marked(work, key, partition.data)
        entry = _entry(event, partition)._replace(data=data, mark=Mark.ORDERED)
        replaced = replace(work, state.loads, key, event, entry, None)
        _doubt_unless_known(work, name, state, event, partition.values, replaced, ordered=True)


def alter_partition(work: WorkingSet, event: int, action: AlterPartition) -> None:
    name = action.table
    state = work.touch_table(name)
    if action.old != action.partition.values:
        _rename_partition(work, event, action)
    elif not defer(work, name, state, event, action):
        change_partition(work, event, action)
    note_write(work, name, state, event, action.write_id)


def change_partition(work: WorkingSet, event: int, action: AlterPartition) -> None:
    """What an alter does to a partition that keeps its values."""
    name, partition = action.table, action.partition
    state = work.touch_table(name)
    key = keys.partition(name, partition.values)
    if state.detailed and (action.truncates or not _columns_are(work, key, event, partition)):
        _end_statistics(work, name, state, event, partition.values, added=False)
    replaced = replace(work, state.loads, key, event, _entry(event, partition), action.before)
    _doubt_unless_known(work, name, state, event, partition.values, replaced)


def _doubt_unless_known(
    work: WorkingSet,
    name: TableName,
    state: TableState,
    event: int,
    values: tuple[str, ...],
    replaced: Replaced,
    *,
    ordered: bool = False,
) -> None:
    """A change of a partition that isn't there, as far as is known, is another's write over a drop,
    or the state before was in doubt."""
    if replaced is Replaced.CONFLICT or (
        replaced is Replaced.ABSENT and state.loads.complete(work.head.floor)
    ):
        work.doubt_object(name, state, event, values, ordered=ordered)


def drop_partitions(work: WorkingSet, event: int, action: DropPartitions) -> None:
    name = action.table
    state = work.touch_table(name)
    watched = state.detailed or state.loads.open is not None
    for values in action.partitions:
        delete(work, state.loads, keys.partition(name, values), event)
        if state.doubtful:
            state.doubtful.pop(keys.named_values(values), None)
        if watched:
            _end_statistics(work, name, state, event, values, added=True)
    note_write(work, name, state, event)


def _rename_partition(work: WorkingSet, event: int, action: AlterPartition) -> None:
    """A partition has other values from this event on; its statistics may have moved or not.

    A load may have read it under the old values, the new ones, both or neither.
    """
    name, partition = action.table, action.partition
    state = work.touch_table(name)
    loads = state.loads
    if state.detailed or loads.open is not None:
        for values in (action.old, partition.values):
            _end_statistics(work, name, state, event, values, added=False)
    old, new = keys.partition(name, action.old), keys.partition(name, partition.values)
    if loads.open is not None:
        work.doubt_table(name, state, event, Doubt.REWRITTEN)
    else:
        replaced = replace(work, loads, old, event, _entry(event, partition), action.before)
        if replaced is Replaced.WRITTEN:
            put(work, loads, new, event, partition.data, partition.write_id, partition.columns_hash)
            work.txn.delete(old)
            return
        for values, key in ((action.old, old), (partition.values, new)):
            if not reflects(work, key, event):
                _doubt_unless_known(work, name, state, event, values, replaced)
    for key in (old, new):
        delete(work, loads, key, event)


def _as_marked(work: WorkingSet, key: bytes, data: bytes) -> bytes:
    """Altered with others, a partition keeps what a serde has beside all that is listed."""
    old = work.txn.get(key)
    marked = old is not None and lacks_serde_details(old)
    return lacking_serde_details(data) if marked else data


def _entry(event: int, partition: PartitionImage) -> Entry:
    return Entry(event, partition.data, partition.write_id, partition.columns_hash)


def _columns_are(work: WorkingSet, key: bytes, event: int, partition: PartitionImage) -> bool:
    """Whether the partition had these columns before the event, as far as is known."""
    old = work.txn.get(key)
    if old is None or not entries.is_live(old):
        return False
    return entries.event_of(old) >= event or entries.hash_of(old) == partition.columns_hash


def _end_statistics(
    work: WorkingSet,
    name: TableName,
    state: TableState,
    event: int,
    values: tuple[str, ...],
    added: bool,
) -> None:
    """The statistics of a partition end here: known to be none when it was added or dropped,
    and otherwise unknown, unless it had none to be changed."""
    prefix = keys.statistics_of_partition(name, values)
    found = delete_below(work, state.loads, prefix, event)
    if not added and (found or state.loads.open is not None):
        work.doubt_statistics(name, state, event, Doubt.REWRITTEN)
