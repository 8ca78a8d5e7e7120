"""The session settings that our reads of the database need."""

from typing import Any, Final

from sqlalchemy import Engine, event

from hive.errors import InputError

_JIT_SINCE: Final = 110_000
"""The first release of PostgreSQL that compiles statements."""
_NO_ENCODING: Final = "SQL_ASCII"
_GROWN_EVENTS: Final = 1_000
REPEATABLE_READ: Final = "REPEATABLE READ"
DROP_PLANS: Final = "DISCARD PLANS"
"""PostgreSQL's command; MySQL and MariaDB plan each execution anew."""


def prepare_sessions(engine: Engine) -> None:
    """Applies settings to every new connection of the engine.

    They aren't connection options, because poolers such as PgBouncer refuse those.
    """
    if engine.dialect.name == "postgresql":
        # First of all: SQLAlchemy itself can't read what a database in SQL_ASCII answers.
        event.listen(engine, "connect", _prepare_postgresql, insert=True)
    else:
        event.listen(engine, "connect", _prepare_mysql)


def _prepare_mysql(connection: Any, _: object) -> None:
    # A URL may ask for it, and each statement would see a moment of its own.
    connection.autocommit(False)
    # So that transactions needn't set it, whatever the server's default is by then.
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {REPEATABLE_READ}")


def _prepare_postgresql(connection: Any, _: object) -> None:
    if connection.info.parameter_status("server_encoding") == _NO_ENCODING:
        name = connection.info.dbname
        connection.close()
        raise InputError(
            f"the database {name} has the encoding {_NO_ENCODING}, which doesn't say what its "
            "texts mean: create one with ENCODING 'UTF8', and restore a dump of this one into it"
        )
    if connection.info.server_version < _JIT_SINCE:
        return
    # Compiling a statement takes a hundred times as long as running our longest one. A transaction
    # would take two round trips more.
    connection.autocommit = True
    connection.execute("SET jit = off")
    connection.autocommit = False


class PlanAge:
    """Tells when a session's cached plans are out of date: the log has grown a lot.

    The best plan for a short log reads all of it. If nobody gathers statistics, the server would
    keep that plan when the log is long.
    """

    def __init__(self) -> None:
        self._made_at: int | None = None

    def outgrown(self, event: int) -> bool:
        """Notes the last event seen; to be called before statements about the events after it.
        True if the plans are to be dropped before.
        """
        if self._made_at is None:
            self._made_at = event
        if event < self._made_at + _GROWN_EVENTS:
            return False
        self._made_at = event
        return True
