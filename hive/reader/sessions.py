"""The session settings that our reads of the database need."""

from typing import Any, Final

import psycopg
from sqlalchemy import Engine, event

from hive.errors import InputError

_JIT_SINCE: Final = 110_000
"""The first release of PostgreSQL that compiles statements."""
_MARKED: Final = "by metatide"
_SETTINGS: Final = (
    "SELECT current_setting('metatide.session', true), "
    f"set_config('metatide.session', '{_MARKED}', false), "
    # Otherwise an administrator's setting, or a server before release 12, rounds numbers.
    "set_config('extra_float_digits', '3', false)"
)
"""What a session needs, after the mark of one that had another client of ours before."""
# Compiling a statement takes a hundred times as long as running our longest one.
_NO_JIT: Final = f"{_SETTINGS}, set_config('jit', 'off', false)"
SHARED_SESSION: Final = (
    "the session is shared with other clients: a pooler gives it to each transaction (as PgBouncer "
    "with pool_mode=transaction), where statements that were prepared are gone, and settings reach "
    "others; name the server itself in database.url, or a pool with pool_mode=session"
)
# The last one is of release 17.
_NO_LIMITS: Final = (
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN "
    "('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')"
)
_NO_ENCODING: Final = "SQL_ASCII"
_GROWN_EVENTS: Final = 1_000
REPEATABLE_READ: Final = "REPEATABLE READ"
DROP_PLANS: Final = "DISCARD PLANS"
"""PostgreSQL's command; MySQL and MariaDB plan each execution anew."""


def prepare_sessions(engine: Engine) -> None:
    """Applies settings to every new connection of the engine.

    They aren't connection options, because poolers such as PgBouncer refuse those.
    """
    # First of all: SQLAlchemy itself can't read what a database in SQL_ASCII answers, and takes the
    # isolation level that it finds for the one that it needn't set.
    prepare = _prepare_postgresql if engine.dialect.name == "postgresql" else _prepare_mysql
    event.listen(engine, "connect", prepare, insert=True)


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
    # A transaction would take two round trips more.
    connection.autocommit = True
    compiles = connection.info.server_version >= _JIT_SINCE
    [marked, *_] = connection.execute(_NO_JIT if compiles else _SETTINGS).fetchone()
    connection.autocommit = False
    if marked == _MARKED:
        connection.close()
        # As if the server had refused the login: who can wait for the database tries again.
        raise psycopg.OperationalError(SHARED_SESSION)


def end_limits(connection: Any, _: object) -> None:
    """Ends the server's own limits on the time of statements and transactions, as tools that dump
    databases do: what ran into one would run into it again each time."""
    if isinstance(connection, psycopg.Connection):
        connection.autocommit = True
        connection.execute(_NO_LIMITS)
        connection.autocommit = False
        return
    is_mariadb = "MariaDB" in connection.get_server_info()
    with connection.cursor() as cursor:
        cursor.execute(f"SET {'max_statement_time' if is_mariadb else 'max_execution_time'} = 0")


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
