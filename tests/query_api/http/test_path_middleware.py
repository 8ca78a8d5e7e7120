"""Names with slashes and percent signs in paths."""

from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st

from hive.names import TableName
from metatide.client import Client, Need
from query_api.http.path_middleware import distinct
from state.records.actions import CreateTable, PutPartitions
from tests.metatide.client.serving import serving
from tests.query_api.http.read_client import get
from tests.query_api.http.warm_shards import ANY
from tests.query_api.shards import (
    MemoryShard,
    MemoryShards,
    change,
    partition_image,
    table_image,
)

ANY_STATE = Need("any")
NAMES = ("a", "a/b", "a%2fb", "a%b", "a/partitions", "a/partitions/ds=1%2f2")
VALUES = ("1", "1/2", "50%")


def shards() -> MemoryShards:
    """Tables that are easily taken for each other, the first of which has partitions."""
    names = [TableName("hive", "sales", name) for name in NAMES]
    tables = (CreateTable(table_image(name, managed=False)) for name in names)
    changes = [change(event, table) for event, table in enumerate(tables, 1)]
    rows = tuple(map(partition_image, VALUES))
    last = change(len(NAMES) + 1, PutPartitions(names[0], 0, rows, added=True))
    return MemoryShards(MemoryShard(*changes, last))


def test_names_may_have_slashes_and_percent_signs() -> None:
    with serving(shards()) as url, Client(url) as client:
        # The second time, answers are the kept ones.
        for _ in range(2):
            for name in NAMES:
                assert client.table(f"sales.{name}", ANY_STATE).value.tableName == name
                count = len(VALUES) if name == "a" else 0
                assert client.partition_count(f"sales.{name}", need=ANY_STATE).value == count
            for name in client.partition_names("sales.a", need=ANY_STATE).value:
                partition = client.partition("sales.a", name, ANY_STATE).value
                assert partition.values in [[value] for value in VALUES]


def test_a_path_tells_names_from_parts() -> None:
    table = "/v1/databases/sales/tables/a"
    paths = (f"{table}/partitions?{ANY}", f"{table}%2Fpartitions?{ANY}", f"{table}%2fb?{ANY}")
    partitions, other, lower = (answer.json() for answer in get(shards(), *paths))
    assert len(partitions["partitions"]) == len(VALUES)
    assert other["tableName"] == "a/partitions"
    assert lower["tableName"] == "a/b"


def test_what_is_nowhere_is_named_as_it_was_asked_for() -> None:
    [answer] = get(shards(), "/v1/no%2Fwhere")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "there is nothing at /v1/no%2Fwhere"


@given(st.lists(st.text(alphabet="aé/%2Ff.", max_size=5), min_size=1, max_size=3))
def test_no_two_paths_of_different_parts_become_equal(parts: list[str]) -> None:
    path = distinct("/".join(quote(part, safe="") for part in parts))
    assert [unquote(part) for part in path.split("/")] == parts
