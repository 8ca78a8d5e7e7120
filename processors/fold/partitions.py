"""Partitions come, change, move and go."""

from hive.names import TableName
from processors.fold.entries import delete, delete_below, put
from processors.fold.work import Work
from processors.fold.write_ids import note_write
from state import entries, keys
from state.loads import Doubt
from state.records.actions import DropPartitions, PutPartitions, RenamePartition
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


def rename_partition(work: Work, event: int, action: RenamePartition) -> None:
    name = action.table
    state = work.touch_table(name)
    partition = action.partition
    if state.detailed or state.loads.open is not None:
        _end_statistics(work, name, state, event, action.old, added=False)
        _end_statistics(work, name, state, event, partition.values, added=False)
    delete(work, state.loads, keys.partition(name, action.old), event)
    key = keys.partition(name, partition.values)
    put(work, state.loads, key, event, partition.data, partition.write_id, partition.columns_hash)
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
