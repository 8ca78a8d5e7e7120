"""The bytes in flight, and who is ended when there are too many."""

import asyncio
from typing import Any

from query_api.in_flight import Budget


class Connection:
    def __init__(self, budget: Budget, ended: list[int]) -> None:
        self.share = budget.share(self._end)
        self._ended = ended

    def _end(self) -> None:
        self._ended.append(self.share.size)


async def test_a_connection_that_has_gone_before_it_could_be_ended_is_let_go() -> None:
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, failure: failures.append(failure))
    budget, ended = Budget(100), list[int]()
    stays, goes = Connection(budget, ended), Connection(budget, ended)
    goes.share.set(90)
    del goes
    stays.share.set(20)
    await asyncio.sleep(0)
    assert (budget.bytes, ended, failures) == (20, [], [])
    stays.share.add(90)
    await asyncio.sleep(0)
    assert (budget.bytes, ended) == (0, [0])
    stays.share.set(50)
    assert budget.bytes == 0, "it is told to end already"
