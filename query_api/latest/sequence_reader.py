"""Readers of the sequence of events, each on a connection of its own to the primary."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, Protocol

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.compiler import SQLCompiler

from hive.errors import SourceError
from hive.reader.engines import RECYCLED_S, has_input
from hive.reader.sessions import DROP_PLANS, PlanAge
from hive.schema import Version, metadata
from query_api.background_tasks import outcome, take_note
from query_api.elapsed import elapsed_s
from query_api.latest.event_loop_session import EventLoopSession
from query_api.latest.log_end import ROWS_MAX
from query_api.latest.sequence import SHORT_ROWS_MAX, Tail, tail_of, tail_statement
from query_api.timeouts import set_timeout

TIMEOUT_MS: Final = 2_000
_PATIENCE_S: Final = TIMEOUT_MS / 1000 + 1
"""The time for a server that doesn't end a statement by itself, because it is frozen."""
_RETRY_S: Final = 5.0
_LATE: Final = f"no answer within {_PATIENCE_S:.0f} s"
_GENERIC_PLANS_SINCE: Final = 120_000
"""The first release of PostgreSQL that can be told to plan a statement only once."""
_NUMBERED: Final = PGDialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
"""The way in which libpq takes parameters."""
_SHORT, _LONG = "short", "long"


class SequenceReader(Protocol):
    async def read(self, first: int, messages_after: int) -> Tail:
        """Reads the rows from the event `first` on, with messages only of events after
        `messages_after`. Raises SourceError; the next read opens another connection.
        """

    async def close(self) -> None: ...


def sequence_reader(engine: sa.Engine, version: Callable[[], Version]) -> SequenceReader:
    """The reader for a database. `version` is called when the first read begins, and blocks."""
    if engine.dialect.name == "postgresql":
        return EventLoopReader(engine, version)
    return ThreadReader(engine, version)


class EventLoopReader:
    """Reads PostgreSQL on the event loop: to wake a thread takes longer than to read.

    A first statement reads few rows. Its plan is an index scan whatever the server knows or doesn't
    know of the log, and nearly always its rows are all.
    """

    def __init__(self, engine: sa.Engine, version: Callable[[], Version]) -> None:
        self._engine = engine
        self._version = version
        self._session: EventLoopSession | None = None
        self._connecting: asyncio.Task[EventLoopSession] | None = None
        self._compiled: SQLCompiler | None = None
        self._plan_age = PlanAge()

    async def read(self, first: int, messages_after: int) -> Tail:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if self._session is not None and self._session.has_ended:
                    self._leave_session()
                if self._session is None:
                    self._session = await self._new_session()
                return await self._read(self._session, first, messages_after)
        except BaseException as error:
            self._leave_session()
            if isinstance(error, TimeoutError):
                raise SourceError(_LATE) from error
            if isinstance(error, SQLAlchemyError | psycopg.Error):
                raise SourceError(str(error)) from error
            raise

    async def close(self) -> None:
        self._leave_session()
        if self._connecting is not None:
            self._connecting.add_done_callback(_close_session)

    def _leave_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    async def _new_session(self) -> EventLoopSession:
        """A new session. A frozen server blocks the thread that connects for as long as it is
        frozen, so there is one at a time: later reads wait for it, too."""
        connecting = self._connecting
        if connecting is None or _has_failed(connecting):
            connecting = asyncio.create_task(asyncio.to_thread(self._connect))
            connecting.add_done_callback(take_note)
            self._connecting = connecting
        try:
            return await outcome(connecting)
        finally:
            if connecting.done():
                self._connecting = None

    def _connect(self) -> EventLoopSession:
        tables = metadata(self._version())
        connection = _connected(self._engine)
        session = EventLoopSession(connection)
        try:
            if session.server_version >= _GENERIC_PLANS_SINCE:
                connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
            for name, rows_max in ((_SHORT, SHORT_ROWS_MAX), (_LONG, ROWS_MAX)):
                compiled = tail_statement(tables, rows_max).compile(dialect=_NUMBERED)
                assert isinstance(compiled, SQLCompiler)
                session.prepare(name, str(compiled))
        except BaseException:
            session.close()
            raise
        self._compiled, self._plan_age = compiled, PlanAge()
        return session

    async def _read(self, session: EventLoopSession, first: int, messages_after: int) -> Tail:
        if self._plan_age.outgrown(first):
            await session.command(DROP_PLANS)
        assert self._compiled is not None
        named = self._compiled.construct_params({"first": first, "messages_after": messages_after})
        parameters = [named[name] for name in self._compiled.positiontup or ()]
        rows = await session.run(_SHORT, parameters)
        if len(rows) > SHORT_ROWS_MAX + 1:
            rows = await session.run(_LONG, parameters)
        return tail_of(rows)


class ThreadReader:
    """Reads any database, in a thread of its own."""

    def __init__(self, engine: sa.Engine, version: Callable[[], Version]) -> None:
        self._engine = engine
        self._version = version
        self._connection: sa.Connection | None = None
        self._driver: Any = None
        self._renewed_at_s = self._usable_until_s = 0.0
        self._thread = ThreadPoolExecutor(1, "latest")

    async def read(self, first: int, messages_after: int) -> Tail:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await loop.run_in_executor(self._thread, self._read, first, messages_after)
        except TimeoutError as error:
            raise SourceError(_LATE) from error

    async def close(self) -> None:
        self._thread.shutdown(wait=True)
        self._close()

    def _read(self, first: int, messages_after: int) -> Tail:
        try:
            now_s = elapsed_s()
            connection = self._connection
            if connection is None or now_s >= self._renewed_at_s or has_input(self._driver):
                connection = self._renew(now_s)
            bounds = {"first": first, "messages_after": messages_after}
            return tail_of(connection.execute(self._statement, bounds).all())
        except SQLAlchemyError as error:
            self._close()
            raise SourceError(str(error)) from error

    def _renew(self, now_s: float) -> sa.Connection:
        """Connects anew. If that fails, a connection that isn't too old goes on."""
        try:
            connection = _connected(self._engine)
        except SQLAlchemyError:
            if self._connection is None or now_s >= self._usable_until_s:
                raise
            self._renewed_at_s = elapsed_s() + _RETRY_S
            return self._connection
        # The pool would renew only what comes back, and has no room for two.
        connection.detach()
        self._close()
        self._connection, self._driver = connection, connection.connection.dbapi_connection
        self._statement = tail_statement(metadata(self._version()))
        self._renewed_at_s, self._usable_until_s = now_s + RECYCLED_S, now_s + 2 * RECYCLED_S
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # No rollback, for which a frozen server would let it wait.
            connection.invalidate()
            with suppress(Exception):
                # It may be closed already.
                self._driver.close()
            connection.close()


def _has_failed(connecting: asyncio.Task[EventLoopSession]) -> bool:
    """Whether it has, while nobody waited for it."""
    ended = connecting.done()
    return ended and (connecting.cancelled() or connecting.exception() is not None)


def _close_session(connecting: asyncio.Task[EventLoopSession]) -> None:
    if not _has_failed(connecting):
        connecting.result().close()


def _connected(engine: sa.Engine) -> sa.Connection:
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    set_timeout(connection, TIMEOUT_MS)
    return connection
