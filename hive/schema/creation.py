"""Creates the metastore's tables in an empty database, and detects the schema of a database."""

import time
from typing import Any, Final

from sqlalchemy import Connection, Engine, MetaData, insert, inspect, select, text, update

from hive.errors import InputError, SourceError
from hive.names import DEFAULT_CATALOG
from hive.schema.bookkeeping import describe_version
from hive.schema.columns import MYSQL
from hive.schema.description import metadata
from hive.schema.version import Version, parse_release
from hive.urls import masked

_MODEL: Final = "org.apache.hadoop.hive.metastore.model"


def create(engine: Engine, version: Version) -> None:
    """Creates all tables, with the rows that a metastore expects in a new schema."""
    with engine.begin() as connection:
        if inspect(connection).get_table_names():
            raise InputError(
                f"{masked(engine.url.render_as_string())} holds tables already; "
                "the metastore's schema is only made in an empty database"
            )
        metadata(version).create_all(connection, checkfirst=False)
        for name, row in _first_rows(version):
            connection.execute(insert(metadata(version).tables[name]).values(row))
        if version >= Version.V4_0:
            _insert_first_transaction(connection, version)


def insert_warehouse(engine: Engine, version: Version, managed: str, external: str) -> None:
    """Inserts what the first metastore to start on a new schema does, of which no event tells: the
    folders of its warehouse, and the database `default`.
    """
    tables = metadata(version).tables
    catalogs, databases = tables["CTLGS"], tables["DBS"]
    row = {
        "DB_ID": 1,
        "DESC": "Default Hive database",
        "DB_LOCATION_URI": external,
        "NAME": "default",
        "OWNER_NAME": "public",
        "OWNER_TYPE": "ROLE",
        "CTLG_NAME": DEFAULT_CATALOG,
        "CREATE_TIME": int(time.time()),
        "TYPE": "NATIVE",
    }
    sequence = {"SEQUENCE_NAME": f"{_MODEL}.MDatabase", "NEXT_VAL": 2}
    with engine.begin() as connection:
        of_catalog = update(catalogs).where(catalogs.c.NAME == DEFAULT_CATALOG)
        connection.execute(of_catalog.values(LOCATION_URI=managed))
        connection.execute(insert(databases).values(row))
        connection.execute(insert(tables["SEQUENCE_TABLE"]).values(sequence))


def detect(connection: Connection) -> Version | None:
    """The version of the schema in this database; None if there is none."""
    if not inspect(connection).has_table("VERSION"):
        return None
    release = connection.scalar(select(describe_version(MetaData()).c.SCHEMA_VERSION))
    if release is None:
        raise InputError(
            "the table VERSION of the metastore's database is empty: "
            "the schema is incomplete; make it again with Hive's schematool"
        )
    return parse_release(release)


def detect_followed(connection: Connection) -> Version | None:
    """The version as `detect` returns it; InputError if that version's log leaves out changes."""
    version = detect(connection)
    if version is not None and version < Version.V4_0:
        raise InputError(
            f"the metastore's database is of Hive {version.release}, whose log leaves out updates "
            "of statistics and what they change in tables and partitions: Metatide follows 4.0 "
            "and later; upgrade the metastore"
        )
    return version


def require_followed(connection: Connection) -> Version:
    """The version as `detect_followed` returns it; SourceError if the database has no tables of a
    metastore."""
    version = detect_followed(connection)
    if version is None:
        raise SourceError(
            f"{masked(connection.engine.url.render_as_string())} has no metastore's tables; "
            "start the metastore, or correct database.url"
        )
    return version


def _first_rows(version: Version) -> list[tuple[str, dict[str, Any]]]:
    comment = f"Hive release version {version.release}"
    rows: list[tuple[str, dict[str, Any]]] = [
        ("VERSION", {"VER_ID": 1, "SCHEMA_VERSION": version.release, "VERSION_COMMENT": comment}),
        # When the metastore starts, it replaces TBD by its warehouse.
        (
            "CTLGS",
            {
                "CTLG_ID": 1,
                "NAME": DEFAULT_CATALOG,
                "DESC": "Default catalog for Hive",
                "LOCATION_URI": "TBD",
            },
        ),
        ("NOTIFICATION_SEQUENCE", {"NNI_ID": 1, "NEXT_EVENT_ID": 1}),
        ("SEQUENCE_TABLE", {"SEQUENCE_NAME": f"{_MODEL}.MNotificationLog", "NEXT_VAL": 1}),
        ("NEXT_LOCK_ID", {"NL_NEXT": 1}),
        ("NEXT_COMPACTION_QUEUE_ID", {"NCQ_NEXT": 1}),
    ]
    if version >= Version.V4_0:
        rows += [
            (
                "SEQUENCE_TABLE",
                {"SEQUENCE_NAME": f"{_MODEL}.MTxnWriteNotificationLog", "NEXT_VAL": 1},
            ),
            ("TXN_LOCK_TBL", {"TXN_LOCK": 1}),
        ]
    else:
        rows.append(("NEXT_TXN_ID", {"NTXN_NEXT": 1}))
    return rows


def _insert_first_transaction(connection: Connection, version: Version) -> None:
    """Inserts transaction 0, committed: the metastore reads the highest id from this table."""
    row = {
        "TXN_ID": 0,
        "TXN_STATE": "c",
        "TXN_STARTED": 0,
        "TXN_LAST_HEARTBEAT": 0,
        "TXN_USER": "",
        "TXN_HOST": "",
    }
    first = insert(metadata(version).tables["TXNS"]).values(row)
    if connection.dialect.name not in MYSQL:
        connection.execute(first)
        return
    mode = connection.scalar(text("SELECT @@SESSION.sql_mode"))
    set_mode = text("SET SESSION sql_mode = :mode")
    # Otherwise MySQL takes 0 for "the next id".
    connection.execute(set_mode, {"mode": f"{mode},NO_AUTO_VALUE_ON_ZERO"})
    connection.execute(first)
    connection.execute(set_mode, {"mode": mode})
