"""Folds column statistics: events name some columns, and the parameters that changed with them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hive.errors import ThriftError
from hive.events.accuracy import after_statistics, is_of_many
from hive.names import TableName
from hive.thrift.binary import decode
from hive.thrift.binary import replaced as replaced_fields
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import Struct
from hive.thrift.view import View
from processors.fold import renamed_partitions
from processors.fold.deferred_events import defer
from processors.fold.entries import Replaced, delete_below
from processors.fold.table_change import TableChange, change_of
from processors.fold.working_set import WorkingSet
from processors.fold.write_ids import note_write
from state import entries, keys
from state.entries import Entry, Mark
from state.loads import Doubt
from state.records.actions import DropStatistics, PutPartitionStatistics, PutTableStatistics
from state.records.objects import INCOMPLETE_FIELDS, ColumnStatisticsImage, fingerprint
from state.stored_values import ANALYZED_BYTES, statistics_data
from state.tables import TABLE_ROW

_COLUMN_TYPE: Final = 2


def statistics_key(name: TableName, image: ColumnStatisticsImage) -> bytes:
    """The key of one column's statistics, of the table or of a partition."""
    if image.values is None:
        return keys.table_statistics(name, image.engine, image.column)
    return keys.partition_statistics(name, image.values, image.engine, image.column)


def statistics_guard(name: TableName, values: tuple[str, ...] | None) -> bytes:
    """The key whose tombstone marks all of these statistics as deleted."""
    if values is None:
        return keys.of_table(keys.TABLE_STATISTICS, name)
    return keys.statistics_of_partition(name, values)


def put_table_statistics(work: WorkingSet, event: int, action: PutTableStatistics) -> None:
    change = change_of(work, action.table, event)
    _put_columns(change, action.columns)
    if not defer(change, action):
        change_table(change, action)
    note_write(change, action.write_id)


def change_table(change: TableChange, action: PutTableStatistics) -> None:
    """Applies what new statistics change in the table itself."""
    event = change.event
    key = keys.of_table(keys.TABLE, change.name)
    value = entries.live(change.work.txn.get(key))
    entry = before = None
    if value is not None:
        stored = entries.decode(value)
        entry = _table_with_statistics(stored, event, action)
        before = None if entry is None else fingerprint(stored.data)
    replaced = change.replace(key, entry or Entry(event, b""), before)
    if replaced is Replaced.CONFLICT or TABLE_ROW in change.state.doubtful:
        change.doubt_object(TABLE_ROW)
        change.doubt_statistics(Doubt.CONFLICT)


def _table_with_statistics(stored: Entry, event: int, action: PutTableStatistics) -> Entry | None:
    """A table after its statistics were written; None where the event doesn't show that, or where
    its image, taken after the write, isn't what the stored table becomes by the write."""
    image = action.image
    if image is None:
        return None
    try:
        parameters = decode(TABLE, image.data).get("parameters", {})
    except ThriftError:
        return None
    entry = _with_statistics(TABLE, stored, event, action, parameters, transactional=image.managed)
    return entry if entry is not None and entry.data == image.data else None


def put_partition_statistics(work: WorkingSet, event: int, action: PutPartitionStatistics) -> None:
    change = change_of(work, action.table, event)
    _put_columns(change, action.columns)
    if not defer(change, action):
        change_partition(change, action)
    note_write(change, action.write_id)


def change_partition(change: TableChange, action: PutPartitionStatistics) -> None:
    """Folds the effect of new statistics on the partition itself."""
    work, loads, event = change.work, change.state.loads, change.event
    key = keys.partition(change.name, action.values)
    value = entries.live(work.txn.get(key))
    is_misnamed = renamed_partitions.doubt(change, action.values)
    if value is None or is_misnamed:
        if loads.complete(work.head.floor) and not loads.knows(event):
            _doubt_partition(change, action.values)
        return
    stored = entries.decode(value)
    entry = _partition_with_statistics(stored, event, action)
    before = None if entry is None else fingerprint(stored.data)
    replaced = change.replace(key, entry or Entry(event, b""), before)
    if replaced is Replaced.CONFLICT:
        _doubt_partition(change, action.values)


