"""Whoever is there first, the cache or the database, answers."""

import asyncio
import gc
from typing import Any

import pytest

from query_api.resolver.hedged_read import HedgedRead


class Database:
    """A database that answers when it is told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0
        self.answers = asyncio.get_running_loop().create_future()

    async def __call__(self) -> str:
        self.begun += 1
        try:
            return str(await self.answers)
        finally:
            self.ended += 1


@pytest.fixture
async def database() -> Database:
    return Database()


@pytest.fixture
async def hedge(database: Database) -> HedgedRead[str]:
    return HedgedRead(database)


async def never() -> None:
    await asyncio.Event().wait()


async def test_the_database_ends_the_wait(database: Database, hedge: HedgedRead[str]) -> None:
    database.answers.set_result("found")
    await hedge.race(never())
    assert await hedge.answer() == "found"
    assert database.begun == 1


async def test_the_cache_ends_the_wait_and_the_database_is_left_alone(
    database: Database, hedge: HedgedRead[str]
) -> None:
    await hedge.race(asyncio.sleep(0.01))
    assert (database.begun, database.ended) == (1, 0)
    hedge.cancel()
    await asyncio.sleep(0)
    assert database.ended == 1


async def test_a_database_that_fails_does_not_keep_the_cache_from_answering(
    database: Database, hedge: HedgedRead[str]
) -> None:
    database.answers.set_exception(OSError("down"))
    waited = asyncio.create_task(hedge.race(asyncio.sleep(0.05, "cache")))
    await asyncio.sleep(0.01)
    assert not waited.done()
    await waited
    hedge.cancel()


async def test_a_failure_is_told_to_the_caller_that_needs_the_answer(
    database: Database, hedge: HedgedRead[str]
) -> None:
    database.answers.set_exception(OSError("down"))
    await hedge.race(asyncio.sleep(0.01))
    with pytest.raises(OSError, match="down"):
        await hedge.answer()
    hedge.cancel()


async def test_without_a_race_the_database_is_asked_when_it_is_needed(
    database: Database, hedge: HedgedRead[str]
) -> None:
    hedge.cancel()
    assert database.begun == 0
    database.answers.set_result("found")
    assert await hedge.answer() == "found"


async def test_a_caller_that_gives_up_waiting_leaves_nothing_running(
    database: Database, hedge: HedgedRead[str]
) -> None:
    tasks = asyncio.all_tasks()
    waited = asyncio.create_task(hedge.race(never()))
    await asyncio.sleep(0.01)
    waited.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waited
    hedge.cancel()
    await asyncio.sleep(0)
    assert (database.begun, database.ended) == (1, 1)
    assert asyncio.all_tasks() == tasks


async def test_waits_that_are_left_leave_no_complaint(
    database: Database, hedge: HedgedRead[str]
) -> None:
    """The exception of gathered waits that were cancelled is kept, and asyncio complains of one
    that nobody looks at."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    database.answers.set_result("found")
    await hedge.race(asyncio.gather(never()))
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert not complaints
