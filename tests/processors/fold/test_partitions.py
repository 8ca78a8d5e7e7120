"""What is known of partitions after alters that tell only a part of what was stored."""

import msgspec
import pytest

from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION
from state import keys
from state.records import Reread, Rows
from state.records.actions import CreateTable, PutPartitions
from state.records.objects import PartitionImage
from tests.processors.fold.test_shard import TABLE, Shard, add, change, image, load, partition


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


@pytest.mark.parametrize(("write_id", "is_doubtful"), [(5, False), (9, False), (4, True)])
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
