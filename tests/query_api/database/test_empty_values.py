"""Filters of the database's partitions tell an empty value from a missing one, as the metastore
does, though their partitions have names alike.
"""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from hive.names import DEFAULT_PARTITION
from hive.reader.snapshot import open_snapshot
from hive.schema import metadata
from hive.thrift.view import PartitionView
from query_api.database import DatabaseObjects
from query_api.reads import CountPartitions, ListPartitionNames, ListPartitions
from query_api.reads.partitions import PartitionSelection
from tests.query_api.sales import DAYS, ORDERS, sales


@pytest.fixture(scope="module", params=["", DEFAULT_PARTITION])
def stored(
    new_metastore_database: Callable[[], str], request: pytest.FixtureRequest
) -> Iterator[tuple[str, DatabaseObjects]]:
    """The value that the second day's partition has in its place, and the database's objects."""
    store = sales(new_metastore_database()).store
    tables = metadata(store.schema).tables
    partitions, key_values = tables["PARTITIONS"], tables["PARTITION_KEY_VALS"]
    with store.engine.begin() as connection:
        connection.execute(
            sa.update(partitions)
            .where(partitions.c.PART_NAME == f"ds={DAYS[1]}")
            .values(PART_NAME=f"ds={DEFAULT_PARTITION}")
        )
        connection.execute(
            sa.update(key_values)
            .where(key_values.c.PART_KEY_VAL == DAYS[1])
            .values(PART_KEY_VAL=request.param)
        )
    with open_snapshot(store.engine, store.schema) as snapshot:
        yield request.param, DatabaseObjects(snapshot)


@pytest.mark.parametrize("text", ["ds = ''", f"ds = '{DEFAULT_PARTITION}'", "ds < '1'"])
def test_a_filter_compares_what_is_stored(stored: tuple[str, DatabaseObjects], text: str) -> None:
    value, objects = stored
    passes = {"ds = ''": value == "", "ds < '1'": value == ""}.get(text, value != "")
    wanted = PartitionSelection(filter=text)
    assert CountPartitions(ORDERS, wanted).answer(objects) == passes
    names = list(ListPartitionNames(ORDERS, wanted).answer(objects).items)
    assert names == [f"ds={DEFAULT_PARTITION}"] * passes
    partitions = list(ListPartitions(ORDERS, wanted).answer(objects).items)
    assert [PartitionView(data).values for data in partitions] == [(value,)] * passes
