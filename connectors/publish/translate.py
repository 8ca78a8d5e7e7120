"""Translates events of the log into actions, each with the shards it goes to.

Objects come from `hive.events` as canonical bytes; the fields that the fold needs are added here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from hive.events import event_types
from hive.events.decode import HARMLESS
from hive.events.message_types import MESSAGE_TYPES
from hive.events.row import NotificationRow
from hive.names import DatabaseName, TableName, table_name
from state.records import actions
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    ConstraintKind,
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
    fingerprint,
    statistics_fields,
)


class Everywhere(NamedTuple):
    """The address of an action that goes to every shard."""


Address = TableName | DatabaseName | Everywhere
"""The shard of a table, the home shard of a database, or every shard."""

Addressed = tuple[Address, actions.AnyAction]

EVERYWHERE = Everywhere()

_CONSTRAINT_KINDS = {
    "primaryKeys": ConstraintKind.PRIMARY_KEY,
    "foreignKeys": ConstraintKind.FOREIGN_KEY,
    "uniqueConstraints": ConstraintKind.UNIQUE,
    "notNullConstraints": ConstraintKind.NOT_NULL,
    "defaultConstraints": ConstraintKind.DEFAULT,
    "checkConstraints": ConstraintKind.CHECK,
}

_NAME_ANOTHER_TABLE = frozenset(["ALTER_TABLE", *event_types.ADD_CONSTRAINTS])
"""Rows of these types may name another table: a rename's row has only the new name, a foreign
key's only the parent's, and constraints may be of several tables."""
_NAME_ALL_THEY_TOUCH = (MESSAGE_TYPES.keys() | HARMLESS) - _NAME_ANOTHER_TABLE
"""What a row of a type that nobody knows may touch isn't known either."""


def translate(event: event_types.Event) -> list[Addressed]:
    """The actions of an event; none for events that change nothing cached.

    OPEN_TXN has no actions: the first ALLOC_WRITE_ID of a transaction says all that a shard needs.
    Nor has INSERT: its image was read before the event and may be older than it.
    """
    return list(_TRANSLATORS[type(event)](event))


def misnamed(table: TableName, *, hanging: bool = False) -> list[Addressed]:
    """The actions for a table that an event names by an old name; `hanging` says that the event can
    only have changed its constraints or statistics."""
    action = actions.Misnamed(table, hanging)
    return [(table, action)] if hanging else [(table, action), (table.database, action)]


def undecodable(row: NotificationRow) -> list[Addressed]:
    """The actions for a row that can't be read, for its table, or for all if it may have touched
    more than that."""
    if row.db_name and row.tbl_name and row.event_type in _NAME_ALL_THEY_TOUCH:
        return _doubt(table_name(row.cat_name, row.db_name, row.tbl_name))
    return [(EVERYWHERE, actions.Undecodable(None))]


def touched(addressed: Iterable[Addressed]) -> set[TableName | DatabaseName]:
    """The tables and databases that actions concern; none for the ends of transactions."""
    subjects = ((address, actions.subject_of(action)) for address, action in addressed)
    names = {name for pair in subjects if pair[1] is not None for name in pair}
    return {name for name in names if isinstance(name, TableName | DatabaseName)}


def columns_hash(columns: bytes | None) -> int:
    """A hash of a partition's encoded columns that shows whether they changed."""
    return crc32(columns or b"")


def _nothing(event: event_types.Event) -> Iterator[Addressed]:
    yield from ()


def _create_table(event: event_types.CreateTable) -> Iterator[Addressed]:
    image = _table(event.table, event.image, event.write_id)
    yield event.table, actions.CreateTable(image)
    yield _put_name(event.table, event.image)


def _alter_table(event: event_types.AlterTable) -> Iterator[Addressed]:
    image = _table(event.table, event.image, event.write_id)
    old, new = event.before, event.table
    if event.renamed:
        yield old, actions.RenameTable(old, image, actions.Side.OLD)
        yield new, actions.RenameTable(old, image, actions.Side.NEW)
        yield _alter_name(event)
        yield old.database, actions.DropName(old.database, old.table)
        return
    before = fingerprint(event.before_data) if event.known else None
    rewrites = event.columns_changed or event.location_changed or event.partition_keys_changed
    yield new, actions.AlterTable(image, before, rewrites, event.truncate)
    if event.listed_changed:
        yield _alter_name(event)


