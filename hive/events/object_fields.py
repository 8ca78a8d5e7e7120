"""The fields of tables and partitions in parsed TJSON: `{"<field id>": {"<type>": value}}`."""

from typing import Any

Value = dict[str, Any]
"""A struct as parsed TJSON."""

TABLE_CREATED, TABLE_STORAGE, TABLE_KEYS, TABLE_PARAMETERS = "4", "7", "8", "9"
TABLE_WRITE_ID, TABLE_ID = "19", "25"
PARTITION_STORAGE, PARTITION_PARAMETERS = "6", "7"
PARTITION_CATALOG, PARTITION_WRITE_ID = "9", "10"
NO_WRITE_ID = {"i64": -1}
_STORAGE_COLUMNS, _STORAGE_LOCATION = "1", "2"
_COLUMN_NAME, _COLUMN_TYPE, _COLUMN_COMMENT = "1", "2", "3"
_LONG_BITS = 63

Column = tuple[str, str, str | None]
"""The name, type and comment of a column."""


def parameters(table: Value) -> dict[str, str]:
    stored: dict[str, str] = table[TABLE_PARAMETERS]["map"][3] if TABLE_PARAMETERS in table else {}
    return stored


def table_columns(table: Value) -> list[Column]:
    """The columns of a table but for those of its partitions."""
    return _columns(_column_list(table, TABLE_STORAGE))


def table_columns_differ(before: Value, after: Value) -> bool:
    """Whether the name, type or comment of a column of a table changed."""
    return _differ(_column_list(before, TABLE_STORAGE), _column_list(after, TABLE_STORAGE))


def partition_columns_differ(before: Value, after: Value) -> bool:
    """Whether the name, type or comment of a column of a partition changed."""
    return _differ(_column_list(before, PARTITION_STORAGE), _column_list(after, PARTITION_STORAGE))


def partition_keys(table: Value) -> list[Column]:
    """The columns by which a table is partitioned."""
    return _columns(table.get(TABLE_KEYS))


def partition_keys_differ(before: Value, after: Value) -> bool:
    """Whether the name, type or comment of a partition column changed."""
    return _differ(before.get(TABLE_KEYS), after.get(TABLE_KEYS))


def location(table: Value) -> str | None:
    """The location of a table's data."""
    typed = table.get(TABLE_STORAGE, {}).get("rec", {}).get(_STORAGE_LOCATION)
    return None if typed is None else typed["str"]


def long_of(typed: Value) -> int:
    """The number in a typed `i64`, checked against 64 bits, which JSON doesn't do."""
    number = int(typed["i64"])
    if (number if number >= 0 else ~number).bit_length() > _LONG_BITS:
        raise OverflowError("a number of more than 64 bits")
    return number


def table_write_id(table: Value) -> int:
    return long_of(table.get(TABLE_WRITE_ID, NO_WRITE_ID))


def partition_parameters(partition: Value) -> dict[str, str]:
    typed = partition.get(PARTITION_PARAMETERS)
    return {} if typed is None else typed["map"][3]


def partition_write_id(partition: Value) -> int:
    return long_of(partition.get(PARTITION_WRITE_ID, NO_WRITE_ID))


def given_write_id(*candidates: int | None) -> int:
    """The first positive write id among the candidates, or -1."""
    return next((id_ for id_ in candidates if id_ is not None and id_ > 0), -1)


def _column_list(holder: Value, descriptor: str) -> Value | None:
    typed: Value | None = holder.get(descriptor, {}).get("rec", {}).get(_STORAGE_COLUMNS)
    return typed


def _differ(old: Value | None, new: Value | None) -> bool:
    """Whether the name, type or comment of a column differs between two lists."""
    return old != new and _columns(old) != _columns(new)


def _columns(typed: Value | None) -> list[Column]:
    if typed is None:
        return []
    return [
        (
            column[_COLUMN_NAME]["str"].lower(),
            column[_COLUMN_TYPE]["str"],
            column[_COLUMN_COMMENT]["str"] if _COLUMN_COMMENT in column else None,
        )
        for column in typed["lst"][2:]
    ]
