"""The statements, on real databases with a real log."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from sys import modules
from threading import Event

import pytest
import sqlalchemy as sa

from hive.errors import SourceError
from hive.reader.engines import has_input, unpooled_engine
from hive.schema import Version, create, metadata
from query_api.database import bounded_engine
from query_api.latest import SequenceReader, sequence_reader
from query_api.latest.log_end import ROWS_MAX
from query_api.latest.row_effects import WITH_MESSAGE
from query_api.latest.sequence import SHORT_ROWS_MAX
from query_api.latest.sequence_reader import EventLoopReader, ThreadReader
from tests.query_api.folded_world import World

READER = "query_api.latest.sequence_reader"
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@asynccontextmanager
async def reader_of(url: str) -> AsyncIterator[SequenceReader]:
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    reader = sequence_reader(engine, lambda: Version.V4_1)
    yield reader
    await reader.close()
    engine.dispose()


async def test_rows_from_an_event_on_with_the_messages_that_are_needed(small_world: World) -> None:
    current = small_world.current
    async with reader_of(small_world.url) as reader:
        for behind in (300, SHORT_ROWS_MAX, SHORT_ROWS_MAX - 1, 1, 0):
            tail = await reader.read(current - behind, current - 100)
            assert tail.current == current
            events = list(range(current - behind, current + 1))
            assert [row.event_id for row in tail.rows] == events
            for row in tail.rows:
                needed = row.event_type in WITH_MESSAGE and row.event_id > current - 100
                assert bool(row.message) == needed
            assert behind < 100 or any(row.message for row in tail.rows)


async def test_of_too_many_rows_only_the_newest_are_read(small_world: World) -> None:
    async with reader_of(small_world.url) as reader:
        rows = (await reader.read(0, small_world.current)).rows
        assert len(rows) == min(ROWS_MAX + 1, small_world.current)
        assert rows[-1].event_id == small_world.current
        assert (await reader.read(small_world.current + 5, 0)).rows == []


async def test_an_empty_log_and_a_missing_sequence(a_new_database: Callable[[], str]) -> None:
    engine = unpooled_engine(url := a_new_database())
    create(engine, Version.V4_1)
    sequence = metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"]
    async with reader_of(url) as reader:
        assert await reader.read(0, 0) == (0, [])
        with engine.begin() as connection:
            connection.execute(sa.delete(sequence))
        with pytest.raises(SourceError, match="NOTIFICATION_SEQUENCE has no row"):
            await reader.read(0, 0)
        with engine.begin() as connection:
            connection.execute(sa.insert(sequence).values(NNI_ID=1, NEXT_EVENT_ID=8))
        assert await reader.read(0, 0) == (7, [])
    engine.dispose()


@pytest.mark.parametrize("kind", [EventLoopReader, ThreadReader])
async def test_a_read_after_one_that_failed_connects_anew(
    kind: type[EventLoopReader] | type[ThreadReader], new_database: Callable[[], str]
) -> None:
    others = unpooled_engine(url := new_database())
    create(others, Version.V4_1)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    reader = kind(engine, lambda: Version.V4_1)
    lock = sa.text('LOCK TABLE "NOTIFICATION_SEQUENCE" IN ACCESS EXCLUSIVE MODE')
    assert await reader.read(0, 0) == (0, [])
    with others.begin() as connection:
        connection.execute(lock)
        reading = asyncio.create_task(reader.read(0, 0))
        while not reading.done():
            await asyncio.sleep(0.01)
            # A transaction sees sessions as they were when it first looked, so it wouldn't see the
            # one that takes the place of one that ended before it read.
            connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
            connection.exec_driver_sql(END_SESSIONS)
        with pytest.raises(SourceError, match="terminat"):
            await reading
    assert await reader.read(0, 0) == (0, [])
    with others.begin() as connection:
        connection.execute(lock)
        with pytest.raises(SourceError, match="statement timeout"):
            await reader.read(0, 0)
    assert await reader.read(0, 0) == (0, [])
    await reader.close()
    engine.dispose()
    others.dispose()


async def test_a_connection_that_may_be_a_former_primarys_is_renewed(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(unpooled_engine(url := new_database()), Version.V4_1)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    now_s = 1_000_000.0
    connections: list[None] = []
    sa.event.listen(engine, "connect", lambda *_: connections.append(None))
    monkeypatch.setattr(modules[READER], "elapsed_s", lambda: now_s)
    reader = ThreadReader(engine, lambda: Version.V4_1)
    for moment_s, made in ((now_s, 1), (now_s + 59, 1), (now_s + 60, 2), (now_s + 61, 2)):
        now_s = moment_s
        assert await reader.read(0, 0) == (0, [])
        assert len(connections) == made
    attempts: list[None] = []

    def refuse(_: sa.Engine) -> sa.Connection:
        attempts.append(None)
        raise sa.exc.OperationalError("", None, Exception("too many connections"))

    monkeypatch.setattr(modules[READER], "_connected", refuse)
    for moment_s, tried in ((now_s + 60, 1), (now_s + 61, 1), (now_s + 66, 2), (now_s + 118, 3)):
        now_s = moment_s
        assert await reader.read(0, 0) == (0, [])
        assert len(attempts) == tried
    now_s += 5
    with pytest.raises(SourceError, match="too many connections"):
        await reader.read(0, 0)
    await reader.close()
    engine.dispose()


@pytest.mark.parametrize("kind", [EventLoopReader, ThreadReader])
async def test_a_session_that_the_server_has_ended_while_it_was_idle_is_replaced(
    kind: type[EventLoopReader] | type[ThreadReader], new_database: Callable[[], str]
) -> None:
    others = unpooled_engine(url := new_database())
    create(others, Version.V4_1)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    reader = kind(engine, lambda: Version.V4_1)
    assert await reader.read(0, 0) == (0, [])
    with others.begin() as connection:
        connection.exec_driver_sql(END_SESSIONS)
    while not has_ended(reader):
        await asyncio.sleep(0.01)
    assert await reader.read(0, 0) == (0, [])
    await reader.close()
    engine.dispose()
    others.dispose()


def has_ended(reader: EventLoopReader | ThreadReader) -> bool:
    if isinstance(reader, ThreadReader):
        return has_input(reader._driver)
    assert reader._session is not None
    return reader._session.has_ended


class SlowConnections:
    """Connections that are made when they may be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may = Event()
        self.error: Exception | None = None
        self.asked_count = 0
        self._connected: Callable[[sa.Engine], sa.Connection] = modules[READER]._connected
        monkeypatch.setattr(modules[READER], "_connected", self._connect)

    def _connect(self, engine: sa.Engine) -> sa.Connection:
        self.asked_count += 1
        assert self.may.wait(30)
        if self.error is not None:
            raise self.error
        return self._connected(engine)


