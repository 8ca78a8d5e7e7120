"""Events and their messages, which contain objects as Hive serializes them."""

from collections.abc import Sequence

from msgspec.structs import replace

from hive.events.message_types import Message
from metatide.demo import messages
from metatide.demo.objects import Database, Partition, Table
from metatide.demo.options import Release
from metatide.demo.records import Notification
from metatide.demo.structs import (
    CATALOG,
    Struct,
    altered_table,
    created_table,
    database_struct,
    partition_struct,
    stored_partition,
    stored_table,
)

CONSTRAINT_EVENTS = {
    0: "ADD_PRIMARYKEY",
    1: "ADD_FOREIGNKEY",
    2: "ADD_UNIQUECONSTRAINT",
    3: "ADD_NOTNULLCONSTRAINT",
    4: "ADD_DEFAULTCONSTRAINT",
    5: "ADD_CHECKCONSTRAINT",
}
"""The type of event for each CONSTRAINT_TYPE."""


def _of_table(type_: str, table: Table, message: Message) -> Notification:
    return Notification(type_, CATALOG, table.database.name, table.name, message)


def _of_database(type_: str, database: Database, message: Message) -> Notification:
    return Notification(type_, CATALOG, database.name, None, message)


def _of_transaction(type_: str, message: Message) -> Notification:
    return Notification(type_, None, None, None, message)


def create_database(database: Database) -> Notification:
    message = messages.database(database_struct(database, created=True))
    return _of_database("CREATE_DATABASE", database, message)


def alter_database(before: Struct, database: Database) -> Notification:
    """ALTER_DATABASE, made after the change."""
    message = messages.alter_database(before, database_struct(database))
    return _of_database("ALTER_DATABASE", database, message)


def drop_database(database: Database) -> Notification:
    return _of_database("DROP_DATABASE", database, messages.database(database_struct(database)))


def create_function(function: Struct, database: Database) -> Notification:
    return _of_database("CREATE_FUNCTION", database, messages.create_function(function))


def drop_function(database: Database, name: str) -> Notification:
    return _of_database("DROP_FUNCTION", database, messages.drop_function(database.name, name))


def create_table(table: Table, txn_id: int | None) -> Notification:
    return _of_table("CREATE_TABLE", table, messages.create_table(created_table(table, txn_id)))


def alter_table(before: Struct, table: Table) -> Notification:
    """ALTER_TABLE, made after the change: the row has the new name, the message the old one."""
    return _of_table("ALTER_TABLE", table, messages.alter_table(before, altered_table(table)))


def truncate_table(before: Struct, table: Table, write_id: int | None) -> Notification:
    """ALTER_TABLE of a truncation, made after it: both objects are as the metastore reads them."""
    message = messages.alter_table(before, stored_table(table), truncate=True)
    return _of_table("ALTER_TABLE", table, replace(message, write_id=write_id or -1))


def drop_table(table: Table) -> Notification:
    return _of_table("DROP_TABLE", table, messages.drop_table(stored_table(table)))


def add_partitions(
    table: Table, partitions: Sequence[Partition], write_id: int | None
) -> Notification:
    """ADD_PARTITION; for a managed table it lists files, of which there are none yet."""
    structs = [partition_struct(table, partition, write_id or -1) for partition in partitions]
    message = messages.add_partition(stored_table(table), structs)
    if table.kind.managed:
        files = [{"partitionName": partition.name, "files": []} for partition in partitions]
        message = replace(message, partition_files=files)
    return _of_table("ADD_PARTITION", table, message)


def alter_partition(
    table: Table, before: Struct, partition: Partition, *, truncated: bool = False
) -> Notification:
    """ALTER_PARTITION, made after the change."""
    after = stored_partition(table, partition)
    message = messages.alter_partition(stored_table(table), before, after, truncate=truncated)
    return _of_table("ALTER_PARTITION", table, message)


def alter_partitions(table: Table, partitions: Sequence[Partition]) -> Notification:
    """ALTER_PARTITIONS, made after the change."""
    structs = [stored_partition(table, partition) for partition in partitions]
    message = messages.alter_partitions(stored_table(table), structs)
    return _of_table("ALTER_PARTITIONS", table, message)


