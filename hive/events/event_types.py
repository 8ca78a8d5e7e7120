"""Typed notification events, one struct for each type.

Objects are canonical Thrift bytes, with the fields that the fold needs beside them. `write_id` is
the event's write id, which decides when the write becomes visible, or -1 for none; the id stored
with the object is in its bytes.
"""

from typing import Any, Final, NamedTuple

import msgspec

from hive.names import TableName


class Event(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The base of all events; `other` holds unknown fields of the message."""

    event_id: int
    event_time: int
    event_type: str
    other: dict[str, Any] = {}


class ListedFields(NamedTuple):
    """A table's fields in lists of tables."""

    type: str
    owner: str | None
    comment: str | None
    owner_type: int


class TableImage(msgspec.Struct, frozen=True):
    """A table's bytes, and the fields that are needed most."""

    data: bytes
    id: int
    transactional: bool
    partition_keys: tuple[str, ...]
    listed: ListedFields


class PartitionImage(msgspec.Struct, frozen=True):
    values: tuple[str, ...]
    data: bytes
    write_id: int
    """The stored one, as in the bytes."""
    columns: bytes | None
    """The encoded list of columns, to compare it with another."""


class TableBefore(msgspec.Struct, frozen=True):
    """The table of an event about partitions, as it was read before the event."""

    id: int
    transactional: bool
    partition_keys: tuple[str, ...]


class TableEvent(Event, frozen=True, tag=True, kw_only=True):
    """The base of events about one table."""

    table: TableName


class CreateTable(TableEvent, frozen=True, tag=True, kw_only=True):
    image: TableImage
    write_id: int


class DropTable(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event DROP_TABLE; an id of 0 means that it is unknown."""

    id: int
    transactional: bool


class AlterTable(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event ALTER_TABLE: `table` is the new name.

    `columns_changed` and `location_changed` mean that the metastore may have rewritten partitions
    and statistics without events. Unless the image is `known`, only the database knows which write
    id and which accuracy of statistics are stored. `before_data` is the table as the writer had
    read it. If it isn't what earlier events left, another writer changed the table at the same
    time, and the image may lack that change, because the metastore writes only what an alter
    changes. (A truncate's event has the image after it in both places.)
    """

    before: TableName
    before_data: bytes
    image: TableImage
    write_id: int
    truncate: bool
    columns_changed: bool
    location_changed: bool
    partition_keys_changed: bool
    listed_before: ListedFields
    listed_changed: bool
    """Whether one of the fields in lists of tables has changed."""
    known: bool

    @property
    def renamed(self) -> bool:
        """Whether the table has another name, database or catalog now."""
        return self.before != self.table


class PartitionEvent(TableEvent, frozen=True, tag=True, kw_only=True):
    """The base of events about partitions of one table."""

    table_before: TableBefore | None


class AddPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    partitions: tuple[PartitionImage, ...]
    write_id: int


class AlterPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event ALTER_PARTITIONS: never a rename, and without the state before.

    `known` is False if the metastore wrote the partitions one by one, because a value of one is
    empty: then it locked none of them, and may have stored something else than the event says. Nor
    is it said which image was stored of a partition that has several, and whether names of columns
    were stored with their capitals.
    """

    partitions: tuple[PartitionImage, ...]
    known: bool
    write_id: int
    truncate: bool


class AlterPartition(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event ALTER_PARTITION: a rename if the values differ. `before_data` is as in
    AlterTable."""

    before: tuple[str, ...]
    before_data: bytes
    known: bool
    partition: PartitionImage
    write_id: int
    truncate: bool
    columns_changed: bool


class DropPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event DROP_PARTITION: the values of each partition."""

    values: tuple[tuple[str, ...], ...]


class Insert(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event INSERT: data was added; changes of metadata have events of their own."""

    values: tuple[str, ...] | None
    replace: bool


class Reload(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event RELOAD: asks all caches to read the table, or these partitions, again."""

    values: tuple[tuple[str, ...], ...]
    refresh: bool


class ColumnImage(msgspec.Struct, frozen=True):
    """A ColumnStatisticsObj and its column."""

    name: str
    data: bytes


class UpdateTableStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event UPDATE_TBL_COL_STAT_EVENT: some columns, and the table with its new parameters."""

    image: TableImage | None
    engine: str
    last_analyzed: int
    columns: tuple[ColumnImage, ...]
    write_id: int


class UpdatePartitionStatistics(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """The event UPDATE_PART_COL_STAT_EVENT: some columns, and the partition's new parameters; if
    several partitions were written at once, only the parameter COLUMN_STATS_ACCURATE."""

    values: tuple[str, ...]
    engine: str
    last_analyzed: int
    columns: tuple[ColumnImage, ...]
    parameters: dict[str, str] | None
    write_id: int


class DeleteTableStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event DELETE_TBL_COL_STAT_EVENT, which lacks the engine; no column means all of them."""

    column: str | None


class DeletePartitionStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    values: tuple[str, ...]
    column: str | None


ADD_CONSTRAINTS: Final = (
    "ADD_PRIMARYKEY",
    "ADD_FOREIGNKEY",
    "ADD_UNIQUECONSTRAINT",
    "ADD_NOTNULLCONSTRAINT",
    "ADD_DEFAULTCONSTRAINT",
    "ADD_CHECKCONSTRAINT",
)
"""The types of `AddConstraints` in the log. A request may add constraints to several tables, of
which its row names one, or none."""


class AddConstraints(TableEvent, frozen=True, tag=True, kw_only=True):
    """The events ADD_PRIMARYKEY and its like: `kind` is the field of SQLAllTableConstraints; a
    foreign key is an event of the child table."""

    kind: str
    constraints: tuple[tuple[str, bytes], ...]


class DropConstraint(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event DROP_CONSTRAINT, for any kind of constraint."""

    constraint: str


class DatabaseEvent(Event, frozen=True, tag=True, kw_only=True):
    """The base of events about one database."""

    catalog: str
    db: str


class CreateDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    data: bytes


class AlterDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """The event ALTER_DATABASE. `before_data` is as in AlterTable."""

    before_data: bytes
    data: bytes


class DropDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """The event DROP_DATABASE."""


class CreateFunction(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    function: str
    data: bytes


class DropFunction(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    function: str


class OpenTransactions(Event, frozen=True, tag=True, kw_only=True):
    """The event OPEN_TXN: inclusive ranges of transactions; a single one is a range too."""

    ranges: tuple[tuple[int, int], ...]


class CommitTransaction(Event, frozen=True, tag=True, kw_only=True):
    """The event COMMIT_TXN: the (database, write id) pairs that it wrote; None before 4.1."""

    txn: int
    write_ids: tuple[tuple[str, int], ...] | None


class AbortTransaction(Event, frozen=True, tag=True, kw_only=True):
    """The event ABORT_TXN: write ids are None before 4.1."""

    txn: int
    databases: tuple[str, ...]
    write_ids: tuple[int, ...] | None


class AllocateWriteIds(TableEvent, frozen=True, tag=True, kw_only=True):
    """The event ALLOC_WRITE_ID_EVENT: pairs of (transaction, write id)."""

    pairs: tuple[tuple[int, int], ...]


class CommitCompaction(TableEvent, frozen=True, tag=True, kw_only=True):
    txn: int
    partition: str | None


class AcidWrite(TableEvent, frozen=True, tag=True, kw_only=True):
    txn: int
    write_id: int
    partition: str | None


class CatalogEvent(Event, frozen=True, tag=True, kw_only=True):
    """The events CREATE_CATALOG, DROP_CATALOG, ALTER_CATALOG, with the catalog after them."""

    catalog: str
    data: bytes | None


class OtherEvent(Event, frozen=True, tag=True, kw_only=True):
    """An event of a type that isn't decoded, with the names in its row.

    `harmless` marks the types that can't touch what is cached.
    """

    cat_name: str | None
    db_name: str | None
    tbl_name: str | None
    harmless: bool
