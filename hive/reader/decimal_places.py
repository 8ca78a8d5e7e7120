"""Reads to how many decimal places the database rounds figures of column statistics."""

from typing import Any, Final

from sqlalchemy import TextClause, text

from hive.events.decimal_places import FIGURES, TABLES, DecimalPlaces

_PLACES: Final = text(
    "SELECT TABLE_NAME, COLUMN_NAME, NUMERIC_SCALE FROM information_schema.COLUMNS"
    " WHERE TABLE_SCHEMA = DATABASE() AND NUMERIC_SCALE IS NOT NULL"
    f" AND TABLE_NAME IN {TABLES} AND COLUMN_NAME IN {tuple(FIGURES.values())}"
)


def statement(dialect: str) -> TextClause | None:
    """What to ask a database of this kind; None if it never rounds."""
    return None if dialect == "postgresql" else _PLACES


def decimal_places(rows: Any) -> DecimalPlaces:
    """The decimal places in the rows of the statement."""
    return {(table.upper(), column.upper()): int(places) for table, column, places in rows}
