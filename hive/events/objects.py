"""Makes images from an event's parsed TJSON: canonical bytes and what the fold needs beside
them."""

from functools import lru_cache
from typing import Any

import orjson

from hive.column_statistics import stored_figures, told_figures
from hive.events import stored_objects
from hive.events.event_types import ColumnImage, PartitionImage, TableFacts, TableImage
from hive.names import TableName, table_name
from hive.thrift.binary import decode, encode
from hive.thrift.canonical import is_transactional, shown_type
from hive.thrift.splice import lacking_serde_details
from hive.thrift.structs import COLUMN_STATISTICS_OBJ, PARTITION, TABLE
from hive.thrift.tjson import loads, transcode_value
from hive.thrift.view import PartitionView

_CACHED_TEXT_MAX = 16_384
_REMEMBERED_MAX = 1_000
_remembered_columns: dict[bytes, bytes | None] = {}


def text_of(value: dict[str, Any], field: str) -> str | None:
    """The text in a field of parsed TJSON."""
    typed = value.get(field)
    return None if typed is None else str(typed["str"])


def name_of(table: dict[str, Any], catalog: str | None) -> TableName:
    """The name in a table's object, with the row's catalog if the object has none."""
    catalog_name = text_of(table, "17") or catalog
    return table_name(catalog_name, table["2"]["str"], table["1"]["str"])


def table_image(value: dict[str, Any]) -> TableImage:
    """The image of a table as it is stored."""
    parameters = stored_objects.parameters(value)
    return TableImage(
        transcode_value(TABLE, value),
        _id(value),
        _type(value),
        is_transactional(parameters),
        tuple(name for name, _, _ in stored_objects.partition_keys(value)),
        text_of(value, "3"),
        parameters.get("comment"),
    )


def listed(table: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """A table's fields in lists of tables: type, owner and comment."""
    return _type(table), text_of(table, "3"), stored_objects.parameters(table).get("comment")


def _type(table: dict[str, Any]) -> str:
    """The table type as lists of tables show it; empty if the writer gave none."""
    type_ = text_of(table, "12")
    return "" if type_ is None else shown_type(type_, stored_objects.parameters(table))


def partition_data(value: dict[str, Any]) -> bytes:
    listed, has_more = stored_objects.listed_partition(value)
    data = transcode_value(PARTITION, listed)
    return lacking_serde_details(data) if has_more else data


def partition_image(value: dict[str, Any], write_id: int) -> PartitionImage:
    """The image of a partition as it is stored, written under a write id."""
    data = partition_data(value)
    return PartitionImage(values_of(value), data, write_id, _columns(value, data))


def _columns(partition: dict[str, Any], data: bytes) -> bytes | None:
    """A partition's encoded columns, cached by their JSON: a table's partitions mostly share
    them."""
    key = orjson.dumps(partition["6"]["rec"].get("1")) if "6" in partition else b""
    if key not in _remembered_columns:
        if len(_remembered_columns) >= _REMEMBERED_MAX:
            _remembered_columns.clear()
        _remembered_columns[key] = PartitionView(data).columns
    return _remembered_columns[key]


def values_of(partition: dict[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, partition["1"]["lst"][2:]))


def table_facts(text: str | None) -> TableFacts | None:
    """The table in an event about partitions, cached by its text, which most events repeat."""
    if text is None:
        return None
    return _facts(text) if len(text) > _CACHED_TEXT_MAX else _remembered_facts(text)


def _facts(text: str) -> TableFacts:
    value = loads(text)
    keys = tuple(name for name, _, _ in stored_objects.partition_keys(value))
    return TableFacts(_id(value), is_transactional(stored_objects.parameters(value)), keys)


_remembered_facts = lru_cache(maxsize=512)(_facts)


def _id(table: dict[str, Any]) -> int:
    return stored_objects.long_of(table["25"]) if "25" in table else 0


def statistics(text: str) -> tuple[str, int, tuple[ColumnImage, ...]]:
    """The engine, time and columns of a ColumnStatistics object."""
    value = loads(text)
    columns = tuple(map(_column, value["2"]["lst"][2:]))
    analyzed = value["1"]["rec"].get("5", {"i64": 0})
    return text_of(value, "4") or "hive", stored_objects.long_of(analyzed), columns


def _column(item: dict[str, Any]) -> ColumnImage:
    """The figures of a column that the metastore returns, whatever kind the client sent."""
    sent = decode(COLUMN_STATISTICS_OBJ, transcode_value(COLUMN_STATISTICS_OBJ, item))
    figures = told_figures(sent["colType"], stored_figures(sent["statsData"]))
    data = encode(COLUMN_STATISTICS_OBJ, {**sent, "statsData": figures})
    return ColumnImage(sent["colName"].lower(), data)
