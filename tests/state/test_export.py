"""What a shard knows for sure, and why it doesn't know the rest."""

from base64 import b64encode
from typing import Any

from hive.names import DatabaseName
from hive.thrift.binary import encode
from hive.thrift.structs import FUNCTION
from state import keys, tables
from state.export import _fields, export
from state.loads import Doubt
from state.records import AnyRecord, Rows, Scope, ScopeKind
from state.records.actions import CreateNames, CreateTable, PutDatabase, PutFunction
from state.records.objects import FunctionImage
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    change,
    database_image,
    load,
    load_databases,
    load_table,
    table_image,
)

LABEL = "sales.orders"


def exported(*records: AnyRecord) -> dict[str, Any]:
    return export(MemoryShard(*records).reader())


def test_what_was_loaded_is_told_and_what_is_being_loaded_is_cold() -> None:
    orders = table_image(managed=False)
    whole = exported(
        change(1, CreateNames(SALES), after=0),
        *load_databases(1, database_image()),
        *load_table(1, table=orders),
    )
    assert list(whole["databases"]) == ["sales"]
    assert len(whole["tables"]) == 1
    assert "databases" not in whole["cold"]
    unloaded = exported(*load_databases(5, database_image()), *load_table(1, ends=False))
    assert unloaded["cold"]["databases"] == {"hive": "ahead"}
    assert list(unloaded["tables"]) == [LABEL], "its row is known already"
    assert unloaded["cold"]["partitions"] == {LABEL: "loading"}


def test_what_other_catalogs_hold_is_told_with_their_names() -> None:
    other = DatabaseName("other", SALES.db)
    tables = [
        table_image(name, managed=False, parameters={"of": name.catalog})
        for name in (ORDERS, other.table(ORDERS.table))
    ]
    function = FunctionImage("f", encode(FUNCTION, {"functionName": "f"}))
    whole = exported(
        change(1, *map(CreateTable, tables), after=0),
        change(2, *(PutDatabase(database_image(db)) for db in (SALES, other))),
        change(3, *(PutFunction(db, function) for db in (SALES, other))),
    )
    assert whole["databases"].keys() == {"sales", "other.sales"}
    assert whole["functions"].keys() == {"sales.f", "other.sales.f"}
    assert whole["tables"]["other.sales.orders"]["parameters"] == {"of": "other"}
    for kind in ("tables", "partitions"):
        assert whole[kind].keys() == {LABEL, "other.sales.orders"}
    assert whole["cold"]["names"].keys() == {"sales", "other.sales"}


def test_a_table_that_certainly_does_not_exist_is_neither_told_nor_cold() -> None:
    nothing = exported(*load(Scope(ScopeKind.TABLE, ORDERS), 1, Rows()), change(1, after=0))
    assert nothing["tables"] == nothing["partitions"] == {}
    assert nothing["cold"].keys() == {"write_ids"}


def test_statistics_may_be_cold_alone() -> None:
    shard = MemoryShard(*load_table(1, table=table_image(managed=False)), change(1, after=0))
    state = shard.reader().state(ORDERS)
    assert state is not None
    state.statistics_floor, state.statistics_doubt = 9, Doubt.CONFLICT
    transaction = shard.store.transaction()
    transaction.put(keys.of_table(keys.TABLE_STATE, ORDERS), tables.encode(state))
    shard.store.commit(transaction, shard.position)
    whole = export(shard.reader())
    assert list(whole["tables"]) == [LABEL]
    figures = ("table_statistics", "partition_statistics")
    assert [whole["cold"][kind][LABEL] for kind in figures] == [f"doubt: {Doubt.CONFLICT}"] * 2


def test_bytes_are_told_as_text() -> None:
    assert _fields({"a": [b"\xff", 1]}) == {"a": ["base64:" + b64encode(b"\xff").decode(), 1]}
