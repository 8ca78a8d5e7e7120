"""What is known of partitions after events that tell only a part of what was stored."""

from collections.abc import Callable

import msgspec
import pytest

from hive.thrift.binary import encode
from hive.thrift.splice import lacking_serde_details
from hive.thrift.structs import PARTITION
from processors.fold import table_change
from state import keys
from state.loads import Cold
from state.records import AnyRecord, LoadRows, Reread, Rows
from state.records.actions import (
    AlterPartition,
    AlterTable,
    AnyAction,
    CreateTable,
    PutPartitions,
    PutPartitionStatistics,
)
from state.records.objects import ColumnStatisticsImage, PartitionImage, fingerprint
from state.shard_reader import ShardReader
from tests.processors.fold.shard import (
    SCOPE,
    TABLE,
    Shard,
    add,
    change,
    drop,
    image,
    load,
    partition,
    statistics,
)

BEFORE = fingerprint(encode(PARTITION, {}))


@pytest.fixture
def shard() -> Shard:
    return Shard()


def numbered(write_id: int, parameters: dict[str, str]) -> PartitionImage:
    fields = {"values": ["a"], "parameters": parameters, "writeId": write_id}
    return PartitionImage(("a",), write_id, 1, encode(PARTITION, fields))


def test_a_truncation_leaves_its_partitions_in_doubt(shard: Shard) -> None:
    """It was stored in a transaction of its own, after which others may have written."""
    added = PutPartitions(TABLE, 0, (numbered(-1, {}),), added=True)
    images = (numbered(-1, {"k": "v"}),)
    shard.fold(change(1, CreateTable(image())), change(2, added))
    shard.fold(change(3, PutPartitions(TABLE, 0, images, added=False, truncates=True)))
    assert shard.doubtful() == {keys.named_values(("a",))}
    assert shard.partitions() == {}


def test_partitions_that_an_event_names_without_telling_them_are_in_doubt(shard: Shard) -> None:
    added = PutPartitions(TABLE, 0, (numbered(-1, {}),), added=True)
    named_only = msgspec.structs.replace(numbered(-1, {"k": "v"}), data=b"")
    shard.fold(change(1, CreateTable(image())), change(2, added))
    shard.fold(change(3, PutPartitions(TABLE, 0, (named_only,), added=False)))
    assert shard.doubtful() == {keys.named_values(("a",))}
    assert shard.partitions() == {}


@pytest.mark.parametrize(
    ("write_id", "is_doubtful"),
    [(5, False), (9, False), (4, True), (1, True), (0, True), (-1, True)],
)
def test_an_alter_with_an_older_write_id_leaves_its_partition_in_doubt(
    shard: Shard, write_id: int, is_doubtful: bool
) -> None:
    """The metastore stores it only if it came with a list of write ids, which no event tells."""
    added = PutPartitions(TABLE, 0, (numbered(5, {}),), added=True)
    altered = PutPartitions(TABLE, 0, (numbered(write_id, {"k": "v"}),), added=False)
    shard.fold(change(1, CreateTable(image())), change(2, added), change(3, altered))
    assert bool(shard.doubtful()) is is_doubtful


def test_a_load_after_a_reread_keeps_what_is_known_of_the_order_of_writers(shard: Shard) -> None:
    """Else each alter by ALTER_PARTITIONS would leave its partition in doubt."""
    altered = PutPartitions(TABLE, 0, (partition("a", b"q"),), added=False)
    reread = Reread(0, TABLE, 3, 7, (("b",),), Rows(partitions=(partition("b"),)))
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "b")), change(3), reread)
    shard.fold(*load(3, "a", "b"), change(4, altered))
    assert shard.doubtful() == set()
    assert shard.partitions()["a"] == b"q"


def conflict(event: int, value: str = "a") -> AnyRecord:
    """An alter whose writer had read something else than what is held."""
    another = fingerprint(b"another")
    action = AlterPartition(TABLE, 0, (value,), another, partition(value, b"q"), truncates=False)
    return change(event, action)


@pytest.mark.parametrize(
    "doubt", [conflict(3), change(3, PutPartitionStatistics(TABLE, 0, ("a",), (), None, None))]
)
def test_a_partition_that_is_read_after_a_doubt_has_a_writer_that_locked_nothing(
    shard: Shard, doubt: AnyRecord
) -> None:
    reread = Reread(0, TABLE, 3, 7, (("a",),), Rows(partitions=(partition("a", b"q"),)))
    added = add("a", data=encode(PARTITION, {}))
    shard.fold(change(1, CreateTable(image())), change(2, added), doubt, reread)
    assert shard.partitions() == {"a": b"q"}
    shard.fold(change(4, PutPartitions(TABLE, 0, (partition("a", b"r"),), added=False)))
    assert shard.doubtful() == {("a",)}


