"""Rows of any table of the metastore's schema."""

from typing import Any

import sqlalchemy as sa

from hive.schema import Version, metadata


def add_row(engine: sa.Engine, version: Version, table: str, **values: Any) -> None:
    """Columns that need a value have a zero."""
    described = metadata(version).tables[table]
    required = {
        column.name: 0
        for column in described.c
        if not column.nullable and column.server_default is None
    }
    with engine.begin() as connection:
        connection.execute(sa.insert(described).values({**required, **values}))
