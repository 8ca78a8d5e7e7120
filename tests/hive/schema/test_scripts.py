"""Hive's own scripts, run beside ours, come to the same tables; what differs is listed here."""

import re
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from tests.support.hive import source as hive_source

pytestmark = pytest.mark.hive

Parts = dict[tuple[str, str], object]
"""What a table is made of: by its name and a column's, or `key`, `unique` and `references`."""

_FAMILIES = {
    "BIGINT": "integer",
    "INTEGER": "integer",
    "SMALLINT": "integer",
    "VARCHAR": "text",
    "MEDIUMTEXT": "text",
    "TEXT": "text",
}


def parts(engine: sa.Engine, *, exactly: bool) -> Parts:
    inspector = sa.inspect(engine)
    tables: Parts = {}
    for name in inspector.get_table_names():
        table = name.upper()
        for column in inspector.get_columns(name):
            type_ = column["type"].compile(engine.dialect)
            family = re.split(r"[( ]", type_)[0]
            tables[table, column["name"].upper()] = (
                (type_, column["nullable"]) if exactly else _FAMILIES.get(family, family)
            )
        key = columns(inspector.get_pk_constraint(name)["constrained_columns"])
        unique = {
            columns(index["column_names"])
            for index in inspector.get_indexes(name)
            if index["unique"]
        }
        tables[table, "key"] = key
        tables[table, "unique"] = unique - {key}
        tables[table, "references"] = {
            (columns(foreign["constrained_columns"]), foreign["referred_table"].upper())
            for foreign in inspector.get_foreign_keys(name)
        }
    return tables


def columns(names: list[str] | list[str | None]) -> frozenset[str]:
    return frozenset(name.upper() for name in names if name is not None)


def differences(
    new_database: Callable[[], str], dialect: str, version: Version, *, exactly: bool = False
) -> set[tuple[str, str]]:
    ours, theirs = unpooled_engine(new_database()), unpooled_engine(new_database())
    create(ours, version)
    hive_source.run_script(theirs, version.release)
    ours_parts, other = (parts(engine, exactly=exactly) for engine in (ours, theirs))
    assert other
    return {
        (table, part)
        for table, part in ours_parts.keys() | other.keys()
        if ours_parts.get((table, part)) != other.get((table, part))
        # Hive 3 has no indexes any more, only their empty tables.
        and table not in ("IDXS", "INDEX_PARAMS")
    }


@pytest.mark.by_turns(4, of="schemas")
def test_4_0_is_the_same_to_the_letter_on_postgresql(new_database: Callable[[], str]) -> None:
    assert differences(new_database, "postgres", Version.V4_0, exactly=True) == set()


@pytest.mark.by_turns(4, of="schemas")
def test_3_1_is_as_good_as_the_same_on_postgresql(new_database: Callable[[], str]) -> None:
    assert differences(new_database, "postgres", Version.V3_1) == {("MV_TABLES_USED", "key")}


MYSQL_LEAVES_OUT = {("I_SCHEMA", "unique"), ("SCHEMA_VERSION", "unique")}


@pytest.mark.mariadb
@pytest.mark.by_turns(4, of="schemas")
def test_4_0_is_as_good_as_the_same_on_mysql(new_mariadb_database: Callable[[], str]) -> None:
    found = differences(new_mariadb_database, "mysql", Version.V4_0)
    assert found == MYSQL_LEAVES_OUT


@pytest.mark.mariadb
@pytest.mark.by_turns(4, of="schemas")
def test_3_1_is_as_good_as_the_same_on_mysql(new_mariadb_database: Callable[[], str]) -> None:
    found = differences(new_mariadb_database, "mysql", Version.V3_1)
    assert found == {*MYSQL_LEAVES_OUT, ("MV_TABLES_USED", "key")}
