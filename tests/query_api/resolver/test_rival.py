"""Whoever is there first, the cache or the database, answers."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from query_api.resolver.rival import Rival


class Asked:
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


def run(race: Callable[[Asked, Rival[str]], Awaitable[None]]) -> None:
    async def running() -> None:
        asked = Asked()
        await race(asked, Rival(asked))

    asyncio.run(running())


async def never() -> None:
    await asyncio.Event().wait()


def test_the_database_ends_the_wait() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        asked.answers.set_result("found")
        await rival.race(never())
        assert await rival.answer() == "found"
        assert asked.begun == 1

    run(race)


def test_the_cache_ends_the_wait_and_the_database_is_left_alone() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        await rival.race(asyncio.sleep(0.01))
        assert (asked.begun, asked.ended) == (1, 0)
        rival.leave()
        await asyncio.sleep(0)
        assert asked.ended == 1

    run(race)


def test_a_database_that_fails_does_not_keep_the_cache_from_answering() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        asked.answers.set_exception(OSError("down"))
        waited = asyncio.create_task(rival.race(asyncio.sleep(0.05, "cache")))
        await asyncio.sleep(0.01)
        assert not waited.done()
        await waited
        rival.leave()

    run(race)


def test_a_failure_is_told_to_who_needs_the_answer() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        asked.answers.set_exception(OSError("down"))
        await rival.race(asyncio.sleep(0.01))
        with pytest.raises(OSError, match="down"):
            await rival.answer()
        rival.leave()

    run(race)


def test_without_a_race_the_database_is_asked_when_it_is_needed() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        rival.leave()
        assert asked.begun == 0
        asked.answers.set_result("found")
        assert await rival.answer() == "found"

    run(race)


def test_who_gives_up_waiting_leaves_nothing_running() -> None:
    async def race(asked: Asked, rival: Rival[str]) -> None:
        waited = asyncio.create_task(rival.race(never()))
        await asyncio.sleep(0.01)
        waited.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waited
        rival.leave()
        await asyncio.sleep(0)
        assert (asked.begun, asked.ended) == (1, 1)
        assert len(asyncio.all_tasks()) == 1

    run(race)
