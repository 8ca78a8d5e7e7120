"""DDL of tables: create, alter, rename, truncate, drop."""

from hive.schema import Version
from metatide.demo import constraints, notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Update
from metatide.demo.makers import table_location
from metatide.demo.objects import Database, Partition, Table
from metatide.demo.records import Notification
from metatide.demo.rows import (
    delete_columns,
    delete_table,
    insert_columns,
    insert_table,
    replace_parameters,
    set_write_id,
)
from metatide.demo.statistics import forget_column, rename_statistics
from metatide.demo.structs import stored_partition, stored_table
from metatide.demo.transaction_rows import forget_write_ids, rename_write_ids

RENAMED_PARTITIONS_MAX = 5_000
"""A table with more partitions isn't renamed: that would hold up other writers for long."""


def create(
    actor: Actor, table: Table, txn_id: int | None = None, *, constrained: bool = False
) -> None:
    """Creates a table, in a transaction if it is managed; the event of a constraint follows."""
    if txn_id is not None:
        table.write_id = table.write_ids[txn_id]
    changes = insert_table(table)
    events = [notifications.create_table(table, txn_id)]
    if constrained:
        more, event = constraints.adding(actor, table)
        changes += more
        events += [event] if event else []
    actor.write(changes, *events)


def set_parameter(actor: Actor, table: Table, write_id: int | None) -> None:
    """ALTER TABLE SET TBLPROPERTIES."""
    before = stored_table(table)
    parameters = table.parameters | {f"k{actor.rng.randrange(4)}": str(actor.rng.randrange(10_000))}
    if "k0" in parameters and actor.rng.random() < 0.3:
        del parameters["k0"]
    changes = _set_parameters(table, parameters) + _advance(table, write_id)
    actor.write(changes, notifications.alter_table(before, table))


def change_columns(actor: Actor, table: Table, write_id: int | None, *, cascade: bool) -> None:
    """ALTER TABLE ADD or CHANGE COLUMNS; CASCADE changes the partitions without an event."""
    before = stored_table(table)
    old = table.storage.columns
    new = actor.make.columns(table)
    types = {column.name: column.type for column in new.fields}
    retyped = [column.name for column in old.fields if types[column.name] != column.type]
    described: list[Table | Partition] = [table]
    storages = [table.storage]
    if cascade:
        described += table.partitions.values()
        storages += [partition.storage for partition in table.partitions.values()]
    unused = {storage.columns for storage in storages}
    for storage in storages:
        storage.columns = new
    unused -= {partition.storage.columns for partition in table.partitions.values()}
    parameters = dict(table.parameters)
    parameters.pop("COLUMN_STATS_ACCURATE", None)
    changes: list[Change] = [
        *insert_columns(new),
        Update("SDS", ("SD_ID",), [{"SD_ID": each.id, "CD_ID": new.id} for each in storages]),
        *constraints.follow_columns(table, new),
        *delete_columns(sorted(unused, key=lambda columns: columns.id)),
        *(change for name in retyped for each in described for change in forget_column(each, name)),
        *_set_parameters(table, parameters),
        *_advance(table, write_id),
    ]
    actor.write(changes, notifications.alter_table(before, table))


def rename(actor: Actor, table: Table, database: Database, name: str, write_id: int | None) -> None:
    """ALTER TABLE RENAME, also into another database; a managed table's files move."""
    before = stored_table(table)
    changes: list[Change] = []
    if table.kind.managed:
        changes += rename_write_ids(table, database, name)
    table.database, table.name = database, name
    named = {"TBL_ID": table.id, "DB_ID": database.id, "TBL_NAME": name}
    changes.append(Update("TBLS", ("TBL_ID",), [named]))
    if actor.schema < Version.V4_1:
        changes += rename_statistics(table)
    if table.kind.managed:
        changes += _move(table, table_location(database, name, table.kind))
    changes += _advance(table, write_id)
    actor.write(changes, notifications.alter_table(before, table))


def _move(table: Table, location: str) -> list[Change]:
    table.storage.location = location
    for name, partition in table.partitions.items():
        partition.storage.location = f"{location}/{name}"
    storages = [table.storage, *(partition.storage for partition in table.partitions.values())]
    rows = [{"SD_ID": storage.id, "LOCATION": storage.location} for storage in storages]
    return [Update("SDS", ("SD_ID",), rows)]


def truncate(actor: Actor, table: Table, write_id: int | None) -> None:
    """TRUNCATE TABLE: an event for the table, or one for each partition."""
    empty = {"numFiles": "0", "numRows": "0", "totalSize": "0", "rawDataSize": "0"}
    accurate = {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    if not table.keys:
        before = stored_table(table)
        changes = _set_parameters(table, table.parameters | empty | accurate)
        changes += _advance(table, write_id)
        truncated = notifications.truncate_table(before, table, write_id)
        # A managed table is altered once more, for its write id.
        again = [notifications.alter_table(stored_table(table), table)] if write_id else []
        actor.write(changes, truncated, *again)
        return
    changes, events = [], []
    for name in table.partition_names.sample(actor.rng, 5):
        partition = table.partitions[name]
        old = stored_partition(table, partition)
        parameters = partition.parameters | empty | accurate
        changes += replace_parameters(
            "PARTITION_PARAMS", "PART_ID", partition.id, partition.parameters, parameters
        )
        partition.parameters = parameters
        if write_id:
            partition.write_id = write_id
            changes += [_partition_write_id(partition)]
        events.append(notifications.alter_partition(table, old, partition, truncated=True))
    if events:
        actor.write(changes, *events)


def _partition_write_id(partition: Partition) -> Change:
    row = {"PART_ID": partition.id, "WRITE_ID": partition.write_id}
    return Update("PARTITIONS", ("PART_ID",), [row])


def drop(actor: Actor, table: Table) -> None:
    """DROP TABLE: one event, whatever the number of partitions."""
    changes, event = dropping(actor, table)
    actor.write(changes, event)


def dropping(actor: Actor, table: Table) -> tuple[list[Change], Notification]:
    """The changes and the event of a drop, for callers who drop more along with the table."""
    event = notifications.drop_table(table)
    changes = [*constraints.delete_constraints(table), *delete_table(table)]
    if table.kind.managed:
        changes += forget_write_ids(table)
    table.dropped = True
    return changes, event


def _set_parameters(table: Table, parameters: dict[str, str]) -> list[Change]:
    before, table.parameters = table.parameters, parameters
    return replace_parameters("TABLE_PARAMS", "TBL_ID", table.id, before, parameters)


def _advance(table: Table, write_id: int | None) -> list[Change]:
    """Sets the table's write id to the statement's; this row always changes last."""
    if write_id is None:
        return []
    table.write_id = write_id
    return set_write_id(table)
