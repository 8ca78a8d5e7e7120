"""Callers that wait for an attempt have its outcome; those that come later make one."""

import asyncio

import pytest

from hive.errors import UpstreamError
from query_api.shared_attempt import SharedAttempt

pytestmark = pytest.mark.anyio


class Attempts:
    """Counts attempts, which end once they are let."""

    def __init__(self, *, fails: bool = False) -> None:
        self.count = 0
        self.fails = fails
        self.may_end = asyncio.Event()

    async def make(self) -> int:
        self.count += 1
        number = self.count
        await self.may_end.wait()
        if self.fails:
            raise UpstreamError("no answer in time")
        return number


@pytest.mark.parametrize("fails", [False, True])
async def test_all_who_wait_have_the_outcome(fails: bool) -> None:
    shared, attempts = SharedAttempt[int](), Attempts(fails=fails)
    waiting = [asyncio.create_task(shared.outcome(attempts.make)) for _ in range(20)]
    await asyncio.sleep(0)
    attempts.may_end.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert attempts.count == 1
    assert {type(outcome) for outcome in outcomes} == {UpstreamError if fails else int}
    attempts.fails = False
    assert await shared.outcome(attempts.make) == 2


async def test_an_attempt_whose_caller_leaves_is_made_by_one_of_the_others() -> None:
    shared, attempts = SharedAttempt[int](), Attempts()
    first, *others = [asyncio.create_task(shared.outcome(attempts.make)) for _ in range(9)]
    await asyncio.sleep(0)
    others.pop().cancel()
    first.cancel()
    await asyncio.wait((first,))
    attempts.may_end.set()
    assert await asyncio.gather(*others) == [2] * 7
    assert first.cancelled()
