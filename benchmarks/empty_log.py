"""A database in which the number of the last event is all that is filled."""

import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata


def make_empty_log(url: str, last_event: int) -> None:
    """Creates the schema in a database."""
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    sequence = metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"]
    with engine.begin() as connection:
        connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=last_event + 1))
    engine.dispose()
