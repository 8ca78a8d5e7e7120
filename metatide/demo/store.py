"""The metastore's database that a workload writes to."""

from sqlalchemy import Engine, MetaData, select

from hive.errors import InputError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, detect, metadata
from hive.urls import masked
from metatide.demo.ids import Ids
from metatide.demo.objects import USUAL_WAREHOUSE, Warehouse
from metatide.demo.prefill import LogOnly
from metatide.demo.sessions import Sink, WriterSession, reserve_ids
from metatide.demo.structs import CATALOG

_DEFAULT_DATABASE = "default"


class Store:
    """A database with Hive's schema, which is created if it is empty."""

    def __init__(self, url: str) -> None:
        self.engine: Engine = unpooled_engine(url)
        self.schema = _schema(self.engine)
        self.metadata: MetaData = metadata(self.schema)
        self.ids = Ids(self._reserve)
        self.warehouse = _warehouse(self.engine, self.metadata)

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


def _warehouse(engine: Engine, tables: MetaData) -> Warehouse:
    """The folders of the metastore on this database, which sets both when it first starts."""
    catalogs, databases = tables.tables["CTLGS"].c, tables.tables["DBS"].c
    managed = select(catalogs.LOCATION_URI).where(catalogs.NAME == CATALOG)
    external = select(databases.DB_LOCATION_URI).where(
        databases.CTLG_NAME == CATALOG, databases.NAME == _DEFAULT_DATABASE
    )
    with engine.connect() as connection:
        folders = connection.execute(select(managed.scalar_subquery(), external.scalar_subquery()))
        of_catalog, of_database = folders.one()
    if of_catalog is None or of_database is None:
        return USUAL_WAREHOUSE
    return Warehouse(of_catalog, of_database)
