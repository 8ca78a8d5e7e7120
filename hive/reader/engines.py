"""Engines for plain URLs of the metastore's database, with the drivers that Metatide includes."""

import select
import warnings
from typing import Any, Final

import sqlalchemy as sa

from hive.errors import InputError
from hive.reader.cursors import LastAnswer, LongAnswer
from hive.reader.login import Login, PasswordError, split_login
from hive.reader.lost_hosts import libpq_settings, notice_lost_server
from hive.reader.sessions import end_limits, prepare_sessions

# A statement whose tables aren't joined multiplies rows: it must not be run at all.
warnings.filterwarnings("error", ".*has a cartesian product", sa.exc.SAWarning)

CONNECT_TIMEOUT_S: Final = 3
RECYCLED_S: Final = 60
"""Connections to MySQL and MariaDB are used no longer: after a switchover to another address, the
former primary may serve its sessions as before. PostgreSQL's ends them."""
_DRIVERS: Final = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}


def open_engine(url: str | sa.URL, **pool: Any) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…`; `pool` are SQLAlchemy's settings of it."""
    parsed, login = split_login(sa.make_url(url))
    kind = parsed.get_backend_name()
    if kind not in _DRIVERS:
        raise InputError(f"a database is given as postgresql://… or mysql://…, not {kind}://…")
    settings = {"connect_timeout": CONNECT_TIMEOUT_S, **login.driver_settings(kind)}
    if kind == "postgresql":
        settings["cursor_factory"] = LastAnswer
        settings |= libpq_settings(parsed.query)
    engine = sa.create_engine(
        parsed.set(drivername=_DRIVERS[kind]),
        connect_args=settings,
        **pool,
    )
    if kind == "postgresql":
        sa.event.listen(engine, "connect", _stream_long_answers)
    else:
        sa.event.listen(engine, "connect", notice_lost_server)
    if login.has_command:
        _ask_for_password(engine, login)
    prepare_sessions(engine)
    return engine


def pooled_engine(url: str | sa.URL, connections: int) -> sa.Engine:
    """An engine that keeps up to so many connections, and replaces those that the server closed,
    or that were used long enough."""
    is_mysql = sa.make_url(url).get_backend_name() == "mysql"
    engine = open_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECT_TIMEOUT_S,
        pool_recycle=RECYCLED_S if is_mysql else -1,
    )

    @sa.event.listens_for(engine, "checkout")
    def require_alive(connection: Any, _: object, __: object) -> None:
        # To ask the server each time would be a round trip for each read.
        if has_input(connection):
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise sa.exc.DisconnectionError(str(error)) from error

    return engine


def unpooled_engine(url: str | sa.URL) -> sa.Engine:
    """An engine that keeps no connection."""
    return open_engine(url, poolclass=sa.NullPool)


def without_limits(engine: sa.Engine) -> sa.Engine:
    """The engine, whose sessions may read for as long as a load of a large table takes, whatever
    the server grants others."""
    sa.event.listen(engine, "connect", end_limits)
    return engine


def connect_for_one_statement(engine: sa.Engine) -> sa.Connection:
    """A connection outside of transactions where the driver would wait to begin one, and to end it;
    another driver would wait to leave them."""
    connection = engine.connect()
    if engine.dialect.name == "postgresql":
        return connection.execution_options(isolation_level="AUTOCOMMIT")
    return connection


def has_input(connection: Any) -> bool:
    """Whether the server has sent something that nobody asked for, as it does when it ends."""
    poll = select.poll()
    # PyMySQL has no other name for its socket.
    socket = connection if hasattr(connection, "fileno") else connection._sock  # noqa: SLF001
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))


def _stream_long_answers(connection: Any, _: object) -> None:
    connection.server_cursor_factory = LongAnswer


def _ask_for_password(engine: sa.Engine, login: Login) -> None:

    @sa.event.listens_for(engine, "do_connect")
    def add_password(dialect: Any, _: object, __: object, settings: dict[str, Any]) -> None:
        try:
            settings["password"] = login.password()
        except PasswordError as error:
            # As if the server had refused the login: a caller that can wait for the database
            # tries again.
            raise dialect.loaded_dbapi.OperationalError(str(error)) from None
