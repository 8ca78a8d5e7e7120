"""Requests that share a read of the log."""

import asyncio

from structlog.testing import capture_logs

from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.resolver.shared_reads import LogEndReads
from tests.query_api.http.read_client import EmptyDatabase


async def test_a_request_that_fails_takes_nothing_from_those_behind_it() -> None:
    reads, taken = LogEndReads(EmptyDatabase(LogEnd(0, 4, []))), asyncio.Event()

    def fail(_: LogEnd | None) -> None:
        raise ZeroDivisionError

    with capture_logs() as logs:
        reads.ask(Position(0, 4), fail)
        reads.ask(Position(0, 4), lambda log: taken.set() if log is not None else None)
        async with asyncio.timeout(30):
            await taken.wait()
    await reads.close()
    assert [line["event"] for line in logs] == ["a request failed"]
