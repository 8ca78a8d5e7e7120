"""A metastore's database with a log of a million events and a catalog of a million partitions."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import psycopg
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata

VERSION: Final = Version.V4_1
EVENTS: Final = 1_000_000


class Size(NamedTuple):
    """How much a catalog holds."""

    events: int
    databases: int
    tables: int
    database_of_table: str
    """The number of the database that holds table `n`, in SQL."""
    partitions: int
    partitioned: int
    """Partitions are spread over so many tables."""
    fewer: int
    """The number of rows of partitions where more wouldn't change how they are found."""
    transactions: int


MILLION: Final = Size(
    events=EVENTS,
    databases=100,
    tables=10_000,
    database_of_table="1 + mod(n, 100)",
    partitions=1_000_000,
    partitioned=10_000,
    fewer=100_000,
    transactions=1_000,
)
BIG: Final = (
    *("NOTIFICATION_LOG", "PARTITIONS", "PARTITION_PARAMS", "PARTITION_KEY_VALS"),
    *("SDS", "SERDES", "PART_COL_STATS", "TXN_TO_WRITE_ID"),
)
"""The tables that must not be read whole to find a few rows."""


_UNCHECKED: Final = {
    "postgresql": "SET LOCAL session_replication_role = replica",
    "mysql": "SET foreign_key_checks = 0",
}
"""Turns off the checks of foreign keys, which are known to hold."""
_NUMBERS: Final = {
    "postgresql": "generate_series(1, {}) AS n",
    "mysql": "(SELECT seq AS n FROM seq_1_to_{}) numbers",
}


def _rows(size: Size) -> dict[str, tuple[int, dict[str, str]]]:
    """The number of rows of each table, and what their columns hold."""
    return {
        "NOTIFICATION_LOG": (
            size.events,
            {
                **{"NL_ID": "n", "EVENT_ID": "n", "EVENT_TIME": "1700000000 + n / 100"},
                **{"EVENT_TYPE": "'ALTER_TABLE'", "CAT_NAME": "'hive'"},
                **{"DB_NAME": f"concat('db', 1 + mod(n + 1, {size.databases}))"},
                **{"TBL_NAME": f"concat('t', 1 + mod(n, {size.tables}))"},
                **{"MESSAGE": "'{}'", "MESSAGE_FORMAT": "'json-0.2'"},
            },
        ),
        "DBS": (
            size.databases,
            {
                **{"DB_ID": "n", "DB_LOCATION_URI": "'file:/w'", "NAME": "concat('db', n)"},
                **{"OWNER_NAME": "'hive'", "OWNER_TYPE": "'USER'", "CTLG_NAME": "'hive'"},
                "TYPE": "'NATIVE'",
            },
        ),
        "CDS": (size.tables, {"CD_ID": "n"}),
        "COLUMNS_V2": (
            size.tables,
            {"CD_ID": "n", "COLUMN_NAME": "'id'", "TYPE_NAME": "'bigint'", "INTEGER_IDX": "0"},
        ),
        "SERDES": (size.tables + size.partitions, {"SERDE_ID": "n", "SLIB": "'serde'"}),
        "SDS": (
            size.tables + size.partitions,
            {
                **{"SD_ID": "n", "CD_ID": f"1 + mod(n, {size.tables})", "SERDE_ID": "n"},
                **{"LOCATION": "concat('file:/w/', n)", "NUM_BUCKETS": "-1"},
                **{"IS_COMPRESSED": "false", "IS_STOREDASSUBDIRECTORIES": "false"},
            },
        ),
        "TBLS": (
            size.tables,
            {
                **{"TBL_ID": "n", "CREATE_TIME": "0", "DB_ID": size.database_of_table},
                **{"LAST_ACCESS_TIME": "0", "OWNER": "'hive'", "OWNER_TYPE": "'USER'"},
                **{"RETENTION": "0", "SD_ID": "n", "TBL_NAME": "concat('t', n)"},
                **{"TBL_TYPE": "'MANAGED_TABLE'", "IS_REWRITE_ENABLED": "false"},
            },
        ),
        "TABLE_PARAMS": (
            size.tables,
            {"TBL_ID": "n", "PARAM_KEY": "'transactional'", "PARAM_VALUE": "'true'"},
        ),
        "PARTITION_KEYS": (
            size.tables,
            {"TBL_ID": "n", "PKEY_NAME": "'p'", "PKEY_TYPE": "'string'", "INTEGER_IDX": "0"},
        ),
        "PARTITIONS": (
            size.partitions,
            {
                **{"PART_ID": "n", "CREATE_TIME": "0", "LAST_ACCESS_TIME": "0"},
                **{"PART_NAME": "concat('p=', n)", "SD_ID": f"{size.tables} + n"},
                "TBL_ID": f"1 + mod(n, {size.partitioned})",
            },
        ),
        "PARTITION_KEY_VALS": (
            size.partitions,
            {"PART_ID": "n", "INTEGER_IDX": "0", "PART_KEY_VAL": "concat('', n)"},
        ),
        "PARTITION_PARAMS": (
            size.fewer,
            {"PART_ID": "n", "PARAM_KEY": "'numRows'", "PARAM_VALUE": "'1'"},
        ),
        "TAB_COL_STATS": (
            size.tables,
            {
                **{"CS_ID": "n", "TBL_ID": "n", "COLUMN_NAME": "'id'", "COLUMN_TYPE": "'bigint'"},
                **{"NUM_NULLS": "0", "LAST_ANALYZED": "0", "ENGINE": "'hive'"},
            },
        ),
        "PART_COL_STATS": (
            size.fewer,
            {
                **{"CS_ID": "n", "PART_ID": "n", "COLUMN_NAME": "'id'", "COLUMN_TYPE": "'bigint'"},
                **{"NUM_NULLS": "0", "LAST_ANALYZED": "0", "ENGINE": "'hive'"},
            },
        ),
        "KEY_CONSTRAINTS": (
            size.tables,
            {
                **{"PARENT_TBL_ID": "n", "CONSTRAINT_NAME": "concat('pk', n)", "POSITION": "0"},
                **{"PARENT_CD_ID": "n", "PARENT_INTEGER_IDX": "0", "CONSTRAINT_TYPE": "0"},
                "ENABLE_VALIDATE_RELY": "0",
            },
        ),
        "TXNS": (
            size.transactions,
            {
                **{"TXN_ID": "n", "TXN_STATE": "'o'", "TXN_STARTED": "1700000000000"},
                **{
                    "TXN_LAST_HEARTBEAT": "0",
                    "TXN_USER": "'u'",
                    "TXN_HOST": "'h'",
                    "TXN_TYPE": "0",
                },
            },
        ),
        "TXN_TO_WRITE_ID": (
            size.transactions * 100,
            {
                **{"T2W_TXNID": "n", "T2W_WRITEID": "n"},
                **{"T2W_DATABASE": f"concat('db', 1 + mod(n + 1, {size.databases}))"},
                "T2W_TABLE": f"concat('t', 1 + mod(n, {size.tables}))",
            },
        ),
        "NEXT_WRITE_ID": (
            size.tables,
            {
                **{"NWI_DATABASE": f"concat('db', {size.database_of_table})"},
                **{"NWI_TABLE": "concat('t', n)", "NWI_NEXT": str(size.events + 1)},
            },
        ),
    }


