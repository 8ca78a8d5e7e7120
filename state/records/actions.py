"""What one notification event does to one shard, as a list of small typed actions.

An event that concerns a table and the home shard of its database is one record with both
actions where the two shards are one, so an interval of event ids is never split.
"""

from enum import IntFlag
from typing import Final

import msgspec

from hive.names import TableName
from state.records.numbers import Long
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    DatabaseImage,
    DatabaseName,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
)


class Action(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The base of all actions; `msgspec` tells them apart by their tags.

    Like all records they hold no cycles, so the garbage collector needn't walk millions of them.
    """


class CreateTable(Action, frozen=True, tag="ct"):
    """CREATE_TABLE. The table has no partitions, statistics or constraints yet."""

    table: TableImage


class AlterTable(Action, frozen=True, tag="at"):
    """ALTER_TABLE that keeps the name."""

    table: TableImage
    before: int | None
    """The fingerprint of the table that the writer had read: if it isn't what the events before
    had left, somebody else wrote at the same time, and the image may lack what the other did.
    None where the image doesn't tell all that was stored."""
    rewrites: bool
    """Columns, database or location changed: partitions and statistics may have, unsaid."""
    truncates: bool


class Side(IntFlag):
    """Which half of a rename a shard is home to."""

    OLD = 1
    NEW = 2
    BOTH = 3


class RenameTable(Action, frozen=True, tag="rt"):
    """ALTER_TABLE that changes the name: an end under the old one, a start under the new."""

    old: TableName
    table: TableImage
    sides: Side


class DropTable(Action, frozen=True, tag="dt"):
    """DROP_TABLE, with everything that hangs on the table."""

    table: TableName


class PutPartitions(Action, frozen=True, tag="pp"):
    """ADD_PARTITION or ALTER_PARTITIONS."""

    table: TableName
    write_id: Long
    partitions: tuple[PartitionImage, ...]
    added: bool
    """They did not exist before, so they have no statistics."""
    truncates: bool = False


class AlterPartition(Action, frozen=True, tag="ap"):
    """ALTER_PARTITION; with other values it is a rename."""

    table: TableName
    write_id: Long
    old: tuple[str, ...]
    before: int | None
    """The fingerprint of the partition that the writer had read; None as in AlterTable."""
    partition: PartitionImage
    truncates: bool


class DropPartitions(Action, frozen=True, tag="dp"):
    """DROP_PARTITION. The log gives it no write id."""

    table: TableName
    partitions: tuple[tuple[str, ...], ...]


class PutTableStatistics(Action, frozen=True, tag="ts"):
    """UPDATE_TBL_COL_STAT_EVENT: some columns, and the table with its new parameters."""

    table: TableName
    write_id: Long
    columns: tuple[ColumnStatisticsImage, ...]
    image: TableImage | None
    before: int | None = None
    """The fingerprint of the table that the writer had read."""


class PutPartitionStatistics(Action, frozen=True, tag="ps"):
    """UPDATE_PART_COL_STAT_EVENT: some columns, and the new parameters of the partition: all, or,
    where many partitions were written at once, the accuracy of statistics alone."""

    table: TableName
    write_id: Long
    values: tuple[str, ...]
    columns: tuple[ColumnStatisticsImage, ...]
    parameters: dict[str, str] | None
    """None where the event doesn't tell them."""
    transactional: bool | None = None
    """Whether the table is, as the writer had read it; None where the event doesn't tell that."""


class DropStatistics(Action, frozen=True, tag="ds"):
    """DELETE_TBL_COL_STAT_EVENT or, with values, DELETE_PART_COL_STAT_EVENT."""

    table: TableName
    values: tuple[str, ...] | None
    column: str | None
    """None for all columns."""


class PutConstraints(Action, frozen=True, tag="pc"):
    """The ADD_… events of constraints."""

    table: TableName
    constraints: tuple[ConstraintImage, ...]


class DropConstraint(Action, frozen=True, tag="dc"):
    """DROP_CONSTRAINT: the log gives its name, not its kind."""

    table: TableName
    name: str


class AllocateWriteIds(Action, frozen=True, tag="aw"):
    """ALLOC_WRITE_ID_EVENT: parallel lists."""

    table: TableName
    txns: tuple[Long, ...]
    write_ids: tuple[Long, ...]

    def __post_init__(self) -> None:
        if len(self.txns) != len(self.write_ids):
            raise ValueError("as many transactions as write ids are needed")


class CommitTxn(Action, frozen=True, tag="tc"):
    """COMMIT_TXN."""

    txn: Long
    pairs: tuple[tuple[str, Long], ...] | None
    """(database, write id) of all its tables, from 4.1 on; the log names no tables."""


class AbortTxn(Action, frozen=True, tag="ta"):
    """ABORT_TXN."""

    txn: Long


class PutDatabase(Action, frozen=True, tag="pd"):
    """CREATE_DATABASE or ALTER_DATABASE; it goes to every shard."""

    database: DatabaseImage
    altered: bool = False
    before: int | None = None
    """The fingerprint of the database that the writer of an alter had read."""


class DropDatabase(Action, frozen=True, tag="dd"):
    """DROP_DATABASE, with all that is in it; it goes to every shard."""

    name: DatabaseName


class CreateNames(Action, frozen=True, tag="cn"):
    """CREATE_DATABASE, at its home shard: it has no tables and no functions yet."""

    db: DatabaseName


class PutName(Action, frozen=True, tag="pn"):
    """A table's line in the lists of its database, at the database's home shard."""

    db: DatabaseName
    name: NameImage
    altered: bool = False
    before: NameImage | None = None
    """The line that the writer of an alter had read, under the name that the table had; None where
    that was in another database."""


class DropName(Action, frozen=True, tag="dn"):
    """There is no such table in this database any more."""

    db: DatabaseName
    table: str


class PutFunction(Action, frozen=True, tag="pf"):
    """CREATE_FUNCTION, at the database's home shard."""

    db: DatabaseName
    function: FunctionImage


class DropFunction(Action, frozen=True, tag="df"):
    """DROP_FUNCTION."""

    db: DatabaseName
    function: str


class Undecodable(Action, frozen=True, tag="xx"):
    """An event that can't be read: what it may have touched is unknown from here on."""

    table: TableName | None
    """None for everything."""


MISNAMED_EVENTS_MAX: Final = 5_000
"""No transaction of a metastore goes on while so many others commit: from a rename on, so many
events may name the table as it was called before."""


class Misnamed(Action, frozen=True, tag="mn"):
    """An event about a table that names it as it was called before a rename: its writer had read
    the table before that, and what it changed is unknown."""

    table: TableName
    hanging: bool = False
    """Only what hangs on the table can have changed, constraints or statistics."""


AnyAction = (
    CreateTable
    | AlterTable
    | RenameTable
    | DropTable
    | PutPartitions
    | AlterPartition
    | DropPartitions
    | PutTableStatistics
    | PutPartitionStatistics
    | DropStatistics
    | PutConstraints
    | DropConstraint
    | AllocateWriteIds
    | CommitTxn
    | AbortTxn
    | PutDatabase
    | DropDatabase
    | CreateNames
    | PutName
    | DropName
    | PutFunction
    | DropFunction
    | Undecodable
    | Misnamed
)
