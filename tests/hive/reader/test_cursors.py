"""Long answers take one round trip, and their connection serves again whatever became of them."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import tuple_row

from hive.reader.cursors import FETCHED_ROWS, LongAnswer
from hive.reader.engines import pooled_engine
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.schema import Version, create, metadata
from metatide.stack.machine import LOOPBACK
from tests.support.round_trips import RoundTrips, round_trips

VERSION = Version.V4_1
ROWS = 2 * FETCHED_ROWS + 1
NUMBER = sa.func.generate_series(1, ROWS).column_valued("n")
LONG = sa.select(NUMBER, sa.func.concat("row ", NUMBER))
EMPTY = sa.select(NUMBER).where(NUMBER < 0)
FAILS_LATE = sa.select(1 / (ROWS - NUMBER))


@pytest.fixture
def way(new_database: Callable[[], str]) -> Iterator[tuple[RoundTrips, sa.Engine]]:
    """A way to a database with Hive's schema, and an engine with one connection by it."""
    url = sa.make_url(new_database())
    assert url.host
    assert url.port
    with round_trips((url.host, url.port)) as counted:
        engine = pooled_engine(url.set(host=LOOPBACK, port=counted.port), 1)
        create(engine, VERSION)
        yield counted, engine
        engine.dispose()


def streamed(snapshot: DatabaseSnapshot, statement: sa.Select[Any]) -> list[tuple[object, ...]]:
    pages = list(snapshot.stream(statement))
    assert all(len(page) <= FETCHED_ROWS for page in pages)
    return [row for page in pages for row in page]


def test_a_long_answer_takes_one_round_trip(way: tuple[RoundTrips, sa.Engine]) -> None:
    counted, engine = way
    with open_snapshot(engine, VERSION) as snapshot:
        for statement, rows in ((LONG, ROWS), (EMPTY, 0)):
            before = counted.count
            answer = streamed(snapshot, statement)
            assert counted.count - before == 1
            assert answer[-1:] == [(ROWS, f"row {ROWS}")][:rows]
            assert len(answer) == rows


def test_rows_that_nobody_takes_hold_nobody_up(way: tuple[RoundTrips, sa.Engine]) -> None:
    _, engine = way
    abandoned = []

    def leave() -> None:
        with open_snapshot(engine, VERSION) as snapshot:
            rows = snapshot.stream(LONG)
            abandoned.append(rows)
            assert len(next(rows)) == FETCHED_ROWS
            raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            leave()
    with open_snapshot(engine, VERSION) as snapshot:
        assert streamed(snapshot, EMPTY) == []


def test_nothing_is_read_beside_a_long_answer(way: tuple[RoundTrips, sa.Engine]) -> None:
    _, engine = way
    with open_snapshot(engine, VERSION) as snapshot:
        rows = snapshot.stream(LONG)
        next(rows)
        for read in (lambda: snapshot.rows(EMPTY), lambda: list(snapshot.stream(EMPTY))):
            with pytest.raises(AssertionError, match="hasn't ended"):
                read()
        assert len(list(rows)) == 2
        assert snapshot.rows(EMPTY) == []


def test_an_error_among_the_rows_is_raised(way: tuple[RoundTrips, sa.Engine]) -> None:
    _, engine = way
    failing = pytest.raises(sa.exc.DataError, match="division by zero")
    with failing, open_snapshot(engine, VERSION) as snapshot:
        streamed(snapshot, FAILS_LATE)
    with open_snapshot(engine, VERSION) as snapshot:
        names = sa.select(metadata(VERSION).tables["DBS"].c.NAME)
        assert list(snapshot.stream(names)) == []


def test_a_long_answer_is_fetched_as_the_interface_of_drivers_says(new_database: Any) -> None:
    url = sa.make_url(new_database()).render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:
        cursor = LongAnswer(connection, row_factory=tuple_row)
        cursor.close()
        with LongAnswer(connection, row_factory=tuple_row) as answer:
            answer.execute("SELECT generate_series(1, 5)")
            assert (answer.fetchone(), answer.fetchmany(2)) == ((1,), [(2,), (3,)])
            assert (answer.fetchall(), answer.fetchone()) == ([(4,), (5,)], None)