def drop_partitions(table: Table, partitions: Sequence[Partition]) -> Notification:
    values = [partition.values for partition in partitions]
    return _of_table("DROP_PARTITION", table, messages.drop_partition(stored_table(table), values))


def insert(table: Table, partition: Partition | None) -> Notification:
    """INSERT, as a client fires it."""
    struct = stored_partition(table, partition) if partition else None
    files = [f"{table.location}/000000_0###"]
    return _of_table("INSERT", table, messages.insert(stored_table(table), struct, files))


def reload(table: Table, partition: Partition | None) -> Notification:
    """RELOAD, as Impala fires it."""
    struct = stored_partition(table, partition) if partition else None
    message = messages.reload(stored_table(table), struct, refresh=True)
    return _of_table("RELOAD", table, message)


def add_constraint(row_of: Table, type_: int, constraint: Struct) -> Notification:
    """ADD_*; the row of a foreign key names the parent."""
    event = CONSTRAINT_EVENTS[type_]
    return _of_table(event, row_of, messages.add_constraints(event, [constraint]))


def drop_constraint(table: Table, name: str) -> Notification:
    message = messages.drop_constraint(table.database.name, table.name, name)
    return _of_table("DROP_CONSTRAINT", table, message)


def update_table_statistics(
    table: Table, described: Struct, shown: Struct, write_id: int | None
) -> Notification:
    """UPDATE_TBL_COL_STAT_EVENT, made after the change; `shown` is the table in the message."""
    message = messages.update_table_stats(shown, described, write_id or -1)
    message = replace(message, parameters=dict(table.parameters))
    return _of_table("UPDATE_TBL_COL_STAT_EVENT", table, message)


def update_partition_statistics(
    table: Table, partition: Partition, described: Struct, write_id: int | None
) -> Notification:
    """UPDATE_PART_COL_STAT_EVENT, made after the change."""
    message = messages.update_partition_stats(
        stored_table(table), stored_partition(table, partition), described, write_id or -1
    )
    return _of_table("UPDATE_PART_COL_STAT_EVENT", table, message)


def delete_table_statistics(table: Table, column: str | None) -> Notification:
    message = messages.delete_table_stats(table.database.name, column)
    return _of_table("DELETE_TBL_COL_STAT_EVENT", table, message)


def delete_partition_statistics(
    table: Table, partition: Partition, column: str | None
) -> Notification:
    message = messages.delete_partition_stats(
        table.database.name, partition.name, partition.values, column
    )
    return _of_table("DELETE_PART_COL_STAT_EVENT", table, message)


def open_txn(first: int, last: int) -> Notification:
    """OPEN_TXN of an inclusive range."""
    return _of_transaction("OPEN_TXN", messages.open_txn(first, last))


def alloc_write_ids(table: Table, pairs: Sequence[tuple[int, int]]) -> Notification:
    """ALLOC_WRITE_ID_EVENT of (transaction, write id) pairs."""
    message = messages.alloc_write_ids(table.database.name, table.name, pairs)
    return _of_table("ALLOC_WRITE_ID_EVENT", table, message)


def commit_txn(txn_id: int, writes: Sequence[tuple[str, int]], release: Release) -> Notification:
    """COMMIT_TXN; contains (database, write id) pairs from 4.1 on."""
    named = None if release is Release.HIVE_4_0 else writes
    return _of_transaction("COMMIT_TXN", messages.commit_txn(txn_id, named))


def abort_txn(txn_id: int, writes: Sequence[tuple[str, int]], release: Release) -> Notification:
    """ABORT_TXN; contains write ids from 4.1 on."""
    databases = sorted({database for database, _ in writes})
    ids = None if release is Release.HIVE_4_0 else [write_id for _, write_id in writes]
    return _of_transaction("ABORT_TXN", messages.abort_txn(txn_id, databases, ids))


def commit_compaction(
    table: Table, partition: str, txn_id: int, compaction_id: int
) -> Notification:
    message = messages.commit_compaction(
        txn_id, compaction_id, "MAJOR", table.database.name, table.name, partition
    )
    return _of_table("COMMIT_COMPACTION_EVENT", table, message)
