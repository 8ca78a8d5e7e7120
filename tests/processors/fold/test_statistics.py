"""What is known of a table or a partition after statistics were written."""

import pytest

from hive.events import accuracy
from hive.thrift.binary import decode, encode
from hive.thrift.structs import PARTITION
from hive.thrift.structs import TABLE as TABLE_STRUCT
from state import entries, keys
from state.loads import Cold, Doubt
from state.records import Scope, ScopeKind
from state.records.actions import (
    CreateTable,
    DropStatistics,
    PutPartitions,
    PutPartitionStatistics,
    PutTableStatistics,
)
from state.records.objects import ColumnStatisticsImage, PartitionImage, TableImage
from state.shard_reader import ShardReader
from state.tables import TABLE_ROW
from tests.processors.fold.shard import (
    SCOPE,
    TABLE,
    Shard,
    add,
    change,
    image,
    load,
    statistics,
    table,
)

ANALYSED = {accuracy.NAME: '{"COLUMN_STATS":{"c":"true"}}'}
COLUMN = ColumnStatisticsImage(None, "hive", "c", 0, 1, b"figures", fields=1)


def test_an_event_that_has_the_table_leaves_no_doubt() -> None:
    shard = Shard()
    action = PutTableStatistics(TABLE, 0, (COLUMN,), table(ANALYSED))
    assert shard.fold(change(1, CreateTable(table({}))), change(2, action)) == []
    entry = ShardReader(shard.store.snapshot()).table(TABLE)
    assert entry is not None
    assert decode(TABLE_STRUCT, entry.data)["parameters"] == ANALYSED


@pytest.mark.parametrize("row", [None, table(ANALYSED | {"more": "x"})])
def test_an_event_that_does_not_tell_the_table_leaves_it_in_doubt(
    row: TableImage | None,
) -> None:
    shard = Shard()
    action = PutTableStatistics(TABLE, 0, (COLUMN,), row)
    signals = shard.fold(change(1, CreateTable(table({}))), change(2, action))
    assert signals == [Scope(ScopeKind.OBJECTS, TABLE), SCOPE]
    assert shard.doubtful() == {TABLE_ROW}
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(2, 0) is Cold.DOUBT


@pytest.mark.parametrize(("write_id", "is_doubtful"), [(-1, True), (0, True), (1, False)])
def test_a_missing_write_id_may_have_been_stored_after_another(
    write_id: int, is_doubtful: bool
) -> None:
    shard = Shard()
    parameters = {"transactional": "true"}
    stored = encode(PARTITION, {"parameters": parameters, "writeId": 2})
    added = PutPartitions(TABLE, 2, (PartitionImage(("a",), 2, 1, stored),), added=True)
    analysed = PutPartitionStatistics(TABLE, write_id, ("a",), (), parameters, True)
    shard.fold(change(1, CreateTable(table({}))), change(2, added), change(3, analysed))
    assert bool(shard.doubtful()) is is_doubtful


@pytest.mark.parametrize("data", [b"", b"p", b"\2\xff\xff\1\0", encode(PARTITION, {}) + b"x"])
def test_statistics_of_what_can_not_be_read_leave_it_in_doubt(data: bytes) -> None:
    """Whoever may write to the topic could stop a shard for good otherwise."""
    shard = Shard()
    shard.fold(change(1, CreateTable(image(data))), change(2, add("a", data=data)))
    shard.fold(statistics(3, 1))
    assert ("a",) in shard.doubtful()
    for event, row in ((4, table(ANALYSED)), (5, image(data))):
        shard.fold(change(event, PutTableStatistics(TABLE, 0, (COLUMN,), row)))
        assert TABLE_ROW in shard.doubtful()
    assert shard.applied == 5


def test_statistics_that_leave_fields_of_the_old_ones_in_place_are_not_believed() -> None:
    shard = Shard()
    stored = add("a", data=encode(PARTITION, {}))
    shard.fold(change(1, CreateTable(image())), change(2, stored), statistics(3, 0b110))
    key = keys.partition_statistics(TABLE, ("a",), "hive", "c")
    assert shard.store.snapshot().get(key) is not None
    shard.fold(statistics(4, 0b111, b"more"))
    assert entries.data_of(shard.store.snapshot().get(key) or b"").endswith(b"more")
    assert shard.fold(statistics(5, 0b011)) == [SCOPE]
    assert shard.store.snapshot().get(key) is None


def test_statistics_over_unknown_ones_are_not_believed() -> None:
    shard = Shard()
    shard.fold(change(1), statistics(2, 0b110))
    assert shard.store.snapshot().get(keys.partition_statistics(TABLE, ("a",), "hive", "c")) is None


def test_statistics_that_a_load_may_have_read_before_their_event_are_in_doubt() -> None:
    shard = Shard()
    shard.fold(change(2, after=0), *load(2, "a", hi=3, data=encode(PARTITION, {})))
    assert shard.fold(statistics(3, 0b110)) == [SCOPE]
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(3, 0) is Cold.DOUBT


def test_statistics_that_a_load_has_read_after_their_event_are_believed() -> None:
    shard = Shard()
    loaded = load(4, "a", data=encode(PARTITION, {}))
    shard.fold(*loaded, change(2, after=0), statistics(3, 0b110), change(4))
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(4, 0) is None


def test_a_late_doubt_leaves_the_one_of_a_later_event_in_place() -> None:
    """An event that waited for the end of a load is folded after others that didn't wait."""
    shard = Shard()
    begin, *rest = load(1, data=encode(PARTITION, {}))
    waiting = change(2, PutTableStatistics(TABLE, 0, (COLUMN,), None))
    dropped = change(3, DropStatistics(TABLE, None, "c"))
    shard.fold(change(1), begin, waiting, dropped, *rest)
    assert shard.doubtful() == {TABLE_ROW}, "the event that waited is in doubt"
    state = shard.state()
    assert state is not None
    assert (state.statistics_floor, state.statistics_doubt) == (3, Doubt.ENGINE_UNSAID)
    shard.fold(*load(2, id_="again"))
    state = shard.state()
    assert state is not None
    assert state.statistics_cold(3, 0) is Cold.DOUBT
