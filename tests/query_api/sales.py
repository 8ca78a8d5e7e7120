"""The small world that the examples of the OpenAPI document are of, always the same."""

from random import Random

from hive.names import TableName
from metatide.demo import (
    constraints,
    databases,
    notifications,
    statistics,
    tables,
    transaction_rows,
)
from metatide.demo.actor import Actor
from metatide.demo.catalog import Catalog
from metatide.demo.changes import Change, Insert
from metatide.demo.databases import JAVA
from metatide.demo.makers import ORC, Maker
from metatide.demo.objects import Columns, Database, Field, Storage, Table, TableKind
from metatide.demo.options import Release
from metatide.demo.rows import insert_partitions
from metatide.demo.store import Store
from metatide.demo.structs import CATALOG, OWNER, USER
from tests.query_api.folded_world import World, folded

ORDERS = TableName(CATALOG, "sales", "orders")
FUNCTION = "to_euro"
DAYS = ("2026-01-01", "2026-01-02")
_NOW = 1767225600
# With it, there are statistics of both columns.
_SEED = 1


def sales(url: str) -> World:
    """A database with a function and a table of two days, and a cache that has folded all."""
    store = Store(url)
    rng = Random(_SEED)
    make = Maker(rng, store.ids, lambda: _NOW, [], store.warehouse)
    actor = Actor(
        rng=rng,
        catalog=Catalog("none", 1, 0.0),
        ids=store.ids,
        make=make,
        sink=store.session(),
        clock=lambda: _NOW,
        release=Release.HIVE_4_2,
        schema=store.schema,
        zipped_share=0.0,
    )
    try:
        _write(actor)
    finally:
        actor.sink.close()
    return folded(url, store, 1)


def _write(actor: Actor) -> None:
    database = databases.create(actor, ORDERS.db)
    _create_function(actor, database)
    table = _orders(actor, database)
    txn = transaction_rows.begin(actor)
    transaction_rows.allocate(actor, [txn], table)
    tables.create(actor, table, txn.id)
    transaction_rows.commit(actor, txn)
    constraints.add(actor, table)
    txn = transaction_rows.begin(actor)
    write_id = transaction_rows.allocate(actor, [txn], table)
    made = actor.make.partitions_at(table, [(day,) for day in DAYS])
    for partition in made:
        table.add_partition(partition)
    actor.write(insert_partitions(table, made), notifications.add_partitions(table, made, write_id))
    statistics.update_partitions(actor, table, len(made), write_id)
    statistics.update_table(actor, table, write_id)
    transaction_rows.commit(actor, txn)


def _orders(actor: Actor, database: Database) -> Table:
    fields = Field("id", "bigint"), Field("amount", "double", "in euros")
    storage = Storage(
        id=actor.ids.take("SDS"),
        serde_id=actor.ids.take("SERDES"),
        columns=Columns(actor.ids.take("CDS"), fields),
        format=ORC,
        location=f"{database.managed_location}/{ORDERS.table}",
        serde_parameters={},
    )
    return Table(
        id=actor.ids.take("TBLS"),
        database=database,
        name=ORDERS.table,
        kind=TableKind.ACID,
        storage=storage,
        keys=(Field("ds", "string"),),
        parameters={"transactional": "true", "transactional_properties": "default"},
        create_time=actor.now(),
    )


def _create_function(actor: Actor, database: Database) -> None:
    id_ = actor.ids.take("FUNCS")
    class_name = "com.example.ToEuro"
    row = {
        "FUNC_ID": id_,
        "CLASS_NAME": class_name,
        "CREATE_TIME": actor.now(),
        "DB_ID": database.id,
        "FUNC_NAME": FUNCTION,
        "FUNC_TYPE": JAVA,
        "OWNER_NAME": OWNER,
        "OWNER_TYPE": "USER",
    }
    function = {
        "functionName": FUNCTION,
        "dbName": database.name,
        "className": class_name,
        "ownerName": OWNER,
        "ownerType": USER,
        "createTime": actor.now(),
        "functionType": JAVA,
        "resourceUris": [],
        "catName": CATALOG,
    }
    changes: list[Change] = [Insert("FUNCS", [row])]
    actor.write(changes, notifications.create_function(function, database))
