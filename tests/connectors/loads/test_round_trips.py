"""How often a load waits for the database, which may be far away."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest
import sqlalchemy as sa

from connectors.loads import batch
from connectors.loads.batch import Database, find_database
from connectors.loads.end_gate import EndGate
from connectors.loads.loader import loads_engine
from connectors.loads.rereads import reread
from connectors.publish.watermark import Watermark
from hive.names import TableName
from hive.reader.snapshot import open_snapshot
from hive.schema import metadata
from metatide.demo.options import Size
from metatide.stack.machine import LOOPBACK
from state.records import Scope, ScopeKind
from tests.connectors.loads.load_topic import Topic
from tests.metatide.demo.workload_runs import filled_store
from tests.support.round_trips import RoundTrips, round_trips

LOOKED_UP: Final = {"postgresql": 1, "mysql": 2}
"""MariaDB's driver ends a transaction that began by itself."""
SNAPSHOT: Final = 2
"""It begins with its moment, and ends."""
OF_TABLE: Final = 6
"""Remote databases, write ids and the next of them, the table, its details and constraints."""
STATISTICS: Final = 1
OF_PARTITIONS: Final = 3
"""Their ids, the partitions and their details."""


@pytest.fixture(
    scope="module",
    params=[
        "new_metastore_database",
        pytest.param("new_mariadb_database", marks=pytest.mark.mariadb),
    ],
)
def url(request: pytest.FixtureRequest) -> sa.URL:
    new_database: Callable[[], str] = request.getfixturevalue(request.param)
    url = new_database()
    filled_store(url, Size(tables=10, partitions=100, column_layouts=3)).engine.dispose()
    return sa.make_url(url)


@pytest.fixture(scope="module")
def way(url: sa.URL) -> Iterator[tuple[RoundTrips, Database]]:
    assert url.host
    assert url.port
    with round_trips((url.host, url.port)) as counted:
        near = url.set(host=LOOPBACK, port=counted.port)
        engine = loads_engine(near.render_as_string(hide_password=False))
        yield counted, find_database(engine)
        engine.dispose()


def table(database: Database, *, partitioned: bool) -> TableName:
    tables = metadata(database.version).tables
    dbs, tbls, keys = (tables[name] for name in ("DBS", "TBLS", "PARTITION_KEYS"))
    has_keys = sa.exists().where(keys.c.TBL_ID == tbls.c.TBL_ID)
    statement = (
        sa.select(dbs.c.NAME, tbls.c.TBL_NAME)
        .join_from(dbs, tbls, dbs.c.DB_ID == tbls.c.DB_ID)
        .where(has_keys if partitioned else ~has_keys)
    )
    with database.engine.connect() as connection:
        db, name = connection.execute(statement.limit(1)).one()
    return TableName("hive", db, name)


@pytest.mark.parametrize(
    ("partitioned", "statements"),
    [
        (False, OF_TABLE + STATISTICS),
        (True, OF_TABLE + STATISTICS + OF_PARTITIONS + STATISTICS),
    ],
)
def test_a_table_is_loaded_in_a_round_trip_for_each_statement(
    way: tuple[RoundTrips, Database], partitioned: bool, statements: int
) -> None:
    counted, database = way
    scope = Scope(ScopeKind.TABLE, table(database, partitioned=partitioned))
    with open_snapshot(*database) as snapshot:
        published = Watermark()
        published.rise(0, [snapshot.position])
    gate = EndGate(published, 0, [0], lambda: open_snapshot(*database), lambda: True)
    before = counted.count
    batch.load(database, Topic(0), 0, [scope], gate=gate)
    looked_up = LOOKED_UP[database.engine.dialect.name]
    assert counted.count - before == looked_up + SNAPSHOT + statements


def test_an_object_is_read_again_in_a_round_trip_for_each_statement(
    way: tuple[RoundTrips, Database],
) -> None:
    counted, database = way
    name = table(database, partitioned=False)
    before = counted.count
    reread(database, Topic(0), 0, {name: [()]})
    assert counted.count - before == SNAPSHOT + 2
