"""Reads which characters the columns of objects lack in the database."""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import TextClause, text

from hive.events import kept_characters
from hive.events.kept_characters import Lacked

_TABLES: Final = (
    *("DBS", "DATABASE_PARAMS", "FUNCS", "FUNC_RU", "TBLS", "TABLE_PARAMS", "PARTITION_KEYS"),
    *("SDS", "SD_PARAMS", "SERDES", "SERDE_PARAMS", "COLUMNS_V2", "BUCKETING_COLS", "SORT_COLS"),
    *("SKEWED_COL_NAMES", "SKEWED_STRING_LIST_VALUES", "SKEWED_COL_VALUE_LOC_MAP"),
    *("PARTITIONS", "PARTITION_KEY_VALS", "PARTITION_PARAMS", "KEY_CONSTRAINTS"),
)
_CHARSETS: Final = text(
    "SELECT DISTINCT CHARACTER_SET_NAME FROM information_schema.COLUMNS"
    " WHERE TABLE_SCHEMA = DATABASE() AND CHARACTER_SET_NAME IS NOT NULL"
    f" AND TABLE_NAME IN {_TABLES}"
)


def statement(dialect: str) -> TextClause | None:
    """What to ask a database of this kind; None if it refuses what it can't hold."""
    return None if dialect == "postgresql" else _CHARSETS


def lacked(rows: Iterable[Any]) -> Lacked | None:
    """The characters that are lacked according to the rows of the statement."""
    return kept_characters.lacked(charset for (charset,) in rows)
