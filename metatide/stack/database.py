"""SQLAlchemy engines for plain database URLs."""

import sqlalchemy as sa

from hive.errors import InputError
from hive.reader.sessions import prepare_sessions

_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
CONNECT_TIMEOUT_S = 3


def make_engine(url: str | sa.URL) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…`, with the driver that Metatide includes."""
    parsed = sa.make_url(url)
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise InputError(
            f"a database is given as postgresql://… or mysql://…, not {parsed.drivername}://…"
        )
    engine = sa.create_engine(
        parsed.set(drivername=driver),
        poolclass=sa.NullPool,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_S},
    )
    prepare_sessions(engine)
    return engine


def fault(engine: sa.Engine) -> str | None:
    """Why the database doesn't answer; None if it does."""
    try:
        with engine.connect() as connection:
            connection.execute(sa.select(1))
    except sa.exc.SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        return str(cause).strip().splitlines()[0]
    return None
