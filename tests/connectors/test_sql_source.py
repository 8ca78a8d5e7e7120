"""Polls of the log in a database, and what they ask the server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from connectors import sql_source
from connectors.sql_source import SqlSource
from metatide.stack.database import make_engine
from tests.connectors.connector_runs import Log


@pytest.fixture(
    params=["new_database", pytest.param("new_mariadb_database", marks=pytest.mark.mariadb)],
    ids=["postgresql", "mariadb"],
)
def log(request: pytest.FixtureRequest) -> Log:
    new_database: Callable[[], str] = request.getfixturevalue(request.param)
    return Log(make_engine(new_database()))


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements that an engine runs."""
    ran: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        ran.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield ran
    sa.event.remove(engine, "before_cursor_execute", note)


def replace(log: Log, event_id: int) -> None:
    """Replaces the last event by another one with the same id."""
    log.delete(event_id, event_id)
    log.write(event_id, message='{"txnid":99}')


def test_at_rest_only_the_sequence_is_read(log: Log) -> None:
    log.write(1, 2)
    source = SqlSource(log.engine)
    assert [row.event_id for row in source.poll(1, 1).rows] == [2]
    first = source.poll(2, 2)
    with statements(log.engine) as ran:
        assert source.poll(2, 2) == first
        assert len(ran) == 1
        assert "NOTIFICATION_LOG" not in ran[0]
        other = source.poll(2, 1)
    assert len(ran) == 2, "another event to check needs the log"
    assert other.checked != first.checked
    log.write(3)
    later = source.poll(2, 2)
    assert ([row.event_id for row in later.rows], later.current) == ([3], 3)
    source.close()


def test_the_log_is_looked_at_from_time_to_time(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that was replaced by another one of the same length is noticed."""
    log.write(1, 2)
    source = SqlSource(log.engine)
    before = source.poll(2, 2)
    monkeypatch.setattr(sql_source, "LOOK_S", 0.0)
    source.poll(2, 1)
    assert source.poll(2, 2) == before
    replace(log, 2)
    assert source.poll(2, 2).checked != before.checked
    source.close()


def test_a_lost_connection_ends_the_rest(log: Log) -> None:
    log.write(1)
    source = SqlSource(log.engine)
    before = source.poll(1, 1)
    source.close()
    replace(log, 1)
    assert source.poll(1, 1).checked != before.checked
    source.close()
