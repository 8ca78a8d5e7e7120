"""Converts rows of the database into the objects that records carry."""

from connectors.publish.translate import columns_hash
from hive.reader.rows.constraints import StoredConstraint
from hive.reader.rows.databases import StoredDatabase, StoredFunction
from hive.reader.rows.partitions import StoredPartition
from hive.reader.rows.statistics import StoredStatistics
from hive.reader.rows.tables import StoredName, StoredTable
from hive.reader.write_ids import WriteIdRows, loaded
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    ConstraintKind,
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
    WriteIdsImage,
    statistics_fields,
)


def table_image(table: StoredTable) -> TableImage:
    return TableImage(
        table.name,
        table.id,
        table.write_id,
        table.transactional,
        bool(table.partition_keys),
        table.data,
    )


def partition_image(partition: StoredPartition) -> PartitionImage:
    return PartitionImage(
        partition.values, partition.write_id, columns_hash(partition.columns), partition.data
    )


def statistics_image(
    column: StoredStatistics, values: tuple[str, ...] | None, write_id: int
) -> ColumnStatisticsImage:
    """The image of column statistics, with the write id of their table or partition, which every
    update of the statistics advances."""
    return ColumnStatisticsImage(
        values,
        column.engine,
        column.column,
        write_id,
        column.last_analyzed,
        column.data,
        statistics_fields(column.data),
    )


def constraint_image(constraint: StoredConstraint) -> ConstraintImage:
    return ConstraintImage(ConstraintKind(constraint.kind), constraint.name, constraint.columns)


def write_ids_image(rows: WriteIdRows, position: int) -> WriteIdsImage:
    ids = loaded(rows, position)
    return WriteIdsImage(ids.hwm, ids.open, ids.aborted)


def name_image(name: StoredName) -> NameImage:
    return NameImage(*name)


def function_image(function: StoredFunction) -> FunctionImage:
    return FunctionImage(function.name, function.data)


def database_image(database: StoredDatabase) -> DatabaseImage:
    return DatabaseImage(database.name, database.data)
