"""Polls of the log in a database, and what they ask the server."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import product
from types import SimpleNamespace
from typing import cast

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from connectors.log import sql_source
from connectors.log.source import HASHED_CHARS_MAX, rows_hash
from connectors.log.sql_source import SqlSource
from hive.errors import SourceError
from hive.events import decimal_places
from hive.events.column_limits import UNLIMITED, ColumnLimits
from hive.events.kept_characters import LATIN1
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from state.records.actions import MISNAMED_EVENTS_MAX
from tests.connectors.connector_runs import Log


@pytest.fixture(
    params=[
        "new_metastore_database",
        pytest.param("new_mariadb_database", marks=pytest.mark.mariadb),
    ],
    ids=["postgresql", "mariadb"],
)
def log(request: pytest.FixtureRequest) -> Log:
    new: Callable[[], str] = request.getfixturevalue(request.param)
    return Log(unpooled_engine(new()))


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements that an engine runs."""
    ran: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        ran.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield ran
    sa.event.remove(engine, "before_cursor_execute", note)


@contextmanager
def leading_to(engine: sa.Engine, other: sa.Engine) -> Iterator[None]:
    """New connections of an engine reach another database."""

    def redirect(_dialect: object, _record: object, _: object, settings: dict[str, str]) -> None:
        settings["database"] = str(other.url.database)

    sa.event.listen(engine, "do_connect", redirect)
    yield
    sa.event.remove(engine, "do_connect", redirect)


def end_sessions(engine: sa.Engine) -> None:
    """Ends all other sessions of the database."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).all()
            return
        sessions = connection.exec_driver_sql(
            "SELECT id FROM information_schema.processlist "
            "WHERE db = database() AND id <> connection_id()"
        )
        for (session,) in sessions.all():
            connection.exec_driver_sql(f"KILL {session}")


def replace(log: Log, event_id: int) -> None:
    """Replaces the last event by another one with the same id."""
    log.delete(event_id, event_id)
    log.write(event_id, message='{"txnid":99}')


def test_hashes_are_those_of_what_is_polled(log: Log) -> None:
    long, odd = "x" * (HASHED_CHARS_MAX + 1), "grün"
    log.write(1, message=long)
    log.write(2, message=odd)
    log.write(*range(3, 700))
    source = SqlSource(log.engine)
    polled = {row.event_id: rows_hash([row]) for row in source.poll(0, 0).rows}
    assert source.hashes(range(1, 1_000)) == polled
    assert source.poll(699, 1).checked == polled[1]
    assert source.hashes([]) == {}
    source.close()


def test_older_rows_are_older_by_their_ids_and_times(log: Log) -> None:
    for event, time_s in ((3, 50), (4, 40), (5, 45)):
        log.write(event, EVENT_TIME=time_s)
    source = SqlSource(log.engine)
    assert (source.older(5, None), source.older(4, None), source.older(3, None)) == (3, 3, None)
    assert (source.older(5, 45), source.older(5, 50), source.older(5, 39)) == (4, 3, None)
    assert (source.poll(5, 4).checked_s, source.poll(5, 2).checked_s) == (40, None)
    source.close()


def test_alters_come_in_order_and_no_other_events_do(log: Log) -> None:
    first = 1 + MISNAMED_EVENTS_MAX
    for event, size in zip(range(first, first + 8), (40, 40, 40, 500, 20, 20, 20, 20), strict=True):
        log.write(event, type_="ALTER_TABLE", message="x" * size)
    log.write(1, first + 8, type_="ALTER_TABLE")
    log.write(first + 9)
    everything = range(first, first + 9)
    for bytes_max in (1, 39, 80, 100, 10_000):
        source = SqlSource(log.engine, bytes_max=bytes_max)
        rows = list(source.alters(first + 9))
        assert [row.event_id for row in rows] == list(everything)
        assert [len(row.message) for row in rows[:4]] == [40, 40, 40, 500]
        assert [row.event_id for row in source.alters(first + 2)] == list(everything)[:3]
        assert [row.event_id for row in source.alters(first - 1)] == [1], "then 1 was recent"
        source.close()


def test_alters_are_sought_in_stretches_of_the_log(log: Log) -> None:
    edge = sql_source.EVENTS_SOUGHT_MAX
    written = [1, edge - 1, edge, edge + 1, 2 * edge, 2 * edge + 1]
    log.write(*written, type_="ALTER_TABLE")
    source = SqlSource(log.engine)
    for upto, count in ((edge, 3), (edge + 1, 4), (2 * edge, 5), (2 * edge + 5, 6)):
        assert [row.event_id for row in source.alters(upto)] == written[:count]
    source.close()


def test_only_some_alters_are_in_memory(log: Log) -> None:
    """A table format's commits are alters of some 100 KiB each."""
    log.write(*range(1, 7), type_="ALTER_TABLE", message="x" * 40)
    source = SqlSource(log.engine, bytes_max=100)
    alters = iter(source.alters(6))
    assert next(alters).event_id == 1
    log.delete(3, 6)
    assert [row.event_id for row in alters] == [2], "what was deleted hadn't been read yet"
    source.close()


