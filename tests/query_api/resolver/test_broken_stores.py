"""A store that can't be read is a miss with a reason: nothing of it is told, nothing fails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hive.write_ids.lists import write_id_list
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.latest.log_end import LogEnd
from query_api.objects import Objects
from query_api.reads import GetTable, ListTables
from query_api.reads.read import Read
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from state.records.objects import WriteIdsImage
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, STORE_FORMAT
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    load_names,
    load_table,
    name_image,
)

REQUIREMENTS = {
    "any": Requirement(Consistency.ANY, must_be_current=False),
    "latest": Requirement(),
    "within": Requirement(Consistency.WITHIN, max_age_ms=100),
    "write_ids": Requirement(
        Consistency.WRITE_IDS, must_be_current=False, write_ids=write_id_list(1), table_id=ORDERS_ID
    ),
}
READS: dict[str, Read[Any]] = {
    "one table": GetTable(ORDERS),
    "a long list": ListTables(SALES),
}


class ClosedMeanwhile(GetTable, frozen=True):
    """A read whose store is closed after it was judged, before it is read."""

    store: Store

    def answer(self, objects: Objects) -> bytes:
        self.store.close()
        assert objects.partition(self.table, ("2026-01-01",)) is None
        return super().answer(objects)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(
        tmp_path / "0",
        Identity(format_version=STORE_FORMAT, topic_id="lake", partitions=1, shard=0),
        families=SHARD_FAMILIES,
        budget=MemoryBudget(8 << 20),
    )
    yield store
    store.close()


@pytest.fixture
def shards(store: Store) -> MemoryShards:
    ids = WriteIdsImage(1, (), ())
    records = [*load_table(1, write_ids=ids), *load_names(1, name_image(ORDERS.table))]
    return MemoryShards(MemoryShard(change(1), *records, store=store))


async def ask(shards: MemoryShards, read: Read[Any], requirement: Requirement) -> tuple[str, str]:
    backend = Backend(shards, EmptyDatabase(LogEnd(0, 1, [])))
    try:
        answer = await backend.resolver.answer(read, requirement)
        return answer.source, answer.reason
    finally:
        await backend.close()


@pytest.mark.parametrize("requirement", REQUIREMENTS.values(), ids=REQUIREMENTS)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_the_database_answers_for_a_store_that_is_closed(
    shards: MemoryShards, store: Store, read: Read[Any], requirement: Requirement
) -> None:
    if requirement.write_ids is None or not read.is_long:
        assert await ask(shards, read, requirement) == (Source.CACHE, Reason.FRESH)
    store.close()
    source, reason = await ask(shards, read, requirement)
    assert (source, reason) == (Source.DATABASE, Reason.STORE_ERROR)


@pytest.mark.parametrize("requirement", REQUIREMENTS.values(), ids=REQUIREMENTS)
async def test_so_it_does_for_one_that_is_closed_while_it_is_read(
    shards: MemoryShards, store: Store, requirement: Requirement
) -> None:
    with capture_logs() as logs:
        outcome = await ask(shards, ClosedMeanwhile(ORDERS, store), requirement)
    assert outcome == (Source.DATABASE, Reason.STORE_ERROR)
    assert [line["event"] for line in logs] == ["a store can't be read"]


async def test_the_reason_says_what_is_wrong(shards: MemoryShards, store: Store) -> None:
    store.close()
    backend = Backend(shards, EmptyDatabase(LogEnd(0, 1, [])))
    answer = await backend.resolver.answer(GetTable(ORDERS), REQUIREMENTS["any"])
    await backend.close()
    assert answer.detail.endswith("is closed: open it again to read it")
