"""Exports a shard as plain objects with the field names of Hive's IDL, and says what is unknown."""

import json
from base64 import b64encode
from typing import Any

from hive.names import DatabaseName, TableName, default_catalog, partition_name
from hive.thrift.binary import decode
from hive.thrift.splice import without_mark
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.write_ids import text
from state.loads import Cold
from state.records.objects import CONSTRAINTS
from state.shard_reader import ColumnStatistics, ShardReader
from state.tables import TableState

Exported = dict[str, Any]


def export(reader: ShardReader) -> Exported:
    """Exports everything that the shard knows for sure; `cold` names the rest, with the reasons."""
    exported: Exported = {
        "event_id": reader.head.applied,
        "databases": {},
        "functions": {},
        "tables": {},
        "partitions": {},
        "table_statistics": {},
        "partition_statistics": {},
        "constraints": {},
        "valid_write_ids": {},
        "cold": {},
    }
    _export_databases(reader, exported)
    for name in reader.table_names():
        state = reader.state(name)
        assert state is not None
        _export_table(reader, name, state, exported)
        _export_write_ids(reader, name, exported)
    exported["cold"] = {key: dict(sorted(cold.items())) for key, cold in exported["cold"].items()}
    return exported


def _export_databases(reader: ShardReader, exported: Exported) -> None:
    applied, floor = reader.head.applied, reader.head.floor
    for catalog in reader.catalogs():
        loads = reader.databases_loads(catalog)
        if loads is not None and (cold := loads.cold(applied, floor)):
            _mark_cold(exported, "databases", catalog, loads.describe(cold))
        for db, entry in reader.databases(catalog):
            label = _database_label(DatabaseName(catalog, db))
            exported["databases"][label] = _fields(decode(DATABASE, entry.data))
    for db_name in reader.database_names():
        label = _database_label(db_name)
        loads = reader.names_loads(db_name)
        if loads is not None and (cold := loads.cold(applied, floor)):
            _mark_cold(exported, "names", label, loads.describe(cold))
        for function, entry in reader.functions(db_name):
            exported["functions"][f"{label}.{function}"] = _fields(decode(FUNCTION, entry.data))


def _export_table(
    reader: ShardReader, name: TableName, state: TableState, exported: Exported
) -> None:
    label = _table_label(name)
    applied, floor = reader.head.applied, reader.head.floor
    entry = reader.table(name)
    why = state.why_cold(applied, floor)
    if entry is not None and (why is None or entry.event >= max(state.loads.floor, floor)):
        exported["tables"][label] = _fields(decode(TABLE, entry.data))
    if why is not None:
        if label not in exported["tables"]:
            _mark_cold(exported, "tables", label, why)
        for key in ("partitions", "table_statistics", "partition_statistics", "constraints"):
            _mark_cold(exported, key, label, why)
        return
    if entry is None:
        return
    table = decode(TABLE, entry.data)
    _export_partitions(reader, name, table, exported)
    _export_constraints(reader, name, exported)
    if state.statistics_cold(applied, floor) is not None:
        for key in ("table_statistics", "partition_statistics"):
            _mark_cold(exported, key, label, f"{Cold.DOUBT}: {state.statistics_doubt}")
        return
    _export_statistics(reader, name, table, exported)


def _export_partitions(
    reader: ShardReader, name: TableName, table: Exported, exported: Exported
) -> None:
    keys = [key["name"] for key in table["partitionKeys"]]
    if keys:
        exported["partitions"][_table_label(name)] = {
            partition_name(keys, values): _fields(decode(PARTITION, without_mark(entry.data)))
            for values, entry in reader.partitions(name)
        }


def _export_statistics(
    reader: ShardReader, name: TableName, table: Exported, exported: Exported
) -> None:
    label = _table_label(name)
    keys = [key["name"] for key in table["partitionKeys"]]
    columns = [_column(column) for column in reader.table_statistics(name)]
    if columns:
        exported["table_statistics"][label] = columns
    for values, column in reader.all_partition_statistics(name):
        partitions = exported["partition_statistics"].setdefault(label, {})
        partitions.setdefault(partition_name(keys, values), []).append(_column(column))


def _export_constraints(reader: ShardReader, name: TableName, exported: Exported) -> None:
    for constraint in reader.constraints(name):
        label, struct = CONSTRAINTS[constraint.kind]
        kinds = exported["constraints"].setdefault(_table_label(name), {})
        kinds.setdefault(label, []).extend(
            _fields(decode(struct, column)) for column in constraint.columns
        )


def _export_write_ids(reader: ShardReader, name: TableName, exported: Exported) -> None:
    ids = reader.write_ids(name)
    valid = ids.snapshot(name.in_catalog)
    if valid is None:
        _mark_cold(exported, "write_ids", _table_label(name), str(ids.cold))
    else:
        exported["valid_write_ids"][_table_label(name)] = text.print_write_id_list(valid)


def _database_label(name: DatabaseName) -> str:
    """A database's name, with its catalog unless that is the default one."""
    return name.db if name.catalog == default_catalog() else str(name)


def _table_label(name: TableName) -> str:
    return f"{_database_label(name.database)}.{name.table}"


def _column(column: ColumnStatistics) -> Exported:
    fields: Exported = _fields(decode(COLUMN_STATISTICS_OBJ, column.data))
    return fields


def _mark_cold(exported: Exported, kind: str, label: str, why: str) -> None:
    exported["cold"].setdefault(kind, {})[label] = why


def _fields(value: Any) -> Any:
    """Converts bytes to text that JSON can hold."""
    if isinstance(value, bytes):
        return "base64:" + b64encode(value).decode()
    if isinstance(value, dict):
        return {_text(key): _fields(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_fields(item) for item in value]
    return value


def _text(key: Any) -> Any:
    """A key as text; a tuple, the values of skewed columns, becomes a JSON list."""
    return json.dumps(key, ensure_ascii=False) if isinstance(key, tuple) else key
