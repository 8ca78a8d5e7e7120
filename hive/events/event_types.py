"""What a notification event says, typed: one struct a kind.

Objects are canonical Thrift bytes; beside them stands what the fold needs. `write_id` is the
event's, which decides when the write is visible, and -1 where there is none; what is stored with
the object is in its bytes.
"""

from typing import Any

import msgspec

from hive.names import TableName


class Event(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """What all events have; `other` holds the fields of the message that we don't know."""

    event_id: int
    event_time: int
    event_type: str
    other: dict[str, Any] = {}


class TableImage(msgspec.Struct, frozen=True):
    """A table and what is asked of it most."""

    data: bytes
    id: int
    table_type: str
    transactional: bool
    partition_keys: tuple[str, ...]
    owner: str | None
    comment: str | None


class PartitionImage(msgspec.Struct, frozen=True):
    """A partition; `write_id` is the writer's, the stored one is in the bytes."""

    values: tuple[str, ...]
    data: bytes
    write_id: int
    columns: bytes | None
    """The list of columns as it is in the bytes, to compare it with another."""


class TableFacts(msgspec.Struct, frozen=True):
    """What an event about partitions says of their table, as it was read before the event."""

    id: int
    transactional: bool
    partition_keys: tuple[str, ...]


class TableEvent(Event, frozen=True, tag=True, kw_only=True):
    """An event about one table."""

    table: TableName


class CreateTable(TableEvent, frozen=True, tag=True, kw_only=True):
    """CREATE_TABLE."""

    image: TableImage
    write_id: int


class DropTable(TableEvent, frozen=True, tag=True, kw_only=True):
    """DROP_TABLE; 0 is an unknown id."""

    id: int
    transactional: bool


class AlterTable(TableEvent, frozen=True, tag=True, kw_only=True):
    """ALTER_TABLE: `table` is the new name.

    `columns_changed` and `location_changed` tell that partitions and statistics may have been
    rewritten without events. Unless the image is `known`, only the database knows which write id
    and which accuracy of statistics are stored. `before_data` is what the writer had read: if that
    isn't what the events before had left, somebody else wrote at the same time, and as the
    metastore writes only what an alter changes, the image may lack what the other one changed.
    (A truncate gives the image after it as the one before, too.)
    """

    before: TableName
    before_data: bytes
    image: TableImage
    write_id: int
    truncate: bool
    columns_changed: bool
    location_changed: bool
    partition_keys_changed: bool
    listed_before: tuple[str | None, str | None, str | None]
    listed_changed: bool
    """The type, the owner or the comment, which lists of tables show."""
    known: bool

    @property
    def renamed(self) -> bool:
        """Whether the table has another name, database or catalog now."""
        return self.before != self.table


class PartitionEvent(TableEvent, frozen=True, tag=True, kw_only=True):
    """An event about partitions of one table."""

    facts: TableFacts | None


class AddPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """ADD_PARTITION."""

    partitions: tuple[PartitionImage, ...]


class AlterPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """ALTER_PARTITIONS: never a rename, and silent about what was before."""

    partitions: tuple[PartitionImage, ...]
    write_id: int
    truncate: bool


class AlterPartition(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """ALTER_PARTITION: a rename if the values before are others. Of `before_data` the same holds
    as in AlterTable."""

    before: tuple[str, ...]
    before_data: bytes
    known: bool
    partition: PartitionImage
    write_id: int
    truncate: bool
    columns_changed: bool


class DropPartitions(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """DROP_PARTITION: the values of each."""

    values: tuple[tuple[str, ...], ...]


class Insert(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """INSERT: data came; the metadata follow in events of their own."""

    values: tuple[str, ...] | None
    replace: bool


class Reload(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """RELOAD: somebody asks all caches to read the table, or these partitions, again."""

    values: tuple[tuple[str, ...], ...]
    refresh: bool


class ColumnImage(msgspec.Struct, frozen=True):
    """A ColumnStatisticsObj and its column."""

    name: str
    data: bytes


class UpdateTableStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    """UPDATE_TBL_COL_STAT_EVENT: some columns, the table that the writer had read, and the same
    with its new parameters."""

    before_data: bytes | None
    image: TableImage | None
    engine: str
    last_analyzed: int
    columns: tuple[ColumnImage, ...]
    write_id: int


class UpdatePartitionStatistics(PartitionEvent, frozen=True, tag=True, kw_only=True):
    """UPDATE_PART_COL_STAT_EVENT: some columns, and the new parameters of the partition: all, or,
    where many partitions were written at once, the accuracy of statistics alone."""

    values: tuple[str, ...]
    engine: str
    last_analyzed: int
    columns: tuple[ColumnImage, ...]
    parameters: dict[str, str] | None
    write_id: int


class DeleteTableStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    """DELETE_TBL_COL_STAT_EVENT: no column means all; of which engine is not said."""

    column: str | None


class DeletePartitionStatistics(TableEvent, frozen=True, tag=True, kw_only=True):
    """DELETE_PART_COL_STAT_EVENT."""

    values: tuple[str, ...]
    column: str | None


class AddConstraints(TableEvent, frozen=True, tag=True, kw_only=True):
    """ADD_PRIMARYKEY and the like: `kind` is the field of SQLAllTableConstraints; foreign keys
    are events of the child table."""

    kind: str
    constraints: tuple[tuple[str, bytes], ...]


class DropConstraint(TableEvent, frozen=True, tag=True, kw_only=True):
    """DROP_CONSTRAINT, of whatever kind."""

    constraint: str


class DatabaseEvent(Event, frozen=True, tag=True, kw_only=True):
    """An event about one database."""

    catalog: str
    db: str


class CreateDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """CREATE_DATABASE."""

    data: bytes


class AlterDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """ALTER_DATABASE. Of `before_data` the same holds as in AlterTable."""

    before_data: bytes
    data: bytes


class DropDatabase(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """DROP_DATABASE."""


class CreateFunction(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """CREATE_FUNCTION."""

    function: str
    data: bytes


class DropFunction(DatabaseEvent, frozen=True, tag=True, kw_only=True):
    """DROP_FUNCTION."""

    function: str


class OpenTransactions(Event, frozen=True, tag=True, kw_only=True):
    """OPEN_TXN: from the first to the last, both in it, or single ones as ranges of one."""

    ranges: tuple[tuple[int, int], ...]


class CommitTransaction(Event, frozen=True, tag=True, kw_only=True):
    """COMMIT_TXN: (database, write id) of what it wrote; None before 4.1."""

    txn: int
    write_ids: tuple[tuple[str, int], ...] | None


class AbortTransaction(Event, frozen=True, tag=True, kw_only=True):
    """ABORT_TXN: write ids are None before 4.1."""

    txn: int
    databases: tuple[str, ...]
    write_ids: tuple[int, ...] | None


class AllocateWriteIds(TableEvent, frozen=True, tag=True, kw_only=True):
    """ALLOC_WRITE_ID_EVENT: (transaction, write id)."""

    pairs: tuple[tuple[int, int], ...]


class CommitCompaction(TableEvent, frozen=True, tag=True, kw_only=True):
    """COMMIT_COMPACTION_EVENT."""

    txn: int
    compaction_type: str | None
    partition: str | None


class AcidWrite(TableEvent, frozen=True, tag=True, kw_only=True):
    """ACID_WRITE_EVENT."""

    txn: int
    write_id: int
    partition: str | None


class CatalogEvent(Event, frozen=True, tag=True, kw_only=True):
    """CREATE_CATALOG, DROP_CATALOG, ALTER_CATALOG; the image is the one after."""

    catalog: str
    data: bytes | None


class OtherEvent(Event, frozen=True, tag=True, kw_only=True):
    """An event of a type that has no meaning for us, or none yet: the row's names as they are.

    `harmless` are the types that can't touch what is cached.
    """

    cat_name: str | None
    db_name: str | None
    tbl_name: str | None
    harmless: bool


AnyEvent = (
    CreateTable
    | DropTable
    | AlterTable
    | AddPartitions
    | AlterPartitions
    | AlterPartition
    | DropPartitions
    | Insert
    | Reload
    | UpdateTableStatistics
    | UpdatePartitionStatistics
    | DeleteTableStatistics
    | DeletePartitionStatistics
    | AddConstraints
    | DropConstraint
    | CreateDatabase
    | AlterDatabase
    | DropDatabase
    | CreateFunction
    | DropFunction
    | OpenTransactions
    | CommitTransaction
    | AbortTransaction
    | AllocateWriteIds
    | CommitCompaction
    | AcidWrite
    | CatalogEvent
    | OtherEvent
)
