"""Folds events of partitions."""

from hive.thrift.splice import lacking_serde_details, lacks_serde_details
from processors.fold import renamed_partitions
from processors.fold.deferred_events import defer
from processors.fold.entries import Replaced, reflects
from processors.fold.table_change import TableChange, change_of
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import note_write
from state import entries, keys
from state.entries import Entry, Mark
from state.loads import Doubt
from state.records.actions import AlterPartition, DropPartitions, PutPartitions
from state.records.objects import PartitionImage


def put_partitions(work: WorkingSet, event: int, action: PutPartitions) -> None:
    change = change_of(work, action.table, event)
    if action.added:
        _add_partitions(change, action)
    elif not defer(change, action):
        change_partitions(change, action)
    note_write(change, action.write_id)


def _add_partitions(change: TableChange, action: PutPartitions) -> None:
    """Stores added partitions; they are new, so whoever changes them later has read them."""
    state, is_watched = change.state, change.is_watched
    for partition in action.partitions:
        if is_watched:
            _end_statistics(change, partition.values, has_none=True)
        if state.doubtful:
            state.doubtful.pop(keys.named_values(partition.values), None)
        change.put(
            keys.partition(change.name, partition.values),
            partition.data,
            partition.write_id,
            partition.columns_hash,
            Mark.ORDERED,
        )


def change_partitions(change: TableChange, action: PutPartitions) -> None:
    """Folds ALTER_PARTITIONS: the event doesn't say what its writer had read, but the writer had
    locked the rows of the partitions if the event tells what was stored, and is no truncation.
    Which rows these are it had looked up before, maybe by values from before a rename."""
    work, event = change.work, change.event
    for partition in action.partitions:
        key = keys.partition(change.name, partition.values)
        is_misnamed = renamed_partitions.doubt(change, partition.values)
        same = _has_same_columns(work, key, event, partition) and not action.truncates
        if change.state.detailed and not same:
            _end_statistics(change, partition.values, has_none=False)
        # A truncation is stored before its event, in a transaction of its own.
        shows_stored = bool(partition.data) and not action.truncates and not is_misnamed
        entry = _entry(event, partition)
        locked = shows_stored and not _is_outdated(work, key, partition)
        if locked:
            entry = entry._replace(data=_as_marked(work, key, entry.data), mark=Mark.ORDERED)
        replaced = change.replace(key, entry, None)
        _doubt_unless_known(change, partition.values, replaced, ordered=locked)


def alter_partition(work: WorkingSet, event: int, action: AlterPartition) -> None:
    name = action.table
    change = change_of(work, name, event)
    if keys.named_values(action.old) != keys.named_values(action.partition.values):
        _rename_partition(change, action)
    elif not defer(change, action):
        change_partition(change, action)
    note_write(change, action.write_id)


def change_partition(change: TableChange, action: AlterPartition) -> None:
    """Folds an alter of a partition that keeps its values."""
    partition, event = action.partition, change.event
    key = keys.partition(change.name, partition.values)
    if change.state.detailed and (
        action.truncates or not _has_same_columns(change.work, key, event, partition)
    ):
        _end_statistics(change, partition.values, has_none=False)
    replaced = change.replace(key, _entry(event, partition), action.before)
    if replaced is not Replaced.WRITTEN:
        renamed_partitions.doubt(change, partition.values)
    _doubt_unless_known(change, partition.values, replaced)


def _doubt_unless_known(
    change: TableChange, values: tuple[str, ...], replaced: Replaced, *, ordered: bool = False
) -> None:
    """Puts a partition in doubt whose entry is missing: another writer changed it after a drop, or
    its state before was in doubt."""
    if replaced is Replaced.CONFLICT or (
        replaced is Replaced.ABSENT and change.state.loads.complete(change.work.head.floor)
    ):
        change.doubt_object(values, ordered=ordered)


def drop_partitions(work: WorkingSet, event: int, action: DropPartitions) -> None:
    change = change_of(work, action.table, event)
    # The rows of an open load show whether there were partitions of these values.
    if not (renamed_partitions.may_be_unknown(change) and defer(change, action)):
        remove_partitions(change, action)
    note_write(change)


def remove_partitions(change: TableChange, action: DropPartitions) -> None:
    """Deletes partitions as of the event."""
    state, is_watched = change.state, change.is_watched
    for values in action.partitions:
        if renamed_partitions.doubt(change, values):
            continue
        key = keys.partition(action.table, values)
        if not reflects(change.work, key, change.event):
            change.delete(key)
        if state.doubtful:
            state.doubtful.pop(keys.named_values(values), None)
        if is_watched:
            _end_statistics(change, values, has_none=True)


def _rename_partition(change: TableChange, action: AlterPartition) -> None:
    """Gives a partition other values; whether its statistics moved along is unknown.

    A load may have read it under the old values, the new ones, both or neither.
    """
    work, event, loads = change.work, change.event, change.state.loads
    name, partition = change.name, action.partition
    renamed_partitions.note(change, action.old, partition.values)
    had_statistics = False
    if change.is_watched:
        for values in (action.old, partition.values):
            had_statistics |= _end_statistics(change, values, has_none=False)
    old, new = keys.partition(name, action.old), keys.partition(name, partition.values)
    if loads.open is not None:
        change.doubt(Doubt.REWRITTEN)
    else:
        replaced = change.replace(old, _entry(event, partition), action.before)
        if replaced is Replaced.WRITTEN:
            work.txn.delete(old)
            if had_statistics:
                # Before 4.2, the metastore notes in the row afterwards which are accurate.
                change.doubt_object(partition.values)
                return
            change.put(new, partition.data, partition.write_id, partition.columns_hash)
            return
        renamed_partitions.doubt(change, action.old)
        if replaced is Replaced.INCLUDED and not loads.knows(event):
            # Whoever read the old name again later knows nothing of the new one.
            replaced = Replaced.ABSENT
        for values, key in ((action.old, old), (partition.values, new)):
            if not reflects(work, key, event):
                _doubt_unless_known(change, values, replaced)
    for key in (old, new):
        change.delete(key)


def _is_outdated(work: WorkingSet, key: bytes, partition: PartitionImage) -> bool:
    """Whether a newer write id was stored than the one that an alter sent: the metastore keeps the
    stored one if the caller sent no id, or no list of write ids."""
    old = entries.live(work.txn.get(key))
    return old is not None and max(partition.write_id, 0) < entries.decode(old).write_id


def _as_marked(work: WorkingSet, key: bytes, data: bytes) -> bytes:
    """Carries the old entry's mark of lacking serde details over to the new bytes."""
    old = work.txn.get(key)
    marked = old is not None and lacks_serde_details(old)
    return lacking_serde_details(data) if marked else data


def _entry(event: int, partition: PartitionImage) -> Entry:
    return Entry(event, partition.data, partition.write_id, partition.columns_hash)


def _has_same_columns(work: WorkingSet, key: bytes, event: int, partition: PartitionImage) -> bool:
    """Whether the partition is known to have had these columns before the event."""
    old = entries.live(work.txn.get(key))
    if old is None:
        return False
    return entries.event_of(old) >= event or entries.hash_of(old) == partition.columns_hash


def _end_statistics(change: TableChange, values: tuple[str, ...], *, has_none: bool) -> bool:
    """Deletes the statistics of a partition; returns whether there were any. One that was just
    added or dropped has none; otherwise they become unknown, unless there were none before."""
    had_statistics = change.delete_below(keys.statistics_of_partition(change.name, values))
    if not has_none and (had_statistics or change.state.loads.open is not None):
        change.doubt_statistics(Doubt.REWRITTEN)
    return had_statistics
