"""What a toy metastore's database holds, as values that are never changed, only replaced."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from hive.names import DatabaseName, TableName
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    ConstraintKind,
    NameImage,
    PartitionImage,
    TableImage,
)

Values = tuple[str, ...]
Parameters = tuple[tuple[str, str], ...]


class TableRow(NamedTuple):
    """A row of TBLS with what belongs to it."""

    id: int
    managed: bool
    partitioned: bool
    owner: str = "o"
    comment: str | None = None
    columns: int = 0
    """A version of its columns and of its location."""
    parameters: Parameters = ()
    write_id: int = 0


class PartitionRow(NamedTuple):
    columns: int = 0
    parameters: Parameters = ()
    write_id: int = 0
    held: int = 0
    """The last write that held the row before it read: nobody who holds it after that reads what
    was there before. Not a part of the object."""


class DatabaseRow(NamedTuple):
    parameters: int
    owner: int


class StatisticsKey(NamedTuple):
    values: Values | None
    engine: str
    column: str


class StatisticsRow(NamedTuple):
    value: int
    write_id: int


class ConstraintKey(NamedTuple):
    name: str
    kind: ConstraintKind


@dataclass(frozen=True)
class Table:
    """A table and all that hangs on it."""

    name: TableName
    row: TableRow
    partitions: dict[Values, PartitionRow] = field(default_factory=dict)
    statistics: dict[StatisticsKey, StatisticsRow] = field(default_factory=dict)
    constraints: dict[ConstraintKey, int] = field(default_factory=dict)

    @cached_property
    def image(self) -> TableImage:
        row = self.row
        data = table_bytes(self.name, row)
        return TableImage(self.name, row.id, row.write_id, row.managed, row.partitioned, data)

    @cached_property
    def line(self) -> NameImage:
        """What a list of names shows."""
        return NameImage(self.name.table, "T", self.row.owner, self.row.comment, 1)

    def partition(self, values: Values) -> PartitionImage:
        return partition_image(values, self.partitions[values])

    def statistics_images(self) -> list[ColumnStatisticsImage]:
        return [statistics_image(*entry) for entry in self.statistics.items()]

    def constraint_images(self) -> list[ConstraintImage]:
        return [constraint_image(*entry) for entry in self.constraints.items()]

    def without_statistics(self, *of: Values | None) -> "Table":
        """Without those of these partitions, or of the table for None."""
        kept = {key: row for key, row in self.statistics.items() if key.values not in of}
        return replace(self, statistics=kept)


_ALL_FIELDS: Final = 1
"""Statistics have one field, which every update sets."""


@dataclass(frozen=True)
class Content:
    """All of a database server's metadata, as of one event."""

    tables: dict[TableName, Table] = field(default_factory=dict)
    databases: dict[DatabaseName, DatabaseRow] = field(default_factory=dict)
    functions: dict[tuple[DatabaseName, str], int] = field(default_factory=dict)

    def tables_of(self, db: DatabaseName) -> list[Table]:
        return [table for name, table in self.tables.items() if name[:2] == (db.catalog, db.db)]

    def functions_of(self, db: DatabaseName) -> dict[str, int]:
        return {name: row for (of, name), row in self.functions.items() if of == db}


def statistics_image(key: StatisticsKey, row: StatisticsRow) -> ColumnStatisticsImage:
    return ColumnStatisticsImage(
        *key, row.write_id, row.value, number_bytes(row.value), fields=_ALL_FIELDS
    )


def constraint_image(key: ConstraintKey, row: int) -> ConstraintImage:
    return ConstraintImage(key.kind, key.name, (number_bytes(row),))


def number_bytes(number: int) -> bytes:
    """The bytes of an object of which nobody looks into."""
    return b"#%d" % number


def database_bytes(row: DatabaseRow) -> bytes:
    return b"#%d,%d" % row


@lru_cache(maxsize=10_000)
def table_bytes(name: TableName, row: TableRow) -> bytes:
    fields: dict[str, Any] = {
        "tableName": name.table,
        "dbName": name.db,
        "owner": row.owner,
        "retention": row.columns,
        "parameters": dict(row.parameters),
        "writeId": row.write_id,
    }
    return encode(TABLE, fields)


@lru_cache(maxsize=10_000)
def partition_image(values: Values, row: PartitionRow) -> PartitionImage:
    fields: dict[str, Any] = {
        "values": list(values),
        "createTime": row.columns,
        "parameters": dict(row.parameters),
        "writeId": row.write_id,
    }
    return PartitionImage(values, row.write_id, row.columns, encode(PARTITION, fields))


def with_parameter(parameters: Parameters, key: str, value: int) -> Parameters:
    return tuple(sorted({**dict(parameters), key: str(value)}.items()))
