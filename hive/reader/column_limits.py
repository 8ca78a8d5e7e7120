"""Reads what the columns of a metastore's database don't keep of what is stored in them."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import TextClause, text

from hive.events import decimal_places, kept_characters
from hive.events.column_limits import ColumnLimits

_OF_OBJECTS: Final = (
    *("DBS", "DATABASE_PARAMS", "FUNCS", "FUNC_RU", "TBLS", "TABLE_PARAMS", "PARTITION_KEYS"),
    *("SDS", "SD_PARAMS", "SERDES", "SERDE_PARAMS", "COLUMNS_V2", "BUCKETING_COLS", "SORT_COLS"),
    *("SKEWED_COL_NAMES", "SKEWED_STRING_LIST_VALUES", "SKEWED_COL_VALUE_LOC_MAP"),
    *("PARTITIONS", "PARTITION_KEY_VALS", "PARTITION_PARAMS", "KEY_CONSTRAINTS"),
)
_FIGURES: Final = frozenset(decimal_places.FIGURES.values())
_COLUMNS: Final = text(
    "SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_SET_NAME, NUMERIC_SCALE"
    " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
    f" AND TABLE_NAME IN {(*_OF_OBJECTS, *decimal_places.TABLES)}"
)


def statement(dialect: str) -> TextClause | None:
    """What to ask a database of this kind; None if it refuses what its columns can't hold."""
    return None if dialect == "postgresql" else _COLUMNS


def column_limits(rows: Iterable[Any]) -> ColumnLimits:
    """The limits in the rows of the statement."""
    places: dict[tuple[str, str], int] = {}
    charsets: set[str] = set()
    for row_table, row_column, charset, scale in rows:
        table, column = row_table.upper(), row_column.upper()
        if table in _OF_OBJECTS:
            charsets |= {charset} - {None}
        elif scale is not None and column in _FIGURES:
            places[table, column] = int(scale)
    return ColumnLimits(places, kept_characters.lacked(charsets))
