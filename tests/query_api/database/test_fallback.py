"""Reads of a real database: shared, limited, and given up when it is gone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Event

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from hive.errors import InputError, NoSuchObjectError, RemoteDatabaseError, UnansweredError
from hive.names import DatabaseName, TableName, table_name
from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, create
from metatide.stack.machine import free_port
from metatide.stack.postgres import connect
from query_api.database import DatabaseObjects, Fallback, Primary
from query_api.database import fallback as module
from query_api.database.breaker import FAILURES_MAX, PAUSE_S_MAX, PAUSE_S_MIN, Breaker
from query_api.database.metrics import Result
from query_api.database.reads import CurrentEvent, GetWriteIds, ListCatalogs
from query_api.objects import Objects
from query_api.reads import GetTable, ListTables
from tests.query_api.folded_world import World


@asynccontextmanager
async def fallback(url: str) -> AsyncIterator[Fallback]:
    primary = Primary(url, connections=2)
    try:
        yield primary.fallback
    finally:
        await primary.close()


def any_table(world: World) -> TableName:
    shard = world.shards.shard(0)
    assert shard is not None
    reader = shard.reader()
    return next(name for name in reader.table_names() if reader.table(name) is not None)


async def test_a_hundred_equal_misses_make_one_read(small_world: World) -> None:
    read = GetTable(any_table(small_world))
    async with fallback(small_world.url) as database:
        answers = await asyncio.gather(*(database.answer(read) for _ in range(100)))
        assert database.reads == 1
        assert len({answer.value for answer in answers}) == 1
        assert {answer.event for answer in answers} == {small_world.current}
        await database.answer(read)
        assert database.reads == 2


async def test_a_read_that_has_begun_is_not_shared(small_world: World) -> None:
    read = GetTable(any_table(small_world))
    async with fallback(small_world.url) as database:
        early = asyncio.create_task(database.answer(read))
        while database.reads == 0:
            await asyncio.sleep(0)
        await asyncio.gather(early, database.answer(read), database.answer(read))
        assert database.reads == 2


async def test_an_answer_does_not_wait_for_the_end_of_its_transaction(small_world: World) -> None:
    primary, may_end = Primary(small_world.url, connections=1), Event()

    @contextmanager
    def slow_to_end() -> Iterator[DatabaseSnapshot]:
        with primary.snapshot() as snapshot:
            yield snapshot
            assert may_end.wait(30)

    database = Fallback(slow_to_end, 1)
    try:
        assert (await database.answer(CurrentEvent())).value == small_world.current
        following = asyncio.create_task(database.answer(ListCatalogs()))
        await asyncio.sleep(0.1)
        assert not following.done(), "its only connection is still in use"
        may_end.set()
        assert (await following).value == ["hive"]
    finally:
        may_end.set()
        database.close()
        await primary.close()


async def test_a_read_that_nobody_waits_for_any_more_does_not_begin(small_world: World) -> None:
    primary, may_end = Primary(small_world.url, connections=1), Event()

    @contextmanager
    def slow_to_begin() -> Iterator[DatabaseSnapshot]:
        assert may_end.wait(30)
        with primary.snapshot() as snapshot:
            yield snapshot

    database = Fallback(slow_to_begin, 1)
    try:
        running = asyncio.create_task(database.answer(CurrentEvent()))
        while not database.reads:
            await asyncio.sleep(0)
        gone = [asyncio.create_task(database.answer(ListCatalogs())) for _ in range(2)]
        stays = asyncio.create_task(database.answer(GetWriteIds(())))
        await asyncio.sleep(0)
        for each in gone:
            each.cancel()
        await asyncio.wait(gone)
        may_end.set()
        assert (await running).value == small_world.current
        await stays
        assert database.reads == 2
    finally:
        may_end.set()
        database.close()
        await primary.close()


async def test_what_is_not_there_is_an_answer(small_world: World) -> None:
    async with fallback(small_world.url) as database:
        answer = await database.answer(GetTable(table_name(None, "sales", "never")))
        assert isinstance(answer.value, NoSuchObjectError)
        assert answer.event == small_world.current


class RemoteTable(GetTable, frozen=True):
    def answer(self, objects: Objects) -> bytes:
        raise RemoteDatabaseError("hive.sales")


async def test_a_question_that_the_database_refuses_ends_an_outage(small_world: World) -> None:
    async with fallback(small_world.url) as database:
        database._down()
        with pytest.raises(RemoteDatabaseError):
            await database.answer(RemoteTable(table_name(None, "sales", "never")))
        assert not database._is_down
        assert not database._breaker._failures


class Nonsense(CurrentEvent, frozen=True):
    def answer(self, objects: Objects) -> int:
        assert isinstance(objects, DatabaseObjects)
        return len(objects.snapshot.rows(sa.text("SELECT nothing FROM nowhere")))


async def test_a_name_that_the_encoding_of_the_database_lacks_is_a_wrong_question(
    new_database: Callable[[], str],
) -> None:
    beside = sa.make_url(new_database())
    url = beside.set(database=f"{beside.database}_latin")
    with connect(beside) as server:
        server.execute(
            f"CREATE DATABASE {url.database} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
        )
    create(unpooled_engine(url), Version.V4_1)
    async with fallback(url.render_as_string(hide_password=False)) as database:
        with pytest.raises(InputError, match=r"can't hold '日本': its encoding is"):
            await database.answer(GetTable(TableName("hive", "default", "日本")))
        answer = await database.answer(GetTable(TableName("hive", "default", "née")))
        assert isinstance(answer.value, NoSuchObjectError)
        assert count(database, Result.ANSWERED) == 2


async def test_a_read_that_the_database_refuses_is_no_outage(small_world: World) -> None:
    async with fallback(small_world.url) as database:
        with capture_logs() as logs, pytest.raises(UnansweredError, match="refused a read"):
            await database.answer(Nonsense())
        assert [line["event"] for line in logs] == ["a read of the database failed"]
        assert count(database, Result.REFUSED) == 1
        assert not database._is_down
        assert (await database.answer(CurrentEvent())).value == small_world.current


def count(database: Fallback, result: Result) -> float | None:
    labels = {"result": result.value}
    return database.metrics.registry.get_sample_value("metatide_database_reads_total", labels)


async def test_callers_beyond_those_that_may_wait_are_refused_and_so_are_those_that_wait_too_long(
    small_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAITING_MAX", 1)
    monkeypatch.setattr(module, "READ_TIMEOUT_S", 0.05)
    primary, may_begin = Primary(small_world.url, connections=1), Event()

    @contextmanager
    def slow_to_begin() -> Iterator[DatabaseSnapshot]:
        assert may_begin.wait(30)
        with primary.snapshot() as snapshot:
            yield snapshot

    database = Fallback(slow_to_begin, 1)
    try:
        waits = asyncio.create_task(database.answer(CurrentEvent()))
        await asyncio.sleep(0)
        with pytest.raises(UnansweredError, match="too many requests wait"):
            await database.answer(CurrentEvent())
        with pytest.raises(UnansweredError, match="takes too long"):
            await waits
        assert (count(database, Result.BUSY), count(database, Result.LATE)) == (1, 1)
        may_begin.set()
        monkeypatch.setattr(module, "READ_TIMEOUT_S", 30)
        assert (await database.answer(CurrentEvent())).value == small_world.current
    finally:
        may_begin.set()
        database.close()
        await primary.close()


async def test_what_only_the_database_knows(small_world: World) -> None:
    table = any_table(small_world)
    absent = table_name(None, "sales", "never")
    async with fallback(small_world.url) as database:
        assert (await database.answer(CurrentEvent())).value == small_world.current
        assert (await database.answer(ListCatalogs())).value == ["hive"]
        snapshots = (await database.answer(GetWriteIds((table, absent)))).value
        assert not isinstance(snapshots, NoSuchObjectError)
        mine, other = snapshots.tables
        assert mine.id
        assert mine.write_ids.table == table.in_catalog
        assert (other.id, other.write_ids.hwm) == (None, 0)
        names = (await database.answer(ListTables(DatabaseName("hive", table.db)))).value
        assert not isinstance(names, NoSuchObjectError)
        assert table.table in {line.table for line in names.items}


async def test_a_database_that_is_gone_is_left_alone_for_a_while() -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/none"
    async with fallback(url) as database:
        for _ in range(FAILURES_MAX):
            with pytest.raises(UnansweredError, match="does not answer"):
                await database.answer(CurrentEvent())
        assert database.reads == FAILURES_MAX
        with pytest.raises(UnansweredError) as refused:
            await database.answer(CurrentEvent())
        assert database.reads == FAILURES_MAX
        assert 0 < refused.value.retry_after_s <= PAUSE_S_MIN


def clock(times: list[float]) -> Callable[[], float]:
    return lambda: times[-1]


def test_a_breaker_tries_once_after_each_pause_and_pauses_longer_and_longer() -> None:
    times = [0.0]
    breaker = Breaker(clock(times))
    for _ in range(FAILURES_MAX):
        assert breaker.retry_after_s() == 0
        breaker.failed()
    pauses = []
    for _ in range(10):
        pause = breaker.retry_after_s()
        assert pause > 0
        pauses.append(pause)
        times.append(times[-1] + pause)
        assert breaker.retry_after_s() == 0
        assert breaker.retry_after_s() > 0
        breaker.failed()
    assert pauses == sorted(pauses)
    assert pauses[0] == PAUSE_S_MIN
    assert pauses[-1] == PAUSE_S_MAX
    breaker.succeeded()
    assert breaker.retry_after_s() == 0