def _partition_with_statistics(
    stored: Entry, event: int, action: PutPartitionStatistics
) -> Entry | None:
    """A partition after its statistics were written; None when the event doesn't show that."""
    parameters, transactional = action.parameters, action.transactional
    if parameters is None or transactional is None:
        return None
    if transactional and action.write_id <= 0 < stored.write_id:
        # A metastore stores the missing id, unless its transactional statistics are off.
        return None
    entry = _with_statistics(
        PARTITION, stored, event, action, parameters, transactional=transactional
    )
    if entry is None or not is_of_many(parameters):
        return entry
    return entry._replace(mark=Mark.ORDERED)


def _with_statistics(
    struct: Struct,
    stored: Entry,
    event: int,
    action: PutTableStatistics | PutPartitionStatistics,
    parameters: Mapping[str, str],
    *,
    transactional: bool,
) -> Entry | None:
    """An object after an event that has these parameters wrote statistics of some columns; None
    where that isn't shown, as for bytes that are no object, which the fold accepts too."""
    columns = frozenset(image.column for image in action.columns)
    write_id = stored.write_id
    try:
        before = decode(struct, stored.data).get("parameters", {})
        after = after_statistics(before, parameters, columns, transactional=transactional)
        if after is None:
            return None
        changes: dict[str, object] = {"parameters": after}
        if transactional and action.write_id > 0:
            changes["writeId"] = write_id = action.write_id
        data = replaced_fields(struct, stored.data, **changes)
    except ThriftError:
        return None
    return Entry(event, data, write_id, stored.hash)


def _doubt_partition(change: TableChange, values: tuple[str, ...]) -> None:
    """Puts a partition in doubt: the statistics may belong to a dropped one of the same name."""
    guard = statistics_guard(change.name, values)
    delete_below(change.work, change.state.loads, guard, change.event + 1)
    change.doubt_object(values)
    change.doubt_statistics(Doubt.CONFLICT)


def drop_statistics(work: WorkingSet, event: int, action: DropStatistics) -> None:
    """Deletes statistics; the log doesn't say of which engine, so the rest becomes unknown."""
    change = change_of(work, action.table, event)
    change.delete_below(statistics_guard(action.table, action.values))
    change.doubt_statistics(Doubt.ENGINE_UNSAID)
    note_write(change)


def _put_columns(change: TableChange, columns: tuple[ColumnStatisticsImage, ...]) -> None:
    work, state, event = change.work, change.state, change.event
    state.detailed = True
    # Events are folded in order, so all before this one are known, even where the shard's position
    # is still below the load.
    complete = state.statistics_are_known(event - 1, work.head.floor)
    for image in columns:
        key = statistics_key(change.name, image)
        if _is_whole(work, key, event, image, complete):
            change.put(key, statistics_data(image), image.write_id, image.fields)
            continue
        change.delete(key)
        # A load may have ended whose rows were read before this event and after it.
        overlaps = state.loads.complete(work.head.floor) and not state.loads.knows(event)
        if complete or overlaps or state.loads.open is not None:
            change.doubt_statistics(Doubt.MERGED)


def _is_whole(
    work: WorkingSet, key: bytes, event: int, image: ColumnStatisticsImage, complete: bool
) -> bool:
    """Whether the event tells everything that is stored now. Fields that it doesn't set keep their
    values, so the statistics before must be known and must not have set more of them."""
    if not complete:
        return not image.fields
    value = entries.live(work.txn.get(key))
    if value is None or entries.event_of(value) >= event:
        return True
    before = entries.hash_of(value)
    if before & ~image.fields or before & INCOMPLETE_FIELDS:
        return False
    # The first update of a column decides the type of its figures.
    return not before or _type_of(entries.data_of(value)) == _type_of(statistics_data(image))


def _type_of(data: bytes) -> bytes | None:
    """The type of a column; None for bytes that aren't statistics, which the fold accepts too."""
    with suppress(ThriftError):
        return View(data, ANALYZED_BYTES).raw(_COLUMN_TYPE)
    return None
