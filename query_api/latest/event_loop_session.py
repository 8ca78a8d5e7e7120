"""Prepared statements of PostgreSQL, run on the event loop."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus

from hive.errors import SourceError

Row = tuple[Any, ...]
_GOOD: Final = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)


class EventLoopSession:
    """Runs prepared statements on a connection of an engine's, one at a time.

    psycopg's own asynchronous connection makes a task and timers for each statement, which takes
    longer than a short statement does. libpq only has to be called when its socket is readable.
    A session that has failed, or whose statement was cancelled, can only be closed.
    """

    def __init__(self, connection: sa.Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        assert isinstance(driver, psycopg.Connection)
        self._connection = connection
        self.server_version = driver.info.server_version
        self._encoding = driver.info.encoding
        self._libpq = driver.pgconn
        self._values = Transformer(driver)
        self._socket = driver.fileno()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: asyncio.Future[list[Row]] | None = None
        self._rows: list[Row] = []
        self._error: Exception | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended it, as it does when a session has been idle for long."""
        return self._error is not None

    def prepare(self, name: str, statement: str) -> None:
        """Prepares a statement with parameters `$1`, `$2`, …; blocks."""
        result = self._libpq.prepare(name.encode(), statement.encode(self._encoding))
        if result.status not in _GOOD:
            raise SourceError(result.get_error_message(self._encoding))

    async def run(self, name: str, parameters: Sequence[object]) -> list[Row]:
        """The rows of a prepared statement."""
        values = [str(value).encode(self._encoding) for value in parameters]
        self._begin()
        self._libpq.send_query_prepared(name.encode(), values)
        return await self._result()

    async def command(self, text: str) -> None:
        """Runs a statement without parameters that returns nothing."""
        self._begin()
        self._libpq.send_query(text.encode(self._encoding))
        await self._result()

    def close(self) -> None:
        self._stop_listening()
        self._connection.invalidate()
        self._connection.close()

    def _begin(self) -> None:
        assert self._waiting is None
        if self._error is not None:
            raise self._error
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._libpq.nonblocking = 1
            self._loop.add_reader(self._socket, self._receive)

    async def _result(self) -> list[Row]:
        if self._libpq.flush():
            # The socket of an idle session takes a statement whole, unless nobody reads it.
            raise SourceError("the server doesn't take a statement")
        assert self._loop is not None
        self._waiting = self._loop.create_future()
        return await self._waiting

    def _receive(self) -> None:
        try:
            self._libpq.consume_input()
            while not self._libpq.is_busy():
                result = self._libpq.get_result()
                if result is None:
                    self._end()
                    return
                if result.status not in _GOOD:
                    self._error = SourceError(result.get_error_message(self._encoding))
                if result.ntuples:
                    self._values.set_pgresult(result)
                    self._rows += self._values.load_rows(0, result.ntuples, tuple)
        except (psycopg.Error, UnicodeDecodeError) as error:
            self._error = SourceError(str(error))
            self._end()

    def _end(self) -> None:
        rows, self._rows = self._rows, []
        waiting, self._waiting = self._waiting, None
        if self._error is not None:
            # A socket whose other end is closed stays readable.
            self._stop_listening()
        if waiting is None or waiting.done():
            return
        if self._error is not None:
            waiting.set_exception(self._error)
        else:
            waiting.set_result(rows)

    def _stop_listening(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._socket)
            self._loop = None
