"""How often a read waits for the database, which may be far away, and by which connections."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.schema import Version, create, detect, metadata
from metatide.stack.machine import LOOPBACK
from query_api.database import DatabaseObjects, bounded_engine
from query_api.database.reads import CurrentEvent
from query_api.reads import GetDatabase, GetTable
from query_api.reads.read import Read
from tests.query_api.folded_world import World
from tests.support.round_trips import RoundTrips, round_trips

VERSION = Version.V4_1
WARM_UP = 10
"""The driver prepares statements that it has seen some times, with a round trip more."""


@pytest.fixture
def way(small_world: World) -> Iterator[RoundTrips]:
    url = sa.make_url(small_world.url)
    assert url.host
    assert url.port
    with round_trips((url.host, url.port)) as way:
        yield way


def reads(world: World) -> list[tuple[Read[Any], int]]:
    shard = world.shards.shard(0)
    assert shard is not None
    reader = shard.reader()
    table = next(name for name in reader.table_names() if reader.table(name) is not None)
    return [(CurrentEvent(), 1), (GetDatabase(table.database), 3), (GetTable(table), 3)]


def test_a_read_waits_once_for_each_statement(small_world: World, way: RoundTrips) -> None:
    url = sa.make_url(small_world.url).set(host=LOOPBACK, port=way.port)
    text = url.render_as_string(hide_password=False)
    engine = bounded_engine(text, connections=1, statement_timeout_ms=10_000)
    with engine.connect() as connection:
        version = detect(connection)
    assert version is not None
    for read, statements in reads(small_world):
        for _ in range(WARM_UP):
            before = way.count
            with open_snapshot(engine, version) as snapshot:
                read.answer(DatabaseObjects(snapshot))
                answered = way.count
            ended = way.count
        assert (answered - before, ended - answered) == (statements, 1)
    engine.dispose()


def create_schema(url: str) -> None:
    engine = unpooled_engine(url)
    create(engine, VERSION)
    engine.dispose()


def kill_others(engine: sa.Engine) -> None:
    """Ends all connections to the database but one of the engine's own; returns when they are
    gone."""
    if engine.dialect.name == "postgresql":
        kill = "SELECT pg_terminate_backend({})"
        others = (
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    else:
        kill = "KILL {}"
        others = (
            "SELECT ID FROM information_schema.PROCESSLIST"
            " WHERE DB = DATABASE() AND ID <> CONNECTION_ID()"
        )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for (other,) in connection.execute(sa.text(others)).all():
            connection.execute(sa.text(kill.format(int(other))))
        while connection.execute(sa.text(others)).all():
            time.sleep(0.01)


@pytest.fixture(
    params=["new_database", pytest.param("new_mariadb_database", marks=pytest.mark.mariadb)]
)
def url(request: pytest.FixtureRequest) -> str:
    """An empty database with Hive's schema."""
    new_database: Callable[[], str] = request.getfixturevalue(request.param)
    url = new_database()
    create_schema(url)
    return url


def test_connections_that_the_server_has_closed_are_replaced(url: str) -> None:
    engine, other = (bounded_engine(url, connections=2, statement_timeout_ms=10_000) for _ in "12")
    with engine.connect(), engine.connect():
        pass
    kill_others(other)
    for _ in range(3):
        with open_snapshot(engine, VERSION) as first, open_snapshot(engine, VERSION) as second:
            assert first.position == second.position
    engine.dispose()
    other.dispose()


def test_a_snapshot_stays_at_its_moment(url: str) -> None:
    engine = bounded_engine(url, connections=2, statement_timeout_ms=10_000)
    sequence = metadata(VERSION).tables["NOTIFICATION_SEQUENCE"]
    current = sa.select(sequence.c.NEXT_EVENT_ID)
    for _ in range(2):
        with engine.connect() as connection, open_snapshot(engine, VERSION) as snapshot:
            event = sequence.c.NEXT_EVENT_ID
            connection.execute(sa.update(sequence).values({event: event + 1}))
            connection.commit()
            [(following,)] = snapshot.rows(current)
            assert following == max(snapshot.position, 0) + 1
    engine.dispose()


@pytest.mark.mariadb
def test_a_snapshot_stays_at_its_moment_whatever_the_default_is(
    new_mariadb_database: Callable[[], str],
) -> None:
    url = new_mariadb_database()
    create_schema(url)
    admin = bounded_engine(url, connections=1, statement_timeout_ms=10_000)
    early = bounded_engine(url, connections=2, statement_timeout_ms=10_000)
    with admin.connect() as connection, early.connect():
        before = connection.exec_driver_sql("SELECT @@GLOBAL.tx_isolation").scalar()
        assert before == "REPEATABLE-READ"
        set_default = "SET GLOBAL TRANSACTION ISOLATION LEVEL {}"
        connection.exec_driver_sql(set_default.format("READ COMMITTED"))
        try:
            early.dispose()
            late = bounded_engine(url, connections=2, statement_timeout_ms=10_000)
            for engine in (early, late):
                with open_snapshot(engine, VERSION) as snapshot:
                    [(level,)] = snapshot.rows(sa.text("SELECT @@SESSION.tx_isolation"))
                    assert level == "REPEATABLE-READ"
                # Otherwise each transaction would set it, which takes two round trips.
                assert engine.dialect.default_isolation_level == "REPEATABLE READ"
                engine.dispose()
        finally:
            connection.exec_driver_sql(set_default.format("REPEATABLE READ"))
    admin.dispose()


@pytest.mark.mariadb
@pytest.mark.parametrize("parameter", ["autocommit=true", "autocommit=false"])
def test_a_snapshot_stays_at_its_moment_whatever_the_url_says(
    parameter: str, new_mariadb_database: Callable[[], str]
) -> None:
    url = new_mariadb_database()
    create_schema(url)
    test_a_snapshot_stays_at_its_moment(f"{url}?{parameter}")


def test_what_the_driver_says_is_an_error_of_the_database(url: str) -> None:
    engine = bounded_engine(url, connections=1, statement_timeout_ms=10_000)
    with engine.begin() as connection:
        metadata(VERSION).tables["NOTIFICATION_SEQUENCE"].drop(connection)
    with pytest.raises(sa.exc.ProgrammingError), open_snapshot(engine, VERSION):
        pass
    engine.dispose()
