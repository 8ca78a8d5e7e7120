"""Engines with limits on connections, on the wait for one, and on the time of a statement."""

from typing import Any, Final

import sqlalchemy as sa

from hive.errors import InputError
from hive.reader.sessions import prepare_sessions
from query_api.timeouts import timeout_statement

CONNECT_TIMEOUT_S: Final = 3
_DRIVERS: Final = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


def bounded_engine(url: str, *, connections: int, statement_timeout_ms: int) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…`."""
    parsed = sa.make_url(url)
    kind = parsed.get_backend_name()
    if kind not in _DRIVERS:
        raise InputError(f"a database is given as postgresql://… or mysql://…, not {kind}://…")
    engine = sa.create_engine(
        parsed.set(drivername=_DRIVERS[kind]),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECT_TIMEOUT_S,
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S},
    )

    prepare_sessions(engine)

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(timeout_statement(kind, connection, statement_timeout_ms))
        connection.commit()

    return engine
