"""Partitions keep the capitals in names of columns that some alters store, as a real metastore
shows them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.thrift.call import CallAnswer
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import ask, comparable, whole
from tests.query_api.thrift.methods.corpus import Call, call, req
from tests.query_api.thrift.methods.wire import result
from tests.support.hive import hms_objects as objects
from tests.support.hive import idl
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive
DB = "capitals"
TYPES = {"id": "bigint"}


def _with_capitals(of: Any) -> Any:
    of.sd.cols = objects.columns({"ID": "bigint", "More": "string"})
    of.sd.sortCols = [idl.load().Order(col="ID", order=1)]
    return of


def _add(client: HmsClient, table: Any) -> None:
    added = _with_capitals(objects.partition(table, ["2"]))
    client.rpc.add_partition(added)


def _cascade(client: HmsClient, table: Any) -> None:
    client.alter_table(DB, table.tableName, _with_capitals(table), cascade=True)


def _alter(client: HmsClient, table: Any) -> None:
    (there,) = client.partitions(DB, table.tableName)
    client.rpc.alter_partition(DB, table.tableName, _with_capitals(there))


def _alter_several(client: HmsClient, table: Any) -> None:
    (there,) = client.partitions(DB, table.tableName)
    client.alter_partitions(table, [_with_capitals(there)])


def _rename(client: HmsClient, table: Any) -> None:
    (there,) = client.partitions(DB, table.tableName)
    there.values = ["2"]
    client.rename_partition(table, ["1"], _with_capitals(there))


CHANGES: dict[str, Callable[[HmsClient, Any], None]] = {
    "added": _add,
    "cascade": _cascade,
    "altered": _alter,
    "several": _alter_several,
    "renamed": _rename,
}


def questions(table: str) -> tuple[Call, ...]:
    """Reads of all partitions, alone and in groups."""
    place = {"dbName": DB, "tblName": table, "catName": "hive"}
    return (
        call("get_partitions", DB, table, -1),
        req("get_partitions_with_specs", "GetPartitionsRequest", **place),
        req("get_partitions_spec_by_expr", "PartitionsByExprRequest", **place, expr=b""),
    )


@pytest.fixture(scope="module")
def client(text_metastore: Instances) -> Iterator[HmsClient]:
    with text_metastore.connect() as client:
        client.create_database(DB)
        yield client


@pytest.mark.parametrize("name", CHANGES)
async def test_columns_of_partitions_are_named_as_the_metastore_names_them(
    client: HmsClient, text_metastore: Instances, name: str
) -> None:
    url = text_metastore.database_url
    wanted = objects.table(DB, name, TYPES, {"k": "string"}, transactional=False)
    table = client.create_table(wanted)
    client.add_partitions(table, [["1"]])
    primary = Primary(url)
    try:
        with caches.following(url) as cache, wire.connect(text_metastore.addresses[0]) as metastore:
            cache.load()
            CHANGES[name](client, table)
            cache.follow()
            cache.answer()
            methods = caches.methods(cache, primary, Consistency.ANY, "")
            for loads in (False, True):
                if loads:
                    cache.load()
                for question in questions(name):
                    theirs = metastore.call(question.method, question.given)
                    answer = await ask(methods, question)
                    assert isinstance(answer, CallAnswer)
                    ours, expected = (
                        comparable(result(question.method, data), question.unordered)
                        for data in (whole(answer), theirs)
                    )
                    assert ours == expected
    finally:
        await primary.close()
