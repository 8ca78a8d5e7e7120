"""Reads of column statistics and constraints."""

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from hive.aggregate import Aggregate, aggregate
from hive.names import partition_name, values_by_name
from hive.thrift.binary import decode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.view import TableView
from query_api.objects import ColumnFigures, ConstraintColumns, Objects
from query_api.reads.read import SHORT_MAX, ExistingTableRead, existing_table
from query_api.targets import Target, TargetKind

DEFAULT_ENGINE = "hive"
A = TypeVar("A")


class PartitionFigures(NamedTuple):
    """The statistics of a partition's columns."""

    name: str
    columns: list[ColumnFigures]


class _StatisticsRead(ExistingTableRead[A], Generic[A], frozen=True):
    @property
    def targets(self) -> tuple[Target, ...]:
        return Target(TargetKind.TABLE, self.table), Target(TargetKind.STATISTICS, self.table)


class _PartitionsRead(_StatisticsRead[A], Generic[A], frozen=True):
    partitions: tuple[str, ...]

    @property
    def is_long(self) -> bool:
        return len(self.partitions) > SHORT_MAX


class GetTableStatistics(_StatisticsRead[list[ColumnFigures]], frozen=True):
    """The statistics of a table's columns; of all columns if none is named."""

    columns: tuple[str, ...] = ()
    engine: str = DEFAULT_ENGINE

    def answer(self, objects: Objects) -> list[ColumnFigures]:
        existing_table(objects, self.table)
        return _chosen(objects.table_statistics(self.table), self.columns, self.engine)


class GetPartitionStatistics(_PartitionsRead[list[PartitionFigures]], frozen=True):
    """The column statistics of partitions by their stored names; those without any are left
    out.
    """

    columns: tuple[str, ...] = ()
    engine: str = DEFAULT_ENGINE

    def answer(self, objects: Objects) -> list[PartitionFigures]:
        keys = TableView(existing_table(objects, self.table)).partition_keys
        wanted = list(values_by_name(keys, self.partitions).values())
        partitions = (
            PartitionFigures(partition_name(keys, values), chosen)
            for values, columns in objects.partition_statistics(self.table, wanted)
            if (chosen := _chosen(columns, self.columns, self.engine))
        )
        return sorted(partitions, key=lambda partition: partition.name)


class AggregateStatistics(_PartitionsRead[dict[str, Aggregate]], frozen=True):
    """The statistics of columns, aggregated over several partitions by their stored names."""

    columns: tuple[str, ...]
    engine: str = DEFAULT_ENGINE

    def answer(self, objects: Objects) -> dict[str, Aggregate]:
        keys = TableView(existing_table(objects, self.table)).partition_keys
        wanted = list(values_by_name(keys, self.partitions).values())
        count = len(set(self.partitions))
        parts_of: dict[str, list[dict[str, Any]]] = {column: [] for column in self.columns}
        for _, columns in objects.partition_statistics(self.table, wanted):
            for figures in _chosen(columns, self.columns, self.engine):
                parts_of[figures.column].append(decode(COLUMN_STATISTICS_OBJ, figures.data))
        return {column: aggregate(parts, count) for column, parts in parts_of.items()}


class GetConstraints(ExistingTableRead[list[ConstraintColumns]], frozen=True):
    """All constraints of a table; foreign keys belong to the child."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return Target(TargetKind.TABLE, self.table), Target(TargetKind.CONSTRAINTS, self.table)

    def answer(self, objects: Objects) -> list[ConstraintColumns]:
        existing_table(objects, self.table)
        return sorted(
            objects.constraints(self.table),
            key=lambda constraint: (constraint.kind, constraint.name),
        )


def _chosen(
    figures: Iterable[ColumnFigures], columns: tuple[str, ...], engine: str
) -> list[ColumnFigures]:
    """The statistics without those that the metastore itself can't return."""
    return sorted(
        column
        for column in figures
        if column.engine == engine
        and (not columns or column.column in columns)
        and column.is_returned
    )