def fill(url: str, size: Size = MILLION) -> None:
    """Fills an empty database."""
    engine = unpooled_engine(url)
    create(engine, VERSION)
    dialect = engine.dialect.name
    with engine.begin() as connection:
        connection.exec_driver_sql(_UNCHECKED[dialect])
        for table, (count, columns) in _rows(size).items():
            if count:
                connection.exec_driver_sql(_insertion(table, columns, dialect, count))
        sequence = metadata(VERSION).tables["NOTIFICATION_SEQUENCE"]
        connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=size.events + 1))


def add_events(connection: psycopg.Connection[Any], count: int) -> None:
    """Fills an empty log in PostgreSQL."""
    _, columns = _rows(MILLION)["NOTIFICATION_LOG"]
    connection.execute(_insertion("NOTIFICATION_LOG", columns, "postgresql", count))
    connection.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s', [count + 1])


def know(connection: psycopg.Connection[Any], *, statistics: bool) -> None:
    """Has PostgreSQL gather statistics, or forget them, as an upgrade of the server does."""
    for table in BIG:
        connection.execute(f'ALTER TABLE "{table}" SET (autovacuum_enabled = off)')
    if statistics:
        connection.execute("ANALYZE")
    else:
        connection.execute("DELETE FROM pg_statistic")
        connection.execute(
            "UPDATE pg_class SET reltuples = -1, relpages = 0, relallvisible = 0 "
            "WHERE relnamespace = 'public'::regnamespace"
        )


def _insertion(table: str, columns: Mapping[str, str], dialect: str, count: int) -> str:
    quote = "`" if dialect == "mysql" else '"'
    names = ", ".join(f"{quote}{name}{quote}" for name in columns)
    return (
        f"INSERT INTO {quote}{table}{quote} ({names}) "
        f"SELECT {', '.join(columns.values())} FROM {_NUMBERS[dialect].format(count)}"
    )