def test_events_that_a_partition_was_read_after_change_nothing(shard: Shard) -> None:
    reread = Reread(0, TABLE, 5, 7, (("a",),), Rows(partitions=(partition("a", b"r"),)))
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), conflict(3), reread)
    shard.fold(conflict(4), conflict(5))
    assert shard.doubtful() == set()
    assert shard.partitions() == {"a": b"r"}


@pytest.mark.parametrize("action", [drop("a"), add("a")])
def test_a_partition_that_is_dropped_or_added_is_in_doubt_no_more(
    shard: Shard, action: AnyAction
) -> None:
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "b")), conflict(3))
    shard.fold(conflict(4, "b"), change(5, action))
    assert shard.doubtful() == {("b",)}


def test_a_table_with_more_partitions_in_doubt_than_are_kept_is_in_doubt_itself(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_change, "DOUBTFUL_MAX", 2)
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "b", "c")))
    shard.fold(conflict(3, "a"), conflict(4, "b"), conflict(5, "b"))
    assert shard.doubtful() == {("a",), ("b",)}
    assert shard.cold() is None
    assert shard.fold(conflict(6, "c")) == [SCOPE]
    assert shard.doubtful() == set()
    assert shard.cold() is Cold.DOUBT


def columns(shard: Shard) -> list[str]:
    """The columns of which there are statistics of a partition."""
    stored = ShardReader(shard.store.snapshot()).partition_statistics(TABLE, ("a",))
    return [column.column for column in stored]


@pytest.mark.parametrize("action", [drop("a"), add("a")])
def test_a_partition_that_is_dropped_or_added_has_no_statistics(
    shard: Shard, action: AnyAction
) -> None:
    added = add("a", data=encode(PARTITION, {}))
    shard.fold(change(1, CreateTable(image())), change(2, added), statistics(3, 0b110))
    assert columns(shard) == ["c"]
    assert shard.fold(change(4, action)) == []
    assert columns(shard) == []


def with_loaded_statistics() -> list[AnyRecord]:
    """A load, as of event 2, of a partition with statistics of a column."""
    begin, _, end = load(2)
    row = partition("a", encode(PARTITION, {}))
    column = ColumnStatisticsImage(("a",), "hive", "c", 0, 1, b"s", 0b110)
    rows = Rows(tables=(image(),), partitions=(row,), statistics=(column,))
    return [begin, LoadRows(0, "load", SCOPE, 2, 0, rows), end]


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (change(3, AlterPartition(TABLE, 0, ("a",), BEFORE, partition("a"), False)), ["c"]),
        (statistics(3, 0b111), ["c"]),
        (statistics(3, 0b011), []),
    ],
    ids=["same columns", "more fields", "fewer fields"],
)
def test_a_load_tells_the_columns_of_a_partition_and_the_fields_of_statistics(
    shard: Shard, event: AnyRecord, kept: list[str]
) -> None:
    shard.fold(change(2, after=0), *with_loaded_statistics(), event)
    assert columns(shard) == kept


def test_a_truncation_that_a_load_has_read_after_it_asks_for_nothing(shard: Shard) -> None:
    rows = (partition("a", b"q"),)
    truncated = change(2, PutPartitions(TABLE, 0, rows, added=False, truncates=True), after=0)
    assert shard.fold(*with_loaded_statistics(), truncated) == []
    assert columns(shard) == ["c"]


def test_a_load_settles_the_doubts_of_its_own_event(shard: Shard) -> None:
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), conflict(3))
    shard.fold(*load(3, "a"))
    assert shard.doubtful() == set()


@pytest.mark.parametrize("action", [drop("a"), add("a")])
def test_a_load_brings_no_statistics_from_before_a_drop_or_an_addition(
    shard: Shard, action: AnyAction
) -> None:
    begin, _, end = load(2)
    column = ColumnStatisticsImage(("a",), "hive", "c", 0, 1, b"s", 1)
    rows = Rows(tables=(image(),), partitions=(partition("a"),), statistics=(column,))
    brought = LoadRows(0, "load", SCOPE, 2, 0, rows)
    shard.fold(change(2, after=0), begin, change(3, action), brought, end)
    assert columns(shard) == []


