"""What clients do to tables, partitions and databases, mostly outside of transactions."""

from metatide.demo import (
    constraints,
    databases,
    notifications,
    partitions,
    statistics,
    tables,
    transaction_rows,
)
from metatide.demo.actor import Actor
from metatide.demo.dml import Script, Statement, bulk
from metatide.demo.objects import Table, TableKind

STAGED_MAX = 6
"""The maximum number of partitions of a staging table."""

CREATED_MAX = 3
"""The maximum number of tables in a database that is dropped along with them."""

PARTITIONS_PER_TABLE_MAX = 5_000
"""A table with more partitions loses some instead of gaining more."""


def external(table: Table) -> bool:
    """Whether the table has files, but no write ids."""
    return table.kind is TableKind.EXTERNAL


def has_files(table: Table) -> bool:
    """Whether the table has files, that is, isn't a view."""
    return table.kind is not TableKind.VIEW


def create_table(actor: Actor) -> Script:
    """CREATE TABLE in a free place, with a new name or that of a dropped table."""
    catalog = actor.catalog
    place = catalog.take_place(actor.rng)
    if place is None:
        return
    database = actor.rng.choice(catalog.databases)
    name = catalog.take_name(actor.rng, database)
    table = actor.make.table(database, name, actor.make.kind())
    if table.kind.managed:
        txn = transaction_rows.begin(actor)
        yield
        transaction_rows.allocate(actor, [txn], table)
        yield
        tables.create(actor, table, txn.id)
        catalog.put(place, table)
        yield
        transaction_rows.commit(actor, txn)
    else:
        tables.create(actor, table, constrained=external(table) and actor.rng.random() < 0.3)
        catalog.put(place, table)
        yield


def drop_table(actor: Actor) -> Script:
    """DROP TABLE, unless most places are free."""
    if actor.catalog.free_places() * 4 < actor.catalog.places:
        with actor.catalog.hold(actor.rng) as table:
            if table is not None:
                tables.drop(actor, table)
                actor.catalog.remove(table)
    yield


def alter(actor: Actor, statement: Statement, *, managed_too: bool = True) -> Script:
    """A statement outside of transactions: on an external table, or by a client other than Hive."""
    fits = has_files if managed_too else external
    with actor.catalog.hold(actor.rng, fits) as table:
        if table is not None:
            statement(actor, table, None)
    yield


def change_columns(actor: Actor, table: Table, write_id: int | None) -> None:
    """ALTER TABLE ADD or CHANGE COLUMNS, half of them with CASCADE."""
    tables.change_columns(actor, table, write_id, cascade=actor.rng.random() < 0.5)


def rename(actor: Actor, table: Table, write_id: int | None) -> None:
    """ALTER TABLE RENAME, now and then into another database."""
    if len(table.partitions) > tables.RENAMED_PARTITIONS_MAX:
        return
    catalog, old = actor.catalog, (table.database, table.name)
    database = actor.rng.choice(catalog.databases) if actor.rng.random() < 0.3 else table.database
    tables.rename(actor, table, database, catalog.take_name(actor.rng, database), write_id)
    catalog.free_name(*old)


def add_or_drop_partitions(actor: Actor, table: Table, write_id: int | None) -> None:
    """Adds or drops partitions, adding a little more often."""
    if not table.keys:
        return
    full = len(table.partitions) >= PARTITIONS_PER_TABLE_MAX
    if full or actor.rng.random() < 0.4:
        partitions.drop(actor, table, bulk(actor))
    else:
        partitions.add(actor, table, bulk(actor), write_id)


def alter_partitions(actor: Actor, table: Table, write_id: int | None) -> None:
    """ALTER TABLE PARTITION: changes the statistics of some partitions, or renames one."""
    if actor.rng.random() < 0.3:
        partitions.rename(actor, table, write_id)
    else:
        partitions.set_parameters(actor, table, bulk(actor), write_id)


def change_constraints(actor: Actor, table: Table, write_id: int | None) -> None:
    """Adds or drops a constraint, or adds a foreign key to another table."""
    del write_id
    chance = actor.rng.random()
    if chance < 0.5:
        constraints.add(actor, table)
    elif chance < 0.75:
        constraints.drop(actor, table)
    else:
        with actor.catalog.hold(actor.rng, lambda t: bool(t.constraints)) as parent:
            if parent is not None:
                constraints.add_foreign_key(actor, table, parent)


def delete_statistics(actor: Actor, table: Table, write_id: int | None) -> None:
    """Deletes column statistics of the table or of one of its partitions."""
    del write_id
    if table.partitions:
        statistics.delete_from_partition(actor, table)
    else:
        statistics.delete_from_table(actor, table)


def fire(actor: Actor, table: Table, write_id: int | None) -> None:
    """Events that a client fires itself: INSERT or RELOAD."""
    del write_id
    name = table.partition_names.choice(actor.rng) if table.partitions else None
    partition = table.partitions[name] if name else None
    if actor.rng.random() < 0.8:
        actor.write([], notifications.insert(table, partition))
    else:
        actor.write([], notifications.reload(table, partition))


def exchange(actor: Actor) -> Script:
    """Fills a staging table, exchanges its partitions into another table, and drops it."""
    catalog = actor.catalog
    with catalog.hold(actor.rng, lambda t: external(t) and bool(t.keys)) as target:
        if target is None:
            return
        database = target.database
        name = catalog.take_name(actor.rng, database)
        staging = actor.make.like(target, name)
        tables.create(actor, staging)
    yield
    partitions.add(actor, staging, actor.rng.randint(1, STAGED_MAX), None)
    yield
    with catalog.hold_again([target]):
        same = target.storage.columns.fields == staging.storage.columns.fields
        if same and not target.dropped:
            partitions.exchange(actor, staging, target)
    yield
    tables.drop(actor, staging)
    catalog.free_name(database, name)


def come_and_go(actor: Actor) -> Script:
    """Creates a database with tables and functions, and soon drops it with all of them."""
    name = actor.catalog.take_passing_name()
    database = databases.create(actor, name)
    yield
    made = []
    for number in range(actor.rng.randint(1, CREATED_MAX)):
        table = actor.make.table(database, f"t{number}", TableKind.EXTERNAL)
        tables.create(actor, table, constrained=True)
        made.append(table)
        yield
        if table.keys:
            partitions.add(actor, table, bulk(actor), None)
            yield
    databases.create_function(actor, database)
    yield
    databases.drop_cascade(actor, database, made)
    actor.catalog.free_passing_name(name)


def change_database(actor: Actor) -> Script:
    """ALTER DATABASE, CREATE FUNCTION or DROP FUNCTION."""
    statement = actor.rng.choice(
        (databases.alter, databases.create_function, databases.drop_function)
    )
    with actor.catalog.hold_database(actor.rng) as database:
        if database is not None:
            statement(actor, database)
    yield