def _drop_table(event: event_types.DropTable) -> Iterator[Addressed]:
    yield event.table, actions.DropTable(event.table)
    db = event.table.database
    yield db, actions.DropName(db, event.table.table)


def _add_partitions(event: event_types.AddPartitions) -> Iterator[Addressed]:
    images = tuple(map(_partition, event.partitions))
    yield event.table, actions.PutPartitions(event.table, event.write_id, images, added=True)


def _alter_partitions(event: event_types.AlterPartitions) -> Iterator[Addressed]:
    images = tuple(map(_partition, event.partitions))
    if not event.known:
        images = tuple(msgspec.structs.replace(image, data=b"") for image in images)
    yield (
        event.table,
        actions.PutPartitions(
            event.table, event.write_id, images, added=False, truncates=event.truncate
        ),
    )


def _alter_partition(event: event_types.AlterPartition) -> Iterator[Addressed]:
    yield (
        event.table,
        actions.AlterPartition(
            event.table,
            event.write_id,
            event.before,
            fingerprint(event.before_data) if event.known else None,
            _partition(event.partition),
            event.truncate,
        ),
    )


def _drop_partitions(event: event_types.DropPartitions) -> Iterator[Addressed]:
    yield event.table, actions.DropPartitions(event.table, event.values)


def _update_table_statistics(event: event_types.UpdateTableStatistics) -> Iterator[Addressed]:
    image = None
    if event.image is not None:
        image = _table(event.table, event.image, event.write_id)
    columns = _columns(event, None)
    yield event.table, actions.PutTableStatistics(event.table, event.write_id, columns, image)


def _update_partition_statistics(
    event: event_types.UpdatePartitionStatistics,
) -> Iterator[Addressed]:
    columns = _columns(event, event.values)
    yield (
        event.table,
        actions.PutPartitionStatistics(
            event.table,
            event.write_id,
            event.values,
            columns,
            event.parameters,
            None if event.table_before is None else event.table_before.transactional,
        ),
    )


def _delete_table_statistics(event: event_types.DeleteTableStatistics) -> Iterator[Addressed]:
    yield event.table, actions.DropStatistics(event.table, None, event.column)


def _delete_partition_statistics(
    event: event_types.DeletePartitionStatistics,
) -> Iterator[Addressed]:
    yield event.table, actions.DropStatistics(event.table, event.values, event.column)


def _add_constraints(event: event_types.AddConstraints) -> Iterator[Addressed]:
    kind = _CONSTRAINT_KINDS[event.kind]
    columns: dict[str, list[bytes]] = {}
    for name, data in event.constraints:
        columns.setdefault(name.lower(), []).append(data)
    images = tuple(ConstraintImage(kind, name, tuple(structs)) for name, structs in columns.items())
    yield event.table, actions.PutConstraints(event.table, images)


def _drop_constraint(event: event_types.DropConstraint) -> Iterator[Addressed]:
    yield event.table, actions.DropConstraint(event.table, event.constraint.lower())


def _allocate(event: event_types.AllocateWriteIds) -> Iterator[Addressed]:
    txns, write_ids = zip(*event.pairs, strict=True) if event.pairs else ((), ())
    yield event.table, actions.AllocateWriteIds(event.table, tuple(txns), tuple(write_ids))


def _commit(event: event_types.CommitTransaction) -> Iterator[Addressed]:
    yield EVERYWHERE, actions.CommitTxn(event.txn, event.write_ids)


def _abort(event: event_types.AbortTransaction) -> Iterator[Addressed]:
    yield EVERYWHERE, actions.AbortTxn(event.txn)


def _create_database(event: event_types.CreateDatabase) -> Iterator[Addressed]:
    db = _db(event)
    yield EVERYWHERE, actions.PutDatabase(DatabaseImage(db, event.data))
    yield db, actions.CreateNames(db)