@pytest.mark.parametrize(
    ("scheme", "dropped"), [("postgresql", ["DISCARD PLANS"]), ("mysql", list[str]())]
)
def test_plans_are_dropped_where_sessions_keep_them(scheme: str, dropped: list[str]) -> None:
    ran = list[str]()
    connection = SimpleNamespace(exec_driver_sql=ran.append)
    source = SqlSource(unpooled_engine(f"{scheme}://ann@127.0.0.1:1/nowhere"))
    source._drop_plans(cast(sa.Connection, connection))
    assert ran == dropped


def test_at_rest_only_the_sequence_is_read(log: Log) -> None:
    log.write(1, 2)
    source = SqlSource(log.engine)
    assert [row.event_id for row in source.poll(1, 1).rows] == [2]
    assert not source.rests(2, 2), "the log has to be looked at first"
    first = source.poll(2, 2)
    with statements(log.engine) as ran:
        assert source.rests(2, 2)
        assert source.rests(2, 2)
        assert not source.rests(2, 1), "another event to check needs the log"
    assert not ran, "the sequence is read past what costs most"
    assert source.poll(2, 1).checked != first.checked
    assert not source.rests(2, 2)
    source.poll(2, 2)
    assert source.rests(2, 2)
    log.write(3)
    assert not source.rests(2, 2)
    later = source.poll(2, 2)
    assert ([row.event_id for row in later.rows], later.current) == ([3], 3)
    source.close()


def test_the_log_is_looked_at_from_time_to_time(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was replaced by another one of the same length is noticed."""
    log.write(1, 2)
    source = SqlSource(log.engine)
    before = source.poll(2, 2)
    replace(log, 2)
    assert source.rests(2, 2), "the sequence is the same"
    monkeypatch.setattr(sql_source, "LOOK_S", 0.0)
    source.poll(2, 1)
    source.poll(2, 2)
    assert not source.rests(2, 2)
    assert source.poll(2, 2).checked != before.checked
    source.close()


def test_a_lost_connection_ends_the_rest(log: Log) -> None:
    log.write(1)
    source = SqlSource(log.engine)
    before = source.poll(1, 1)
    assert source.rests(1, 1)
    source.close()
    assert not source.rests(1, 1)
    replace(log, 1)
    assert source.poll(1, 1).checked != before.checked
    source.close()


def test_a_connection_that_the_server_ended_is_no_rest(log: Log) -> None:
    log.write(1)
    source = SqlSource(log.engine)
    source.poll(1, 1)
    end_sessions(log.engine)
    assert not source.rests(1, 1)
    with pytest.raises(SourceError):
        source.poll(1, 1)
    assert source.poll(1, 1).current == 1
    source.close()


@pytest.mark.mariadb
def test_a_switchover_by_name_is_followed(
    new_mariadb_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A former primary of MySQL or MariaDB serves its sessions as before."""
    former, later = (Log(unpooled_engine(new_mariadb_database())) for _ in range(2))
    former.write(1)
    later.write(1, 2)
    source = SqlSource(former.engine)
    assert source.poll(0, 0).current == 1
    with capture_logs() as entries, leading_to(former.engine, later.engine):
        assert source.poll(1, 1).current == 1, "a connection is kept for a while"
        monkeypatch.setattr(sql_source, "RECYCLED_S", 0)
        assert source.rests(1, 1)
        assert source.poll(1, 1).current == 2
        assert [row.event_id for row in source.poll(1, 1).rows] == [2]
    assert not entries, "no fault is told where there was none"
    source.close()


def test_connections_to_postgresql_are_kept(
    new_metastore_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A former primary ends them."""
    log = Log(unpooled_engine(new_metastore_database()))
    source = SqlSource(log.engine)
    source.poll(0, 0)
    monkeypatch.setattr(sql_source, "RECYCLED_S", 0)
    made: list[None] = []
    sa.event.listen(log.engine, "connect", lambda *_: made.append(None))
    source.poll(0, 0)
    assert not made
    source.close()


def test_a_database_without_tables_is_read_once_a_metastore_has_made_them(
    new_database: Callable[[], str],
) -> None:
    engine = unpooled_engine(new_database())
    source = SqlSource(engine)
    for _ in range(2):
        with pytest.raises(SourceError, match="has no metastore's tables"):
            source.poll(0, 0)
    create(engine, Version.V4_1)
    assert source.poll(0, 0).current == 0
    source.close()


def test_a_source_tells_what_its_database_does_not_keep(log: Log) -> None:
    """It asks once a connection."""
    is_mysql = log.engine.dialect.name != "postgresql"
    figures = product(decimal_places.TABLES, decimal_places.FIGURES.values())
    of_mysql = ColumnLimits(dict.fromkeys(figures, 4), LATIN1)
    with closing(SqlSource(log.engine)) as source:
        assert source.column_limits() == (of_mysql if is_mysql else UNLIMITED)
        with statements(log.engine) as ran:
            source.column_limits()
        assert not ran
