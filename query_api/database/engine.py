"""Engines with limits on connections, on the wait for one, and on the time of a statement."""

from typing import Any

import sqlalchemy as sa

from hive.reader.engines import pooled_engine
from query_api.timeouts import timeout_statement


def bounded_engine(url: str, *, connections: int, statement_timeout_ms: int) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…`."""
    engine = pooled_engine(url, connections)

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(timeout_statement(engine.name, connection, statement_timeout_ms))
        connection.commit()

    return engine
