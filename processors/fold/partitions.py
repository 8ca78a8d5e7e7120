"""Partitions come, change, move and go."""

from hive.names import TableName
from processors.fold.entries import delete, delete_below, put, replace
from processors.fold.work import Work
from processors.fold.write_ids import note_write
from state import entries, keys
from state.entries import Entry
from state.loads import Doubt
from state.records.actions import AlterPartition, DropPartitions, PutPartitions
from state.records.objects import PartitionImage
from state.tables import TableState


def put_partitions(work: Work, event: int, action: PutPartitions) -> None:
    name = action.table
    state = work.touch_table(name)
    watched = state.detailed or state.loads.open is not None
    for partition in action.partitions:
        key = keys.partition(name, partition.values)
        if watched:
            same = _columns_are(work, key, event, partition) and not action.truncates
            if action.added or not same:
                _end_statistics(work, name, state, event, partition.values, action.added)
        put(
            work,
            state.loads,
            key,
            event,
            partition.data,
            partition.write_id,
            partition.columns_hash,
        )
    note_write(work, name, state, event, action.write_id)


def alter_partition(work: Work, event: int, action: AlterPartition) -> None:
    name = action.table
    state = work.touch_table(name)
    partition = action.partition
    renamed = action.old != partition.values
    old = keys.partition(name, action.old)
    if state.detailed or state.loads.open is not None:
        same = _columns_are(work, old, event, partition) and not action.truncates
        if renamed or not same:
            _end_statistics(work, name, state, event, action.old, added=False)
        if renamed:
            _end_statistics(work, name, state, event, partition.values, added=False)
    entry = Entry(event, partition.data, partition.write_id, partition.columns_hash)
    if not replace(work, state.loads, old, event, entry, action.before):
        work.doubt_table(name, state, event, Doubt.CONFLICT)
    elif renamed:
        _move(work, state, old, keys.partition(name, partition.values), event)
    note_write(work, name, state, event, action.write_id)


def drop_partitions(work: Work, event: int, action: DropPartitions) -> None:
    name = action.table
    state = work.touch_table(name)
    watched = state.detailed or state.loads.open is not None
    for values in action.partitions:
        delete(work, state.loads, keys.partition(name, values), event)
        if watched:
            _end_statistics(work, name, state, event, values, added=True)
    note_write(work, name, state, event)


def _move(work: Work, state: TableState, old: bytes, new: bytes, event: int) -> None:
    """A partition has other values from this event on."""
    value = work.txn.get(old)
    if value is not None and entries.event_of(value) == event:
        entry = entries.decode(value)
        put(work, state.loads, new, event, entry.data, entry.write_id, entry.hash)
    delete(work, state.loads, old, event)


def _columns_are(work: Work, key: bytes, event: int, partition: PartitionImage) -> bool:
    """Whether the partition had these columns before the event, as far as is known."""
    old = work.txn.get(key)
    if old is None or not entries.is_live(old):
        return False
    return entries.event_of(old) > event or entries.hash_of(old) == partition.columns_hash


def _end_statistics(
    work: Work, name: TableName, state: TableState, event: int, values: tuple[str, ...], added: bool
) -> None:
    """The statistics of a partition end here: known to be none when it was added or dropped,
    and otherwise unknown, unless it had none to be changed."""
    prefix = keys.statistics_of_partition(name, values)
    found = delete_below(work, state.loads, prefix, event)
    if not added and (found or state.loads.open is not None):
        work.doubt_statistics(name, state, event, Doubt.REWRITTEN)
