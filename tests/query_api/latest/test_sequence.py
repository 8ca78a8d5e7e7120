"""The statement, on a real database with a real log."""

import pytest
import sqlalchemy as sa

from hive.errors import SourceError
from hive.schema import Version, create
from query_api.database import bounded_engine
from query_api.latest.latest_log import ROWS_MAX
from query_api.latest.row_effects import WITH_MESSAGE
from query_api.latest.sequence import SequenceReader
from tests.query_api.folded_world import World


def reader_of(url: str) -> SequenceReader:
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    return SequenceReader(engine, lambda: Version.V4_1)


def test_rows_from_an_event_on_with_the_messages_that_are_needed(small_world: World) -> None:
    reader = reader_of(small_world.url)
    current = small_world.current
    tail = reader.read(current - 300, current - 100)
    assert tail.current == current
    assert [row.event_id for row in tail.rows] == list(range(current - 300, current + 1))
    for row in tail.rows:
        needed = row.event_type in WITH_MESSAGE and row.event_id > current - 100
        assert bool(row.message) == needed
    assert any(row.message for row in tail.rows)
    reader.close()


def test_of_too_many_rows_only_the_newest_are_read(small_world: World) -> None:
    reader = reader_of(small_world.url)
    rows = reader.read(0, small_world.current).rows
    assert len(rows) == min(ROWS_MAX + 1, small_world.current)
    assert rows[-1].event_id == small_world.current
    assert reader.read(small_world.current + 5, 0).rows == []
    reader.close()


def test_an_empty_log_and_a_missing_sequence(new_database: object) -> None:
    assert callable(new_database)
    url = new_database()
    engine = sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    create(engine, Version.V4_1)
    reader = reader_of(url)
    assert reader.read(0, 0) == (0, [])
    with engine.begin() as connection:
        connection.exec_driver_sql('DELETE FROM "NOTIFICATION_SEQUENCE"')
    with pytest.raises(SourceError, match="NOTIFICATION_SEQUENCE has no row"):
        reader.read(0, 0)
    reader.close()
    engine.dispose()
