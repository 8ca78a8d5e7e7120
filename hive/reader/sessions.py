"""What each session of ours needs of the database that it reads."""

from typing import Any, Final

from sqlalchemy import Connection, Engine, event

_JIT_SINCE: Final = 110_000
"""The first release of PostgreSQL that compiles statements."""
_GROWN_EVENTS: Final = 1_000


def prepare_sessions(engine: Engine) -> None:
    """Settings that every connection of the engine gets as it is made.

    They are no options of the connection, which poolers such as PgBouncer refuse.
    """
    if engine.dialect.name == "postgresql":
        event.listen(engine, "connect", _prepare)


def _prepare(connection: Any, _: object) -> None:
    if connection.info.server_version < _JIT_SINCE:
        return
    # To compile a statement takes a hundred times as long as the longest of ours runs.
    connection.execute("SET jit = off")
    connection.commit()


class KeptPlans:
    """The plans that a session's server keeps, forgotten when the log is another one by far.

    A short log is best read whole, and where nobody gathers statistics the server would go on so
    when it is a long one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._made_at: int | None = None

    def use(self, event: int) -> None:
        """Called with the last event that was seen, before statements about the next ones."""
        if self._made_at is None:
            self._made_at = event
        elif event >= self._made_at + _GROWN_EVENTS:
            self._made_at = event
            if self._connection.dialect.name == "postgresql":
                self._connection.exec_driver_sql("DISCARD PLANS")
