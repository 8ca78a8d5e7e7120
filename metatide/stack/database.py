"""Whether a database answers."""

import sqlalchemy as sa

from hive.reader.driver_errors import driver_reason


def fault(engine: sa.Engine) -> str | None:
    """Why the database doesn't answer; None if it does."""
    try:
        with engine.connect() as connection:
            connection.execute(sa.select(1))
    except sa.exc.SQLAlchemyError as error:
        return driver_reason(error)
    return None
