"""The metastore's database that a workload writes to."""

from sqlalchemy import Engine, MetaData

from hive.errors import InputError
from hive.schema import Version, create, detect, metadata
from hive.urls import masked
from metatide.demo.ids import Ids
from metatide.demo.prefill import LogOnly
from metatide.demo.sessions import Sink, WriterSession, reserve_ids
from metatide.stack.database import make_engine


class Store:
    """A database with Hive's schema, which is created if it is empty."""

    def __init__(self, url: str) -> None:
        self.engine: Engine = make_engine(url)
        self.schema = _schema(self.engine)
        self.metadata: MetaData = metadata(self.schema)
        self.ids = Ids(self._reserve)

    def session(self) -> Sink:
        """A connection that writes rows and events."""
        return WriterSession(self.engine, self.metadata)

    def log_only(self) -> Sink:
        """A connection that writes only events, in bulk."""
        return LogOnly(self.engine, self.metadata)

    def _reserve(self, table: str, count: int) -> int:
        return reserve_ids(self.engine, self.metadata, table, count)


def _schema(engine: Engine) -> Version:
    with engine.connect() as connection:
        version = detect(connection)
    if version is None:
        create(engine, Version.V4_1)
        return Version.V4_1
    if version < Version.V4_0:
        raise InputError(
            f"{masked(engine.url.render_as_string())} has the schema of Hive {version.release}; "
            "the demo writes to 4.0 and later: give it another database"
        )
    return version
