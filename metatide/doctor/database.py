"""Checks of the metastore's database."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from hive.errors import InputError
from hive.reader.collation import read_collation
from hive.reader.driver_errors import driver_reason
from hive.reader.engines import unpooled_engine
from hive.schema import detect_followed
from hive.urls import masked
from metatide.doctor.finding import Finding, failed, ok
from metatide.doctor.target import Target

_REPLICA = {"postgresql": "SELECT pg_is_in_recovery()", "mysql": "SELECT @@global.read_only"}


@contextmanager
def snapshot(target: Target) -> Iterator[Connection]:
    """A transaction in which all reads see the same state."""
    assert target.database_url is not None
    engine = unpooled_engine(target.database_url).execution_options(
        isolation_level="REPEATABLE READ"
    )
    with engine.connect() as connection:
        yield connection


def reachable(target: Target) -> Finding:
    if target.database_url is None:
        return failed(
            "none is configured and none is running here", "start `metatide up` or give --database"
        )
    shown = masked(target.database_url)
    try:
        with snapshot(target) as connection:
            replica = connection.scalar(text(_REPLICA[connection.dialect.name]))
            release = connection.dialect.server_version_info or ()
    except InputError as error:
        detail, _, remedy = str(error).partition(": ")
        return failed(detail, remedy)
    except DBAPIError as error:
        return failed(
            f"{shown} does not answer: {driver_reason(error)}",
            "start it, or correct database.url (--database) and database.password",
        )
    if replica:
        return failed(
            f"{shown} is a replica, which may lag behind", "name the primary in database.url"
        )
    return ok(f"{shown}, release {'.'.join(map(str, release))}")


def schema(target: Target) -> Finding:
    try:
        with snapshot(target) as connection:
            version = detect_followed(connection)
    except InputError as error:
        detail, _, remedy = str(error).partition(": ")
        return failed(detail, remedy)
    if version is None:
        return failed(
            "this database has no metastore's tables",
            "correct the name of the database in database.url, or let Hive's schematool "
            "(or `metatide up`, in an empty one of its own) make them",
        )
    return ok(f"as of Hive {version.release}")


def collation(target: Target) -> Finding:
    with snapshot(target) as connection:
        order = read_collation(connection)
    if not order.is_exact:
        return failed(
            f"{order.name} treats different partition names as equal, so the Thrift server "
            "leaves all reads of partitions to the metastore",
            "give PARTITIONS.PART_NAME and PARTITION_KEY_VALS.PART_KEY_VAL a collation that ends "
            "in _bin, as Hive's own scripts do",
        )
    if not order.by_bytes:
        return ok(
            f"{order.name} sorts partitions in its own way; where that counts, the Thrift server "
            "leaves them to the metastore"
        )
    return ok(f"{order.name}, by bytes")
