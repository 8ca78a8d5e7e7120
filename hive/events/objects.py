"""Makes images from an event's parsed TJSON: canonical bytes and what the fold needs beside
them."""

from functools import lru_cache
from typing import Any

from hive.events import object_fields
from hive.events.column_figures import column_image
from hive.events.event_types import ColumnImage, ListedFields, TableBefore, TableImage
from hive.events.object_fields import TABLE_ID, long_of
from hive.names import TableName, table_name
from hive.thrift.canonical import USER, is_transactional, shown_type
from hive.thrift.structs import TABLE
from hive.thrift.tjson import loads, transcode_value

_CACHED_TEXT_MAX = 16_384


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
    parameters = object_fields.parameters(value)
    return TableImage(
        transcode_value(TABLE, value),
        _id(value),
        is_transactional(parameters),
        tuple(name for name, _, _ in object_fields.partition_keys(value)),
        listed_fields(value),
    )


def listed_fields(table: dict[str, Any]) -> ListedFields:
    owner_type = table.get("18")
    return ListedFields(
        _type(table),
        text_of(table, "3"),
        object_fields.parameters(table).get("comment"),
        USER if owner_type is None else owner_type["i32"],
    )


def _type(table: dict[str, Any]) -> str:
    """The table type as lists of tables show it; empty if the writer gave none."""
    type_ = text_of(table, "12")
    return "" if type_ is None else shown_type(type_, object_fields.parameters(table))


def table_before(text: str | None) -> TableBefore | None:
    """The table in an event about partitions, cached by its text, which most events repeat."""
    if text is None:
        return None
    return _table_before(text) if len(text) > _CACHED_TEXT_MAX else _remembered_table_before(text)


def _table_before(text: str) -> TableBefore:
    value = loads(text)
    keys = tuple(name for name, _, _ in object_fields.partition_keys(value))
    return TableBefore(_id(value), is_transactional(object_fields.parameters(value)), keys)


_remembered_table_before = lru_cache(maxsize=512)(_table_before)


def _id(table: dict[str, Any]) -> int:
    return long_of(table[TABLE_ID]) if TABLE_ID in table else 0


def statistics(text: str) -> tuple[str, int, tuple[ColumnImage, ...]]:
    """The engine, time and columns of a ColumnStatistics object."""
    value = loads(text)
    columns = tuple(map(column_image, value["2"]["lst"][2:]))
    analyzed = value["1"]["rec"].get("5", {"i64": 0})
    return text_of(value, "4") or "hive", long_of(analyzed), columns
