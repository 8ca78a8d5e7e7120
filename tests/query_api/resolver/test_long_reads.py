"""Reads of all partitions wait for a thread only where these are many."""

from collections.abc import Iterator
from typing import Any

import pytest

from hive.names import partition_name
from query_api.backend import Backend
from query_api.cached_objects import CachedObjects
from query_api.consistency import Consistency
from query_api.hot_tables import FEW_PARTITIONS
from query_api.reads import CountPartitions, ListPartitionNames, ListPartitions, Read, Rendered
from query_api.reads.partitions import PartitionSelection
from query_api.requirement import Requirement
from query_api.resolver.answer import ReadAnswer
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.partition_specs import PartitionSpecs
from query_api.thrift.methods.partitions import Of, Partitions
from state.records.actions import DropPartitions, PutPartitions
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    partition_image,
    table_image,
)

ANY = Requirement(Consistency.ANY, must_be_current=False)
BY_FILTER = PartitionSelection(filter="ds >= 'd007'")
READS: dict[str, Read[Any]] = {
    "names": Rendered(ListPartitionNames(ORDERS), lambda answer: "/".join(answer.items).encode()),
    "names by filter": ListPartitionNames(ORDERS, BY_FILTER),
    "objects": Rendered(ListPartitions(ORDERS), lambda answer: b"".join(answer.items)),
    "number": CountPartitions(ORDERS, BY_FILTER),
    "names over Thrift": Partitions(ORDERS, missing=RelayReason.FORM, of_each=Of.NAMES),
    "objects over Thrift": Partitions(ORDERS, missing=RelayReason.FORM, wanted=BY_FILTER),
    "groups over Thrift": PartitionSpecs(ORDERS, missing=RelayReason.FORM),
}


@pytest.fixture
def shard() -> MemoryShard:
    partitions = [partition_image(f"d{day:03d}") for day in range(FEW_PARTITIONS)]
    loaded = load_table(1, *partitions, table=table_image(managed=False))
    return MemoryShard(*loaded, change(1))


@pytest.fixture
def backend(shard: MemoryShard) -> Iterator[Backend]:
    backend = Backend(MemoryShards(shard), Nowhere())
    yield backend
    backend.resolver.close()


@pytest.mark.parametrize("kind", READS)
def test_few_partitions_are_read_at_once(kind: str, shard: MemoryShard, backend: Backend) -> None:
    read = READS[kind]
    for _ in range(2):
        outcome = backend.resolver.cached_now(read, ANY)
        assert isinstance(outcome, ReadAnswer)
        assert outcome.value == read.answer(CachedObjects(lambda _: shard.reader()))


@pytest.mark.parametrize("kind", READS)
async def test_many_are_read_in_a_thread(kind: str, shard: MemoryShard, backend: Backend) -> None:
    read, resolver = READS[kind], backend.resolver
    assert resolver.cached_now(read, ANY) is not None
    shard.fold([change(2, PutPartitions(ORDERS, 0, (partition_image("d999"),), added=True))])
    assert resolver.cached_now(read, ANY) is None
    outcome = await resolver.cached(read, ANY)
    assert isinstance(outcome, ReadAnswer)
    assert outcome.value == read.answer(CachedObjects(lambda _: shard.reader()))
    shard.fold([change(3, DropPartitions(ORDERS, (("d999",),)))])
    assert resolver.cached_now(read, ANY) is not None


def test_a_read_of_many_names_is_long_in_a_small_table(backend: Backend) -> None:
    names = tuple(partition_name(("ds",), (f"e{number}",)) for number in range(FEW_PARTITIONS + 1))
    read = Partitions(ORDERS, missing=RelayReason.FORM, names=names)
    assert backend.resolver.cached_now(read, ANY) is None
