"""A warm table with write ids, and a database that tells them."""

from hive.write_ids.lists import write_id_list
from query_api.database.reads import (
    CurrentEvent,
    GetWriteIds,
    ListCatalogs,
    Snapshots,
    TableSnapshot,
)
from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import LogEnd
from query_api.reads import Read, Rendered
from state.records.actions import (
    AllocateWriteIds,
    CommitTxn,
    CreateNames,
    CreateTable,
    PutName,
    PutPartitions,
)
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    name_image,
    partition_image,
    table_image,
)

DAYS = [f"2026-01-{day:02d}" for day in range(1, 11)]


def warm() -> MemoryShards:
    rows = tuple(partition_image(day) for day in DAYS)
    return MemoryShards(
        MemoryShard(
            change(1, CreateNames(SALES)),
            change(2, CreateTable(table_image()), PutName(SALES, name_image("orders"))),
            change(3, AllocateWriteIds(ORDERS, (50,), (1,))),
            change(4, PutPartitions(ORDERS, 1, rows, added=True)),
            change(5, CommitTxn(50, None)),
            *load_databases(5, database_image()),
        )
    )


class WriteIdDatabase(Nowhere):
    """A database that tells write ids and the current event."""

    def __init__(self) -> None:
        super().__init__(LogEnd(0, 5, []))

    async def answer(self, read: Read[object]) -> DatabaseAnswer[object]:
        if isinstance(read, Rendered):
            answer = await self.answer(read.read)
            return answer._replace(value=read.write(answer.value))
        if isinstance(read, GetWriteIds):
            tables = [TableSnapshot(ORDERS, ORDERS_ID, write_id_list(1, table="sales.orders"))]
            return DatabaseAnswer(Snapshots(write_id_list(60), tables), 5)
        if isinstance(read, CurrentEvent):
            return DatabaseAnswer(5, 5)
        if isinstance(read, ListCatalogs):
            return DatabaseAnswer(["hive"], 5)
        return await super().answer(read)
