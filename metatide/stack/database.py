"""SQLAlchemy engines for plain database URLs."""

import sqlalchemy as sa

from hive.reader.driver_errors import driver_reason
from hive.reader.engines import open_engine


def make_engine(url: str | sa.URL) -> sa.Engine:
    """An engine for `postgresql://…` or `mysql://…` that keeps no connection."""
    return open_engine(url, poolclass=sa.NullPool)


def fault(engine: sa.Engine) -> str | None:
    """Why the database doesn't answer; None if it does."""
    try:
        with engine.connect() as connection:
            connection.execute(sa.select(1))
    except sa.exc.SQLAlchemyError as error:
        return driver_reason(error)
    return None
