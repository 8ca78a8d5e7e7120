"""Engines with limits on connections, on the wait for one, and on the time of a statement."""

import select
from typing import Any

import sqlalchemy as sa

from hive.reader.engines import CONNECT_TIMEOUT_S, open_engine
from query_api.timeouts import timeout_statement


def bounded_engine(url: str, *, connections: int, statement_timeout_ms: int) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…`."""
    engine = open_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECT_TIMEOUT_S,
    )

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(timeout_statement(engine.name, connection, statement_timeout_ms))
        connection.commit()

    @sa.event.listens_for(engine, "checkout")
    def require_alive(connection: Any, _: object, __: object) -> None:
        """Makes the pool replace a connection that the server has closed."""
        # To ask the server each time would be a round trip for each read.
        if _has_input(connection):
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise sa.exc.DisconnectionError(str(error)) from error

    return engine


def _has_input(connection: Any) -> bool:
    """Whether the server has sent something that nobody asked for, as it does when it ends."""
    poll = select.poll()
    # PyMySQL has no other name for its socket.
    socket = connection if hasattr(connection, "fileno") else connection._sock  # noqa: SLF001
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
