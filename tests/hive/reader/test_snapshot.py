"""Snapshots that see the same moment."""

from collections.abc import Callable

from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.schema import Version


def test_a_snapshot_that_joins_another_sees_what_that_sees(
    new_metastore_database: Callable[[], str],
) -> None:
    engine, version = unpooled_engine(new_metastore_database()), Version.V4_1
    with open_snapshot(engine, version) as first:
        name = first.export()
        assert name is not None
        with engine.begin() as writing:
            writing.exec_driver_sql(
                'UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = "NEXT_EVENT_ID" + 1'
            )
        with open_snapshot(engine, version, name) as same:
            assert same.position == first.position
        with open_snapshot(engine, version) as later:
            assert later.position == first.position + 1
