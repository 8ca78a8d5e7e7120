"""Column statistics: events name some columns, and the parameters that they changed."""

from contextlib import suppress
from typing import Final

from hive.errors import ThriftError
from hive.names import TableName
from hive.thrift.binary import decode, replaced
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import Struct
from hive.thrift.view import View
from processors.fold.deferred import defer
from processors.fold.entries import build_on, delete, delete_below, put
from processors.fold.work import Work
from processors.fold.write_ids import note_write
from state import entries, keys
from state.loads import Doubt, Loads
from state.records.actions import DropStatistics, PutPartitionStatistics, PutTableStatistics
from state.records.objects import INCOMPLETE_FIELDS, ColumnStatisticsImage
from state.tables import TableState

_ANALYZED_BYTES: Final = 8
_COLUMN_TYPE: Final = 2


def statistics_key(name: TableName, image: ColumnStatisticsImage) -> bytes:
    """The key of one column's statistics, of the table or of a partition."""
    if image.values is None:
        return keys.table_statistics(name, image.engine, image.column)
    return keys.partition_statistics(name, image.values, image.engine, image.column)


def statistics_guard(name: TableName, values: tuple[str, ...] | None) -> bytes:
    """The key whose tombstone says that all of these statistics were deleted."""
    if values is None:
        return keys.of_table(keys.TABLE_STATISTICS, name)
    return keys.statistics_of_partition(name, values)


def statistics_data(image: ColumnStatisticsImage) -> bytes:
    """What is kept of one column: when it was analysed, then its bytes."""
    return image.last_analyzed.to_bytes(_ANALYZED_BYTES, signed=True) + image.data


def put_table_statistics(work: Work, event: int, action: PutTableStatistics) -> None:
    name = action.table
    state = work.touch_table(name)
    _put_columns(work, name, state, event, action.columns)
    if not defer(work, name, state, event, action):
        change_table(work, event, action)
    note_write(work, name, state, event, action.write_id)


def change_table(work: Work, event: int, action: PutTableStatistics) -> None:
    """What new statistics change in the table itself."""
    name = action.table
    state = work.touch_table(name)
    image = action.image
    parameters = None if image is None else decode(TABLE, image.data).get("parameters", {})
    key = keys.of_table(keys.TABLE, name)
    changed = _set_parameters(work, state.loads, key, event, TABLE, parameters, action.write_id)
    if changed is not None and (image is None or changed != image.data):
        delete(work, state.loads, key, event)
        work.doubt_table(name, state, event, Doubt.CONFLICT)


def put_partition_statistics(work: Work, event: int, action: PutPartitionStatistics) -> None:
    name = action.table
    state = work.touch_table(name)
    _put_columns(work, name, state, event, action.columns)
    if not defer(work, name, state, event, action):
        change_partition(work, event, action)
    note_write(work, name, state, event, action.write_id)


def change_partition(work: Work, event: int, action: PutPartitionStatistics) -> None:
    """What new statistics change in the partition itself."""
    name = action.table
    state = work.touch_table(name)
    key = keys.partition(name, action.values)
    changed = _set_parameters(
        work, state.loads, key, event, PARTITION, action.parameters, action.write_id
    )
    if changed is not None and action.parameters is None:
        delete(work, state.loads, key, event)
        work.doubt_table(name, state, event, Doubt.CONFLICT)


def drop_statistics(work: Work, event: int, action: DropStatistics) -> None:
    """The log doesn't say of which engine: nothing is known of what is left."""
    name = action.table
    state = work.touch_table(name)
    delete_below(work, state.loads, statistics_guard(name, action.values), event)
    work.doubt_statistics(name, state, event, Doubt.ENGINE_UNSAID)
    note_write(work, name, state, event)


def _put_columns(
    work: Work,
    name: TableName,
    state: TableState,
    event: int,
    columns: tuple[ColumnStatisticsImage, ...],
) -> None:
    state.detailed = True
    known = state.statistics_cold(work.head.applied, work.head.floor) is None
    for image in columns:
        key = statistics_key(name, image)
        if _is_whole(work, key, event, image, known):
            data = statistics_data(image)
            put(work, state.loads, key, event, data, image.write_id, image.fields)
            continue
        delete(work, state.loads, key, event)
        if known or state.loads.open is not None:
            work.doubt_statistics(name, state, event, Doubt.MERGED)


def _is_whole(
    work: Work, key: bytes, event: int, image: ColumnStatisticsImage, known: bool
) -> bool:
    """Whether the event tells all that is stored now: fields that it doesn't set stay as they
    were, so what was before must be known, and must not have more of them."""
    if not known:
        return not image.fields
    value = work.txn.get(key)
    if value is None or not entries.is_live(value) or entries.event_of(value) >= event:
        return True
    before = entries.hash_of(value)
    if before & ~image.fields or before & INCOMPLETE_FIELDS:
        return False
    # The first update of a column says which type its figures are of.
    return not before or _type_of(entries.data_of(value)) == _type_of(statistics_data(image))


def _type_of(data: bytes) -> bytes | None:
    """Of a column; none of bytes that are no statistics, which the fold takes, too."""
    with suppress(ThriftError):
        return View(data, _ANALYZED_BYTES).raw(_COLUMN_TYPE)
    return None


def _set_parameters(
    work: Work,
    loads: Loads,
    key: bytes,
    event: int,
    struct: Struct,
    parameters: dict[str, str] | None,
    write_id: int,
) -> bytes | None:
    """The event rewrote the parameters of an object; gives its bytes after that, None where
    there is nothing to change."""
    if loads.knows(event):
        return None
    value = work.txn.get(key)
    if value is None or not entries.is_live(value) or entries.event_of(value) >= event:
        return None
    entry = entries.decode(value)
    build_on(work, loads, entry.event, event)
    if parameters is None:
        return entry.data
    changes: dict[str, object] = {"parameters": parameters}
    if write_id > 0:
        changes["writeId"] = write_id
    data = replaced(struct, entry.data, **changes)
    kept = write_id if write_id > 0 else entry.write_id
    work.txn.put(key, entries.encode(event, data, kept, entry.hash))
    return data
