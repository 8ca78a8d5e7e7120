"""Decodes the messages about partitions and their statistics."""

from typing import Any

from hive.events import accuracy, message_types, object_fields, objects, stored_objects
from hive.events.decode_tables import Common, named
from hive.events.event_types import (
    AddPartitions,
    AlterPartition,
    AlterPartitions,
    DeletePartitionStatistics,
    DropPartitions,
    Insert,
    PartitionImage,
    Reload,
    TableBefore,
    UpdatePartitionStatistics,
)
from hive.events.parsed_objects import load_partition
from hive.events.partition_images import (
    has_stored_names,
    listed_image,
    partition_data,
    partition_image,
    values_of,
)
from hive.events.row import NotificationRow
from hive.names import DEFAULT_PARTITION, TableName
from hive.thrift.tjson import loads


def add_partitions(
    row: NotificationRow, message: message_types.AddPartitionMessage, common: Common
) -> AddPartitions:
    """Decodes ADD_PARTITION."""
    values = list(map(load_partition, message.partition_list_json))
    write_id = max(map(object_fields.partition_write_id, values), default=-1)
    stored = map(stored_objects.added_partition, values)
    return AddPartitions(
        **common,
        table=named(row, message.db, message.table),
        table_before=objects.table_before(message.table_obj_json),
        partitions=tuple(map(partition_image, stored)),
        write_id=object_fields.given_write_id(write_id),
    )


def alter_partitions(
    row: NotificationRow, message: message_types.AlterPartitionsMessage, common: Common
) -> AlterPartitions:
    table_before = objects.table_before(message.table_obj_json)
    truncate = message.is_truncate_op == "true"
    write_id = object_fields.given_write_id(message.write_id)
    transactional = table_before is not None and table_before.transactional
    tells_ids = not truncate or transactional or write_id <= 0
    table = named(row, message.db, message.table)
    values = tuple(_sent(text, table) for text in message.partition_list_json)
    partitions = tuple(_altered(value, tells_ids) for value in values)
    all_values = [partition.values for partition in partitions]
    is_each_once = len(set(all_values)) == len(all_values)
    return AlterPartitions(
        **common,
        table=table,
        table_before=table_before,
        partitions=partitions,
        known=(
            is_each_once
            and not any("" in values for values in all_values)
            and all(map(has_stored_names, values))
        ),
        write_id=write_id,
        truncate=truncate,
    )


def _sent(text: str, table: TableName) -> object_fields.Value:
    return stored_objects.in_catalog(load_partition(text), table.catalog)


def _altered(value: object_fields.Value, tells_ids: bool) -> PartitionImage:
    if not tells_ids:
        value = stored_objects.without_write_id(value)
    return listed_image(value)


def alter_partition(
    row: NotificationRow, message: message_types.AlterPartitionMessage, common: Common
) -> AlterPartition:
    table = named(row, message.db, message.table)
    before = load_partition(message.partition_obj_before_json)
    after = _sent(message.partition_obj_after_json, table)
    table_before = objects.table_before(message.table_obj_json)
    transactional = table_before is not None and table_before.transactional
    image = stored_objects.altered_partition(before, after, transactional=transactional)
    old_id, new_id = map(object_fields.partition_write_id, (before, after))
    write_id = object_fields.given_write_id(message.write_id, new_id)
    is_known = has_stored_names(after) and (
        not transactional
        or (
            accuracy.NAME not in object_fields.partition_parameters(after)
            and stored_objects.is_write_id_certain(old_id, new_id)
        )
    )
    return AlterPartition(
        **common,
        table=table,
        table_before=table_before,
        before=values_of(before),
        before_data=partition_data(before),
        known=is_known,
        partition=partition_image(image),
        write_id=write_id,
        truncate=message.is_truncate_op == "true",
        columns_changed=object_fields.partition_columns_differ(before, after),
    )


def drop_partitions(
    row: NotificationRow, message: message_types.DropPartitionMessage, common: Common
) -> DropPartitions:
    table_before = objects.table_before(message.table_obj_json)
    return DropPartitions(
        **common,
        table=named(row, message.db, message.table),
        table_before=table_before,
        values=tuple(_ordered(table_before, values) for values in message.partitions),
    )


def _ordered(table_before: TableBefore | None, values: dict[str, str | None]) -> tuple[str, ...]:
    """The values in the order of the partition columns; in the map's order if these are unknown."""
    folded = {key.lower(): value or DEFAULT_PARTITION for key, value in values.items()}
    if table_before is not None and set(table_before.partition_keys) == folded.keys():
        return tuple(folded[key] for key in table_before.partition_keys)
    return tuple(folded.values())


def insert(row: NotificationRow, message: message_types.InsertMessage, common: Common) -> Insert:
    text = message.ptn_obj_json
    return Insert(
        **common,
        table=named(row, message.db, message.table),
        table_before=objects.table_before(message.table_obj_json),
        values=None if text is None else values_of(loads(text)),
        replace=message.replace == "true",
    )


def reload(row: NotificationRow, message: message_types.ReloadMessage, common: Common) -> Reload:
    texts = list(message.partition_list_json or [])
    if message.ptn_obj_json is not None:
        texts.append(message.ptn_obj_json)
    return Reload(
        **common,
        table=named(row, message.db, message.table),
        table_before=objects.table_before(message.table_obj_json),
        values=tuple(values_of(loads(text)) for text in texts),
        refresh=message.refresh_event == "true",
    )


def update_statistics(
    row: NotificationRow, message: message_types.UpdatePartitionStatsMessage, common: Common
) -> UpdatePartitionStatistics:
    """Decodes UPDATE_PART_COL_STAT_EVENT."""
    engine, last_analyzed, columns = objects.statistics(message.col_stats_json)
    return UpdatePartitionStatistics(
        **common,
        table=named(row),
        table_before=objects.table_before(message.table_obj_json),
        values=tuple(message.part_vals),
        engine=engine,
        last_analyzed=last_analyzed,
        columns=columns,
        parameters=message.parameters,
        write_id=object_fields.given_write_id(message.write_id),
    )


def delete_statistics(
    row: NotificationRow, message: message_types.DeletePartitionStatsMessage, common: Common
) -> DeletePartitionStatistics:
    """Decodes DELETE_PART_COL_STAT_EVENT."""
    column: Any = message.col_name
    return DeletePartitionStatistics(
        **common,
        table=named(row),
        values=tuple(message.part_values),
        column=None if column is None else column.lower(),
    )
