"""The objects of one table alone."""

import pytest

from hive.names import partition_name
from query_api.cached_objects import CachedObjects, TableObjects
from tests.query_api.shards import ORDERS, MemoryShard, load_table, partition_image


def test_a_table_is_read_alone_and_once() -> None:
    shard = MemoryShard(*load_table(1))
    reader = shard.reader()
    objects = TableObjects(ORDERS, reader)
    data = CachedObjects(lambda _: reader).table(ORDERS)
    assert data is not None
    assert objects.table(ORDERS) == data
    assert objects.table(ORDERS) is objects.table(ORDERS)


def test_what_was_not_judged_is_refused() -> None:
    objects = TableObjects(ORDERS, MemoryShard().reader())
    assert objects.table(ORDERS) is None
    elsewhere = ORDERS._replace(table="lines")
    for read in (
        lambda: objects.table(elsewhere),
        lambda: objects.partition(elsewhere, ("v",)),
        lambda: objects.database(ORDERS.database),
        lambda: objects.names(ORDERS.database),
    ):
        with pytest.raises(AssertionError, match="was not judged"):
            read()


def test_names_of_partitions_whose_values_hold_what_separates_keys() -> None:
    values = [("a",), ("b\0c",)]
    reader = MemoryShard(*load_table(1, *(partition_image(*each) for each in values))).reader()
    names = CachedObjects(lambda _: reader).partition_names(ORDERS, ("ds",), ())
    assert names == [partition_name(("ds",), each) for each in values]
