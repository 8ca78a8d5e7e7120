"""Prepared statements on the event loop, where sockets and servers don't do as they should."""

from collections.abc import Callable

import pytest

from hive.errors import SourceError
from query_api.database import bounded_engine
from query_api.latest.event_loop_session import EventLoopSession


async def test_a_statement_that_the_server_does_not_take_whole_is_not_waited_for(
    new_database: Callable[[], str],
) -> None:
    engine = bounded_engine(new_database(), connections=1, statement_timeout_ms=5000)
    session = EventLoopSession(engine.connect())
    with pytest.raises(SourceError, match="doesn't take a statement"):
        await session.command("-- " + "x" * 64_000_000)
    session.close()
    engine.dispose()