@pytest.mark.parametrize("reader_type", [EventLoopReader, ThreadReader])
async def test_reads_while_a_server_is_frozen_end_and_connect_once(
    new_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    reader_type: type[EventLoopReader | ThreadReader],
) -> None:
    create(unpooled_engine(url := new_database()), Version.V4_1)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    connections = SlowConnections(monkeypatch)
    reader = reader_type(engine, lambda: Version.V4_1)
    try:
        with monkeypatch.context() as patience:
            patience.setattr(modules[READER], "_PATIENCE_S", 0.05)
            for _ in range(3):
                with pytest.raises(SourceError, match="no answer within"):
                    await reader.read(0, 0)
    finally:
        connections.may.set()
    monkeypatch.setattr(modules[READER], "_PATIENCE_S", 30)
    assert (await reader.read(0, 0)).rows == []
    assert connections.asked_count == 1
    await reader.close()
    engine.dispose()


@pytest.mark.parametrize("error", [None, sa.exc.OperationalError("", None, Exception("no"))])
async def test_a_connection_that_is_made_after_the_end_is_closed(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    create(unpooled_engine(url := new_database()), Version.V4_1)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    made, closed, complaints = list[None](), list[None](), list[object]()
    sa.event.listen(engine, "connect", lambda *_: made.append(None))
    sa.event.listen(engine, "close", lambda *_: closed.append(None))
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    connections = SlowConnections(monkeypatch)
    connections.error = error
    reader = EventLoopReader(engine, lambda: Version.V4_1)
    tasks_before = asyncio.all_tasks()
    monkeypatch.setattr(modules[READER], "_PATIENCE_S", 0.05)
    with pytest.raises(SourceError, match="no answer within"):
        await reader.read(0, 0)
    await reader.close()
    assert not closed
    connections.may.set()
    await asyncio.wait(asyncio.all_tasks() - tasks_before)
    assert len(closed) == len(made) == (error is None)
    assert not complaints
    engine.dispose()


@pytest.mark.parametrize(
    ("since", "commands"), [(0, ["SET plan_cache_mode = force_generic_plan"]), (1_000_000, [])]
)
async def test_a_release_that_always_plans_anew_is_told_nothing_of_it(
    new_database: Callable[[], str],
    monkeypatch: pytest.MonkeyPatch,
    since: int,
    commands: list[str],
) -> None:
    create(unpooled_engine(url := new_database()), Version.V4_1)
    monkeypatch.setattr(modules[READER], "_GENERIC_PLANS_SINCE", since)
    engine = bounded_engine(url, connections=1, statement_timeout_ms=5000)
    statements: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    reader = EventLoopReader(engine, lambda: Version.V4_1)
    assert await reader.read(0, 0) == (0, [])
    assert [text for text in statements if "plan" in text] == commands
    await reader.close()
    engine.dispose()


async def test_a_database_whose_tables_come_later_is_read_then(
    a_new_database: Callable[[], str],
) -> None:
    async with reader_of(url := a_new_database()) as reader:
        for _ in range(2):
            with pytest.raises(SourceError, match="NOTIFICATION_SEQUENCE"):
                await reader.read(0, 0)
        create(engine := unpooled_engine(url), Version.V4_1)
        assert await reader.read(0, 0) == (0, [])
    engine.dispose()


async def test_a_read_that_is_cancelled_leaves_nothing_for_the_next(
    new_database: Callable[[], str],
) -> None:
    engine = unpooled_engine(url := new_database())
    create(engine, Version.V4_1)
    lock = sa.text('LOCK TABLE "NOTIFICATION_SEQUENCE" IN ACCESS EXCLUSIVE MODE')
    update = sa.update(metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"])
    async with reader_of(url) as reader:
        assert await reader.read(0, 0) == (0, [])
        with engine.begin() as connection:
            connection.execute(lock)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(0, 0), 0.1)
            connection.execute(update.values(NEXT_EVENT_ID=8))
        assert await reader.read(0, 0) == (7, [])
    engine.dispose()
