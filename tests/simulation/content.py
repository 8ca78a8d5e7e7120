"""What a simulated database holds, as values that are never changed, only replaced."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from hive.events.partition_images import partition_data
from hive.names import DatabaseName, TableName, partition_name, values_of_names
from hive.thrift.structs import DATABASE, PARTITION, TABLE
from hive.thrift.tjson import dumps, loads, transcode_value
from query_api.objects import Objects, WantedNames
from state.records.objects import NameImage, PartitionImage, TableImage
from state.shard_reader import NameLine

Values = tuple[str, ...]
Parameters = tuple[tuple[str, str], ...]
Struct = dict[str, Any]
KEY: Final = "part"
_FORMAT: Final = "org.apache.hadoop.mapred.TextInputFormat"


class TableRow(NamedTuple):
    """A table without its name."""

    id: int
    managed: bool
    partitioned: bool
    parameters: Parameters = ()
    write_id: int = 0
    columns: int = 1


class PartitionRow(NamedTuple):
    """A partition without its values."""

    id: int = 0
    parameters: Parameters = ()
    write_id: int = -1
    columns: int = 1


class Table(NamedTuple):
    name: TableName
    row: TableRow
    partitions: tuple[tuple[Values, PartitionRow], ...] = ()

    @property
    def data(self) -> bytes:
        return _table_bytes(self.name, self.row)

    @property
    def image(self) -> TableImage:
        row = self.row
        return TableImage(self.name, row.id, row.write_id, row.managed, row.partitioned, self.data)

    def partition_by_id(self, id_: int) -> tuple[Values, PartitionRow] | None:
        return next((each for each in self.partitions if each[1].id == id_), None)

    def with_partition(
        self, values: Values, row: PartitionRow, *, instead_of: Values | None = None
    ) -> "Table":
        rows = dict(self.partitions)
        rows.pop(instead_of or values, None)
        rows[values] = row
        return self._replace(partitions=tuple(sorted(rows.items())))

    def without_partition(self, values: Values) -> "Table":
        rows = dict(self.partitions)
        del rows[values]
        return self._replace(partitions=tuple(rows.items()))

    def partition_bytes(self, values: Values, row: PartitionRow) -> bytes:
        return _partition_bytes(self.name, values, row)


@dataclass(frozen=True)
class Content:
    """All objects at one moment."""

    tables: Mapping[TableName, Table] = field(default_factory=dict)
    databases: Mapping[DatabaseName, Parameters] = field(default_factory=dict)

    def by_id(self, id_: int) -> Table | None:
        return next((table for table in self.tables.values() if table.row.id == id_), None)

    def of(self, db: DatabaseName) -> list[Table]:
        return [table for name, table in self.tables.items() if name.database == db]

    def with_table(self, table: Table, *, instead_of: TableName | None = None) -> "Content":
        tables = dict(self.tables)
        if instead_of is not None:
            del tables[instead_of]
        tables[table.name] = table
        return Content(tables, self.databases)

    def without_table(self, name: TableName) -> "Content":
        tables = dict(self.tables)
        del tables[name]
        return Content(tables, self.databases)


def with_parameter(parameters: Parameters, key: str, value: object) -> Parameters:
    return tuple(sorted({**dict(parameters), key: str(value)}.items()))


def merged(current: Parameters, read: Parameters, written: Parameters) -> Parameters:
    """The metastore writes only the parameters that an alter changes."""
    before, after, result = dict(read), dict(written), dict(current)
    for key in before.keys() | after.keys():
        if before.get(key) == after.get(key):
            continue
        if key in after:
            result[key] = after[key]
        else:
            result.pop(key, None)
    return tuple(sorted(result.items()))


def _columns(version: int) -> list[Struct]:
    return [{"name": f"c{n}", "type": "bigint", "comment": ""} for n in range(version)]


def _storage(location: str, columns: int) -> Struct:
    return {
        "cols": _columns(columns),
        "location": location,
        "inputFormat": _FORMAT,
        "outputFormat": _FORMAT,
        "compressed": False,
        "numBuckets": -1,
        "serdeInfo": {"name": "", "serializationLib": "serde", "parameters": {}},
        "bucketCols": [],
        "sortCols": [],
        "parameters": {},
        "skewedInfo": {
            "skewedColNames": [],
            "skewedColValues": [],
            "skewedColValueLocationMaps": {},
        },
        "storedAsSubDirectories": False,
    }


def table_struct(name: TableName, row: TableRow) -> Struct:
    """A Table as the metastore reads it from its database."""
    kind = ("transactional", "true") if row.managed else ("EXTERNAL", "TRUE")
    keys = [{"name": KEY, "type": "string", "comment": ""}] if row.partitioned else []
    return {
        "tableName": name.table,
        "dbName": name.db,
        "owner": "hive",
        "createTime": 1_700_000_000,
        "lastAccessTime": 0,
        "retention": 0,
        "sd": _storage(f"file:/w/{row.id}", row.columns),
        "partitionKeys": keys,
        "parameters": dict([*row.parameters, kind]),
        "tableType": "MANAGED_TABLE" if row.managed else "EXTERNAL_TABLE",
        "rewriteEnabled": False,
        "catName": name.catalog,
        "ownerType": 1,
        "writeId": row.write_id,
        "id": row.id,
    }


def partition_struct(name: TableName, values: Values, row: PartitionRow) -> Struct:
    return {
        "values": list(values),
        "dbName": name.db,
        "tableName": name.table,
        "createTime": 1_700_000_000,
        "lastAccessTime": 0,
        "sd": _storage(f"file:/w/p/{values[0]}", row.columns),
        "parameters": dict(row.parameters),
        "catName": name.catalog,
        "writeId": row.write_id,
    }


def database_struct(name: DatabaseName, parameters: Parameters) -> Struct:
    return {
        "name": name.db,
        "description": "",
        "locationUri": f"file:/w/{name.db}",
        "parameters": dict(parameters),
        "ownerName": "hive",
        "ownerType": 1,
        "catalogName": name.catalog,
        "createTime": 1_700_000_000,
        "type": 1,
    }


@lru_cache(maxsize=10_000)
def _table_bytes(name: TableName, row: TableRow) -> bytes:
    return transcode_value(TABLE, loads(dumps(TABLE, table_struct(name, row))))


@lru_cache(maxsize=10_000)
def _partition_bytes(name: TableName, values: Values, row: PartitionRow) -> bytes:
    return partition_data(loads(dumps(PARTITION, partition_struct(name, values, row))))


@lru_cache(maxsize=1_000)
def database_bytes(name: DatabaseName, parameters: Parameters) -> bytes:
    return transcode_value(DATABASE, loads(dumps(DATABASE, database_struct(name, parameters))))


class ContentObjects:
    """The objects of a moment, as reads ask for them."""

    def __init__(self, content: Content, event: int) -> None:
        self._content = content
        self.event = event

    def table(self, name: TableName) -> bytes | None:
        table = self._content.tables.get(name)
        return None if table is None else table.data

    def tables(self, names: Sequence[TableName]) -> list[bytes]:
        return [data for name in names if (data := self.table(name)) is not None]

    def names(self, db: DatabaseName) -> Iterable[NameLine]:
        for table in self._content.of(db):
            yield name_line(table, self.event)

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: object
    ) -> Iterable[Values]:
        held = self._content.tables.get(table)
        return [] if held is None else [values for values, _ in held.partitions]

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        return [partition_name(columns, v) for v in self.partition_values(table, prefix, None)]

    def sorted_partition_names(self, wanted: WantedNames, at_once: int | None) -> list[str]:
        return wanted.read_at_once(cast(Objects, self))

    def sorted_partitions(self, wanted: WantedNames) -> list[bytes]:
        names = self.sorted_partition_names(wanted, None)
        return self.partitions(wanted.table, values_of_names(wanted.columns, names))

    def are_plain(self, table: TableName, columns: object, positions: object) -> bool:
        return False

    def partition(self, table: TableName, values: Values) -> bytes | None:
        return next(iter(self.partitions(table, [values])), None)

    def partitions(self, table: TableName, values: Sequence[Values]) -> list[bytes]:
        held = self._content.tables.get(table)
        rows = {} if held is None else dict(held.partitions)
        return [_partition_bytes(table, v, rows[v]) for v in values if v in rows]

    def database(self, db: DatabaseName) -> bytes | None:
        parameters = self._content.databases.get(db)
        return None if parameters is None else database_bytes(db, parameters)

    def databases(self, catalog: str) -> Iterable[tuple[str, bytes]]:
        for db, parameters in self._content.databases.items():
            yield db.db, database_bytes(db, parameters)


def name_image(table: Table) -> NameImage:
    kind = "MANAGED_TABLE" if table.row.managed else "EXTERNAL_TABLE"
    return NameImage(table.name.table, kind, "hive", None, 1)


def name_line(table: Table, event: int) -> NameLine:
    image = name_image(table)
    return NameLine(image.table, event, image.type, image.owner, image.comment, image.owner_type)


def partition_image(
    table: Table, values: Values, row: PartitionRow, columns: int
) -> PartitionImage:
    return PartitionImage(values, row.write_id, columns, table.partition_bytes(values, row))
