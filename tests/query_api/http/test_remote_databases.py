"""Tables of a remote database are in another system: neither cache nor database has them."""

from typing import Any

import httpx
import pytest

from hive.errors import NoSuchObjectError
from hive.names import DatabaseName, table_name
from hive.thrift.binary import encode
from hive.thrift.structs import DATABASE
from query_api.cached_objects import CachedObjects
from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import LogEnd
from query_api.reads import Read
from query_api.shards import Views
from query_api.targets import Target
from state.records import databases_scope
from state.records.actions import CreateNames, CreateTable, DropName, DropTable, PutName
from state.records.objects import DatabaseImage
from state.records.routing import home_shard, table_shard
from state.shard_reader import ShardReader
from tests.query_api.http.read_client import Nowhere, ask, get, grounds
from tests.query_api.http.warm_shards import ANY
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    name_image,
    table_image,
)

AFAR = DatabaseName("hive", "afar")
THERE = "/v1/databases/afar/tables"
OF_AFAR = (
    THERE,
    f"{THERE}?pattern=o*",
    f"{THERE}/orders",
    f"{THERE}/orders/partitions",
    f"{THERE}/orders/partitions/ds=1",
    f"{THERE}/orders/partition-names",
    f"{THERE}/orders/partition-count",
    f"{THERE}/orders/statistics",
    f"{THERE}/orders/partition-statistics?name=ds=1",
    f"{THERE}/orders/aggregate-statistics?name=ds=1&column=amount",
    f"{THERE}/orders/constraints",
    "/v1/tables?name=sales.orders&name=afar.orders",
    "/v1/table-metadata",
    "/v1/table-metadata?database=a*",
)
OF_OTHERS = (
    ("/v1/databases/sales/tables", 200),
    ("/v1/databases/sales/tables/orders", 200),
    ("/v1/databases/sales/tables/none", 404),
    ("/v1/tables?name=sales.orders&name=sales.none", 200),
    ("/v1/table-metadata?database=s*", 200),
    ("/v1/databases/afar", 200),
    ("/v1/databases", 200),
)


def shards() -> MemoryShards:
    remote = encode(DATABASE, {"name": "afar", "catalogName": "hive", "type": 2})
    shard = MemoryShard(
        change(1, CreateNames(SALES), CreateNames(AFAR)),
        change(2, CreateTable(table_image(managed=False)), PutName(SALES, name_image("orders"))),
        *load_databases(2, database_image(), DatabaseImage(AFAR, remote)),
    )
    return MemoryShards(shard)


class FilledDatabase(Nowhere):
    """A database with the same objects."""

    def __init__(self) -> None:
        super().__init__(LogEnd(0, 2, []))
        self.views = Views(shards())

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        self.reads.append(read)
        try:
            return DatabaseAnswer(read.answer(CachedObjects(self._reader)), 2)
        except NoSuchObjectError as missing:
            return DatabaseAnswer(missing, 2)

    def _reader(self, target: Target) -> ShardReader:
        reader = self.views.reader(0)
        assert reader is not None
        return reader


@pytest.mark.parametrize(("consistency", "asks"), [("any", False), ("latest", True)])
@pytest.mark.parametrize("path", OF_AFAR)
def test_the_cache_says_where_its_tables_are(path: str, consistency: str, asks: bool) -> None:
    """Under `latest` the database does: it may have been dropped, which no event tells."""
    query = f"{'&' if '?' in path else '?'}consistency={consistency}"
    database = FilledDatabase()

    [response] = get(shards(), path + query, database=database)

    assert response.status_code == 422
    assert "hive.afar is a remote database" in response.json()["detail"]
    assert "Thrift" in response.json()["detail"]
    assert bool(database.reads) is asks


@pytest.mark.parametrize("path", OF_AFAR)
def test_so_does_the_database(path: str) -> None:
    database = FilledDatabase()

    [response] = get(MemoryShards(MemoryShard()), path, database=database)

    assert response.status_code == 422
    assert "hive.afar is a remote database" in response.json()["detail"]
    assert database.reads


@pytest.mark.parametrize(("path", "status"), OF_OTHERS)
def test_others_are_answered(path: str, status: int) -> None:
    [response] = get(shards(), f"{path}{'&' if '?' in path else '?'}{ANY}")

    assert (response.status_code, *grounds(response)) == (status, "cache", "fresh")


def test_a_missing_table_may_come_back() -> None:
    """What a missing one depends on isn't remembered for one that exists."""
    source = shards()
    [shard] = filter(None, source.shards)

    async def asking(client: httpx.AsyncClient) -> None:
        path = f"/v1/databases/sales/tables/orders?{ANY}"
        for event, actions, status in (
            (3, [DropTable(ORDERS), DropName(SALES, "orders")], 404),
            (4, [CreateTable(table_image(managed=False))], 200),
        ):
            shard.fold([change(event, *actions)])
            for _ in range(2):
                assert (await client.get(path)).status_code == status

    ask(source, asking)


def test_a_missing_table_is_worth_a_load_of_the_databases() -> None:
    source = MemoryShards(MemoryShard(change(1, CreateNames(SALES)), change(2)))

    [response] = get(source, f"/v1/databases/sales/tables/none?{ANY}", database=FilledDatabase())

    assert (response.status_code, *grounds(response)) == (404, "database", "cold")
    assert source.wanted == [(0, databases_scope("hive"), 0)]


@pytest.mark.parametrize("path", ["", "/orders"])
def test_what_is_missing_has_the_position_that_shows_so(path: str) -> None:
    names = (DatabaseName("hive", f"d{number}") for number in range(99))
    db = next(db for db in names if home_shard(db, 2) == table_shard(db.table("orders"), 2) == 1)
    loaded = load_databases(2, database_image(db))
    table = CreateTable(table_image(db.table("orders"), managed=False))
    source = MemoryShards(
        MemoryShard(change(2, after=0), *loaded),
        MemoryShard(
            change(1, CreateNames(db)),
            change(2, table),
            *loaded,
            change(3, DropTable(db.table("orders"))),
        ),
    )

    [response] = get(source, f"/v1/databases/{db.db}/tables{path}?{ANY}")

    assert (response.status_code, *grounds(response)) == (404 if path else 200, "cache", "fresh")
    assert response.headers["metatide-position"] == "0:3"


def test_a_shard_without_the_names_leaves_a_missing_table_to_the_database() -> None:
    name = next(
        name
        for number in range(99)
        if table_shard(name := table_name(None, "sales", f"t{number}"), 2)
        != home_shard(name.database, 2)
    )
    source = MemoryShards(None, None)
    source.shards[table_shard(name, 2)] = MemoryShard(
        change(1, CreateTable(table_image(name, managed=False))), change(2, DropTable(name))
    )
    database = FilledDatabase()

    path = f"/v1/databases/sales/tables/{name.table}?{ANY}"
    [response] = get(source, path, database=database)

    assert len(database.reads) == 1
    assert response.status_code == 404