def _alter_database(event: event_types.AlterDatabase) -> Iterator[Addressed]:
    before = fingerprint(event.before_data)
    yield EVERYWHERE, actions.PutDatabase(DatabaseImage(_db(event), event.data), True, before)


def _drop_database(event: event_types.DropDatabase) -> Iterator[Addressed]:
    yield EVERYWHERE, actions.DropDatabase(_db(event))


def _create_function(event: event_types.CreateFunction) -> Iterator[Addressed]:
    db = _db(event)
    yield db, actions.PutFunction(db, FunctionImage(event.function, event.data))


def _drop_function(event: event_types.DropFunction) -> Iterator[Addressed]:
    db = _db(event)
    yield db, actions.DropFunction(db, event.function)


def _other(event: event_types.OtherEvent) -> Iterator[Addressed]:
    if not event.harmless:
        yield EVERYWHERE, actions.Undecodable(None)


def _doubt(table: TableName) -> list[Addressed]:
    action = actions.Undecodable(table)
    return [(table, action), (table.database, action)]


def _table(name: TableName, image: event_types.TableImage, write_id: int) -> TableImage:
    return TableImage(
        name, image.id, write_id, image.transactional, bool(image.partition_keys), image.data
    )


def _partition(image: event_types.PartitionImage) -> PartitionImage:
    return PartitionImage(image.values, image.write_id, columns_hash(image.columns), image.data)


def _columns(
    event: event_types.UpdateTableStatistics | event_types.UpdatePartitionStatistics,
    values: tuple[str, ...] | None,
) -> tuple[ColumnStatisticsImage, ...]:
    return tuple(
        ColumnStatisticsImage(
            values,
            event.engine,
            column.name,
            event.write_id,
            event.last_analyzed,
            column.data,
            statistics_fields(column.data),
        )
        for column in event.columns
    )


def _put_name(table: TableName, image: event_types.TableImage) -> Addressed:
    db = table.database
    return db, actions.PutName(db, _line(table, image.listed))


def _alter_name(event: event_types.AlterTable) -> Addressed:
    """A table's line in the list of names after an alter, with the line its writer had read if that
    was in the same database."""
    new, image = event.table.database, event.image
    line = _line(event.table, image.listed)
    before = _line(event.before, event.listed_before) if event.before.database == new else None
    return new, actions.PutName(new, line, True, before)


def _line(table: TableName, listed: event_types.ListedFields) -> NameImage:
    return NameImage(table.table, *listed)


def _db(event: event_types.DatabaseEvent) -> DatabaseName:
    return DatabaseName(event.catalog, event.db)


_TRANSLATORS: dict[type, Callable[[Any], Iterator[Addressed]]] = {
    event_types.CreateTable: _create_table,
    event_types.AlterTable: _alter_table,
    event_types.DropTable: _drop_table,
    event_types.AddPartitions: _add_partitions,
    event_types.AlterPartitions: _alter_partitions,
    event_types.AlterPartition: _alter_partition,
    event_types.DropPartitions: _drop_partitions,
    event_types.UpdateTableStatistics: _update_table_statistics,
    event_types.UpdatePartitionStatistics: _update_partition_statistics,
    event_types.DeleteTableStatistics: _delete_table_statistics,
    event_types.DeletePartitionStatistics: _delete_partition_statistics,
    event_types.AddConstraints: _add_constraints,
    event_types.DropConstraint: _drop_constraint,
    event_types.AllocateWriteIds: _allocate,
    event_types.CommitTransaction: _commit,
    event_types.AbortTransaction: _abort,
    event_types.CreateDatabase: _create_database,
    event_types.AlterDatabase: _alter_database,
    event_types.DropDatabase: _drop_database,
    event_types.CreateFunction: _create_function,
    event_types.DropFunction: _drop_function,
    event_types.OtherEvent: _other,
    event_types.Insert: _nothing,
    event_types.Reload: _nothing,
    event_types.OpenTransactions: _nothing,
    event_types.CommitCompaction: _nothing,
    event_types.AcidWrite: _nothing,
    event_types.CatalogEvent: _nothing,
}