@pytest.mark.parametrize("is_of_many", [True, False])
def test_a_writer_of_statistics_of_many_partitions_at_once_has_locked_them(
    shard: Shard, is_of_many: bool
) -> None:
    others = {} if is_of_many else {"k": "v"}
    [analysed] = statistics(4, 0b110).actions
    assert isinstance(analysed, PutPartitionStatistics)
    assert analysed.parameters is not None
    analysed = msgspec.structs.replace(analysed, parameters=analysed.parameters | others)
    rows = partition("a", encode(PARTITION, {"parameters": others}))
    shard.fold(*load(3, "a", data=rows.data), change(3, after=0), change(4, analysed))
    shard.fold(change(5, PutPartitions(TABLE, 0, (partition("a", b"r"),), added=False)))
    assert shard.partitions() == ({"a": b"r"} if is_of_many else {})


@pytest.mark.parametrize("data", [b"q", b"r"])
def test_an_alter_of_partitions_that_nobody_has_locked_is_believed_if_it_changes_nothing(
    shard: Shard, data: bytes
) -> None:
    shard.fold(*load(1, "a", data=b"q"), change(1))
    shard.fold(change(2, PutPartitions(TABLE, 0, (partition("a", data),), added=False)))
    assert shard.partitions() == ({"a": b"q"} if data == b"q" else {})
    assert shard.doubtful() == (set() if data == b"q" else {("a",)})


def test_an_alter_of_a_partition_that_is_not_there_leaves_it_in_doubt(shard: Shard) -> None:
    shard.fold(*load(0), conflict(1))
    assert shard.doubtful() == {("a",)}


@pytest.mark.parametrize("is_locked", [True, False])
def test_the_last_writer_counts_whose_alter_a_load_had_read(shard: Shard, is_locked: bool) -> None:
    altered = AlterPartition(
        TABLE, 0, ("a",), fingerprint(b"p"), partition("a", b"q"), truncates=False
    )
    shard.fold(change(3, after=0), *load(5, "a", data=b"q"), change(4, add("a")))
    shard.fold(change(5) if is_locked else change(5, altered))
    shard.fold(change(6, PutPartitions(TABLE, 0, (partition("a", b"r"),), added=False)))
    assert shard.partitions() == ({"a": b"r"} if is_locked else {})


@pytest.mark.parametrize("rewrites", [True, False])
def test_a_writer_that_rewrites_all_partitions_has_locked_none(
    shard: Shard, rewrites: bool
) -> None:
    altered = AlterTable(image(), None, rewrites, truncates=False)
    shard.fold(change(2, after=0), *load(5, "a", data=b"q"), change(3, add("a")))
    shard.fold(change(4, altered), change(5))
    shard.fold(change(6, PutPartitions(TABLE, 0, (partition("a", b"r"),), added=False)))
    assert shard.doubtful() == ({("a",)} if rewrites else set())


def test_a_partition_that_was_read_again_tells_nothing_of_its_former_self(shard: Shard) -> None:
    renamed = AlterPartition(TABLE, 0, ("a",), fingerprint(b"p"), partition("b"), truncates=False)
    reread = Reread(0, TABLE, 5, 7, (("a",),), Rows(partitions=(partition("a", b"r"),)))
    shard.fold(change(1, CreateTable(image())), change(2, add("a")), conflict(3), reread)
    shard.fold(change(4, renamed), change(5, add("a")))
    assert shard.partitions() == {"a": b"r"}
    assert shard.doubtful() == {("b",)}


@pytest.mark.parametrize(
    ("columns_hash", "truncates", "remaining"),
    [(1, False, ["c"]), (2, False, []), (1, True, [])],
    ids=["nothing of columns", "other columns", "truncated"],
)
def test_alters_of_partitions_end_statistics(
    shard: Shard, columns_hash: int, truncates: bool, remaining: list[str]
) -> None:
    added = add("a", data=encode(PARTITION, {}))
    shard.fold(change(1, CreateTable(image())), change(2, added), statistics(3, 0b110))
    altered = (PartitionImage(("a",), 0, columns_hash, b"q"),)
    signals = shard.fold(change(4, PutPartitions(TABLE, 0, altered, False, truncates)))
    assert columns(shard) == remaining
    assert (SCOPE in signals) == (not remaining)


@pytest.mark.parametrize("mark", [bytes, lacking_serde_details], ids=["whole", "lacking details"])
def test_an_alter_of_partitions_tells_no_details_that_were_lacking(
    shard: Shard, mark: Callable[[bytes], bytes]
) -> None:
    before, after = encode(PARTITION, {}), encode(PARTITION, {"parameters": {"k": "v"}})
    shard.fold(change(1, CreateTable(image())), change(2, add("a", data=mark(before))))
    shard.fold(change(3, PutPartitions(TABLE, 0, (partition("a", after),), added=False)))
    assert shard.partitions() == {"a": mark(after)}
