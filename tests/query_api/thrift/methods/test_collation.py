"""A metastore whose database sorts names by the rules of a language: what the cache answers is the
same, and what that order decides is left to the metastore."""

from collections import Counter
from collections.abc import Iterator

import pytest

from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.thrift.call import Relay, RelayReason
from tests.query_api.thrift.methods import caches, corpus, wire
from tests.query_api.thrift.methods.comparison import ask, comparable, whole
from tests.query_api.thrift.methods.corpus import call, req
from tests.query_api.thrift.methods.wire import result
from tests.support.databases.stock_postgres import NewStockDatabase
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances, MetastoreFactory

pytestmark = [pytest.mark.hive, pytest.mark.stock, pytest.mark.by_turns(2, of="metastores")]
DB = "sorted"
VALUES = {
    "dates": ["2024-01-01", "2024-01-02", "2024-02-10", "2023-12-31"],
    "mixed": ["_x", "10", "9", "a", "B", "A", "b", "ä", "z", "a b", "a-b", "ab", "-1", "é", "Z"],
    "plain": ["eu", "us", "asia", "eu2", "10", "9"],
}
FILTERS = [
    *("p > 'a'", "p <= 'B'", "p between '10' and 'a'", "p >= '2024-01-02'", "p < '9'"),
    *("p = 'a' or p > 'z'", "p != 'B'", "p = 'a'", "p like 'a%'", "(p) in ('a', 'B')"),
]
LIMITS = (-1, 0, 1, 2, 100)


def fill(client: HmsClient) -> None:
    client.create_database(DB)
    for name, values in VALUES.items():
        table = client.create_table(
            objects.table(DB, name, {"id": "bigint"}, {"p": "string"}, transactional=False)
        )
        client.add_partitions(table, [[value] for value in values])


def calls() -> Iterator[corpus.Call]:
    for name, values in VALUES.items():
        place = {"dbName": DB, "tblName": name, "catName": "hive"}
        names = [f"p={value}" for value in values]
        yield call("get_partitions_by_names", DB, name, names)
        yield call("get_partitions_by_names", DB, name, names[:1])
        for limit in LIMITS:
            yield call("get_partitions", DB, name, limit)
            yield call("get_partition_names", DB, name, limit)
            yield req("fetch_partition_names_req", "PartitionsRequest", **place, maxParts=limit)
            yield call("get_partition_names_ps", DB, name, [""], limit)
            yield call("get_partitions_ps", DB, name, [""], limit)
            yield call("get_partitions_ps_with_auth", DB, name, [values[0]], limit, "", [])
            for text in FILTERS:
                yield call("get_partitions_by_filter", DB, name, text, limit)
        for text in FILTERS:
            yield call("get_num_partitions_by_filter", DB, name, text)
        for value in values:
            yield call("get_partition", DB, name, [value])


async def ask_both(instances: Instances) -> tuple[Counter[str], Counter[str]]:
    """How many calls the cache answered, and how many it left for the order's sake, by method."""
    answered: Counter[str] = Counter()
    left: Counter[str] = Counter()
    primary = Primary(instances.database_url)
    try:
        with (
            caches.following(instances.database_url) as cache,
            wire.connect(instances.addresses[0]) as metastore,
        ):
            cache.load()
            methods = caches.methods(cache, primary, Consistency.LATEST, "")
            methods.set_collation(primary.collation())
            for question in calls():
                answer = await ask(methods, question)
                if isinstance(answer, Relay):
                    assert answer.reason is RelayReason.COLLATION, question
                    left[question.method] += 1
                    continue
                theirs = result(question.method, metastore.call(question.method, question.given))
                ours = result(question.method, whole(answer))
                assert comparable(ours, question.unordered) == comparable(
                    theirs, question.unordered
                ), question
                answered[question.method] += 1
    finally:
        await primary.close()
    return answered, left


@pytest.mark.parametrize("collation", ["en-US", "C"])
async def test_the_order_of_names_is_the_databases(
    metastore_factory: MetastoreFactory, new_stock_database: NewStockDatabase, collation: str
) -> None:
    instances = metastore_factory(database=new_stock_database(collation))
    with instances.connect() as client:
        fill(client)
    answered, left = await ask_both(instances)
    if collation == "C":
        assert not left
    else:
        assert left.keys() == answered.keys() - {"get_partition", "get_partitions_ps_with_auth"}
        assert sum(answered.values()) > 2 * sum(left.values())
