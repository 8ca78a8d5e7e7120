"""Engines with limits on connections, on the wait for one, and on the time of a statement."""

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
        pool_pre_ping=True,
    )

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(timeout_statement(engine.name, connection, statement_timeout_ms))
        connection.commit()

    return engine
