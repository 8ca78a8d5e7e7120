"""A metastore's database with a log of a million events and a catalog of a million partitions."""

from typing import Any, Final

import psycopg
import sqlalchemy as sa

from hive.schema import Version, create, metadata
from metatide.stack.database import make_engine

VERSION: Final = Version.V4_1
EVENTS: Final = 1_000_000
PARTITIONS: Final = 1_000_000
FEWER: Final = 100_000
"""The number of rows that belong to them, where more wouldn't change how they are found."""
TABLES: Final = 10_000
DATABASES: Final = 100
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
_ROWS: Final[dict[str, tuple[int, dict[str, str]]]] = {
    "NOTIFICATION_LOG": (
        EVENTS,
        {
            **{"NL_ID": "n", "EVENT_ID": "n", "EVENT_TIME": "1700000000 + n / 100"},
            **{"EVENT_TYPE": "'ALTER_TABLE'", "CAT_NAME": "'hive'"},
            **{"DB_NAME": f"concat('db', 1 + mod(n + 1, {DATABASES}))"},
            **{"TBL_NAME": f"concat('t', 1 + mod(n, {TABLES}))"},
            **{"MESSAGE": "'{}'", "MESSAGE_FORMAT": "'json-0.2'"},
        },
    ),
    "DBS": (
        DATABASES,
        {
            **{"DB_ID": "n", "DB_LOCATION_URI": "'file:/w'", "NAME": "concat('db', n)"},
            **{"OWNER_NAME": "'hive'", "OWNER_TYPE": "'USER'", "CTLG_NAME": "'hive'"},
            "TYPE": "'NATIVE'",
        },
    ),
    "CDS": (TABLES, {"CD_ID": "n"}),
    "COLUMNS_V2": (
        TABLES,
        {"CD_ID": "n", "COLUMN_NAME": "'id'", "TYPE_NAME": "'bigint'", "INTEGER_IDX": "0"},
    ),
    "SERDES": (TABLES + PARTITIONS, {"SERDE_ID": "n", "SLIB": "'serde'"}),
    "SDS": (
        TABLES + PARTITIONS,
        {
            **{"SD_ID": "n", "CD_ID": f"1 + mod(n, {TABLES})", "SERDE_ID": "n"},
            **{"LOCATION": "concat('file:/w/', n)", "NUM_BUCKETS": "-1"},
            **{"IS_COMPRESSED": "false", "IS_STOREDASSUBDIRECTORIES": "false"},
        },
    ),
    "TBLS": (
        TABLES,
        {
            **{"TBL_ID": "n", "CREATE_TIME": "0", "DB_ID": f"1 + mod(n, {DATABASES})"},
            **{"LAST_ACCESS_TIME": "0", "OWNER": "'hive'", "OWNER_TYPE": "'USER'"},
            **{"RETENTION": "0", "SD_ID": "n", "TBL_NAME": "concat('t', n)"},
            **{"TBL_TYPE": "'MANAGED_TABLE'", "IS_REWRITE_ENABLED": "false"},
        },
    ),
    "TABLE_PARAMS": (
        TABLES,
        {"TBL_ID": "n", "PARAM_KEY": "'transactional'", "PARAM_VALUE": "'true'"},
    ),
    "PARTITION_KEYS": (
        TABLES,
        {"TBL_ID": "n", "PKEY_NAME": "'p'", "PKEY_TYPE": "'string'", "INTEGER_IDX": "0"},
    ),
    "PARTITIONS": (
        PARTITIONS,
        {
            **{"PART_ID": "n", "CREATE_TIME": "0", "LAST_ACCESS_TIME": "0"},
            **{"PART_NAME": "concat('p=', n)", "SD_ID": f"{TABLES} + n"},
            "TBL_ID": f"1 + mod(n, {TABLES})",
        },
    ),
    "PARTITION_KEY_VALS": (
        PARTITIONS,
        {"PART_ID": "n", "INTEGER_IDX": "0", "PART_KEY_VAL": "concat('', n)"},
    ),
    "PARTITION_PARAMS": (
        FEWER,
        {"PART_ID": "n", "PARAM_KEY": "'numRows'", "PARAM_VALUE": "'1'"},
    ),
    "TAB_COL_STATS": (
        TABLES,
        {
            **{"CS_ID": "n", "TBL_ID": "n", "COLUMN_NAME": "'id'", "COLUMN_TYPE": "'bigint'"},
            **{"NUM_NULLS": "0", "LAST_ANALYZED": "0", "ENGINE": "'hive'"},
        },
    ),
    "PART_COL_STATS": (
        FEWER,
        {
            **{"CS_ID": "n", "PART_ID": "n", "COLUMN_NAME": "'id'", "COLUMN_TYPE": "'bigint'"},
            **{"NUM_NULLS": "0", "LAST_ANALYZED": "0", "ENGINE": "'hive'"},
        },
    ),
    "KEY_CONSTRAINTS": (
        TABLES,
        {
            **{"PARENT_TBL_ID": "n", "CONSTRAINT_NAME": "concat('pk', n)", "POSITION": "0"},
            **{"PARENT_CD_ID": "n", "PARENT_INTEGER_IDX": "0", "CONSTRAINT_TYPE": "0"},
            "ENABLE_VALIDATE_RELY": "0",
        },
    ),
    "TXNS": (
        1000,
        {
            **{"TXN_ID": "n", "TXN_STATE": "'o'", "TXN_STARTED": "1700000000000"},
            **{"TXN_LAST_HEARTBEAT": "0", "TXN_USER": "'u'", "TXN_HOST": "'h'", "TXN_TYPE": "0"},
        },
    ),
    "TXN_TO_WRITE_ID": (
        FEWER,
        {
            **{"T2W_TXNID": "n", "T2W_DATABASE": f"concat('db', 1 + mod(n + 1, {DATABASES}))"},
            **{"T2W_TABLE": f"concat('t', 1 + mod(n, {TABLES}))", "T2W_WRITEID": "n"},
        },
    ),
    "NEXT_WRITE_ID": (
        TABLES,
        {
            **{"NWI_DATABASE": f"concat('db', 1 + mod(n, {DATABASES}))"},
            **{"NWI_TABLE": "concat('t', n)", "NWI_NEXT": str(EVENTS)},
        },
    ),
}


def fill(url: str) -> None:
    """Fills an empty database."""
    engine = make_engine(url)
    create(engine, VERSION)
    dialect = engine.dialect.name
    with engine.begin() as connection:
        connection.exec_driver_sql(_UNCHECKED[dialect])
        for table in _ROWS:
            connection.exec_driver_sql(_insertion(table, dialect))
        sequence = metadata(VERSION).tables["NOTIFICATION_SEQUENCE"]
        connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=EVENTS + 1))


def add_events(connection: psycopg.Connection[Any], count: int) -> None:
    """Fills an empty log in PostgreSQL."""
    connection.execute(_insertion("NOTIFICATION_LOG", "postgresql", count))
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


def _insertion(table: str, dialect: str, count: int | None = None) -> str:
    rows, columns = _ROWS[table]
    quote = "`" if dialect == "mysql" else '"'
    names = ", ".join(f"{quote}{name}{quote}" for name in columns)
    numbers = _NUMBERS[dialect].format(count or rows)
    return (
        f"INSERT INTO {quote}{table}{quote} ({names}) "
        f"SELECT {', '.join(columns.values())} FROM {numbers}"
    )
