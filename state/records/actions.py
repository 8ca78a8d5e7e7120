"""The effects of one notification event on one shard, as a list of small typed actions.

If a table and the names of its database live in the same shard, an event has one record with both
actions there, so an interval of event ids is never split.
"""

from collections.abc import Callable
from enum import IntFlag
from operator import attrgetter
from typing import Any, Final

import msgspec

from hive.names import DatabaseName, TableName
from state.records.numbers import Long
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
)


class Action(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The base of all actions, which `msgspec` distinguishes by their tags.

    Like all records they hold no cycles, so the garbage collector needn't walk millions of them.
    """


class CreateTable(Action, frozen=True, tag="ct"):
    """CREATE_TABLE. The table has no partitions, statistics or constraints yet."""

    table: TableImage


class AlterTable(Action, frozen=True, tag="at"):
    """ALTER_TABLE that keeps the name."""

    table: TableImage
    before: int | None
    """The fingerprint of the table that the writer had read. If earlier events left another table,
    someone else wrote at the same time, and the image may lack that change. None where the image
    doesn't show all that was stored."""
    rewrites: bool
    """Columns, database or location changed: the metastore may have rewritten partitions and
    statistics without an event."""
    truncates: bool


class Side(IntFlag):
    """The half of a rename that a shard folds."""

    OLD = 1
    NEW = 2
    BOTH = 3


class RenameTable(Action, frozen=True, tag="rt"):
    """ALTER_TABLE that changes the name: the table ends under the old name and begins under the
    new."""

    old: TableName
    table: TableImage
    sides: Side
    former: tuple[TableName, ...] = ()
    """The names of the table before the old one that late events may use."""


class DropTable(Action, frozen=True, tag="dt"):
    """DROP_TABLE, with everything that belongs to the table."""

    table: TableName


class PutPartitions(Action, frozen=True, tag="pp"):
    """ADD_PARTITION or ALTER_PARTITIONS."""

    table: TableName
    write_id: Long
    partitions: tuple[PartitionImage, ...]
    added: bool
    """The partitions did not exist before, so they have no statistics."""
    truncates: bool = False


class AlterPartition(Action, frozen=True, tag="ap"):
    """ALTER_PARTITION, which is a rename if the values differ."""

    table: TableName
    write_id: Long
    old: tuple[str, ...]
    before: int | None
    """The fingerprint of the partition that the writer had read; None as in AlterTable."""
    partition: PartitionImage
    truncates: bool


class DropPartitions(Action, frozen=True, tag="dp"):
    """DROP_PARTITION. The event has no write id."""

    table: TableName
    partitions: tuple[tuple[str, ...], ...]


class PutTableStatistics(Action, frozen=True, tag="ts"):
    """UPDATE_TBL_COL_STAT_EVENT: some columns, and the table with its new parameters."""

    table: TableName
    write_id: Long
    columns: tuple[ColumnStatisticsImage, ...]
    image: TableImage | None


class PutPartitionStatistics(Action, frozen=True, tag="ps"):
    """UPDATE_PART_COL_STAT_EVENT: some columns, and the partition's new parameters; if several
    partitions were written at once, only the parameter COLUMN_STATS_ACCURATE."""

    table: TableName
    write_id: Long
    values: tuple[str, ...]
    columns: tuple[ColumnStatisticsImage, ...]
    parameters: dict[str, str] | None
    """The partition's new parameters; None when the event lacks them."""
    transactional: bool | None = None
    """Whether the table was transactional when the writer read it; None if that isn't known."""


class DropStatistics(Action, frozen=True, tag="ds"):
    """DELETE_TBL_COL_STAT_EVENT or, with values, DELETE_PART_COL_STAT_EVENT."""

    table: TableName
    values: tuple[str, ...] | None
    column: str | None
    """The column; None for all columns."""


class PutConstraints(Action, frozen=True, tag="pc"):
    """The ADD_… events of constraints."""

    table: TableName
    constraints: tuple[ConstraintImage, ...]


class DropConstraint(Action, frozen=True, tag="dc"):
    """DROP_CONSTRAINT: the event has the name, not the kind."""

    table: TableName
    name: str


class AllocateWriteIds(Action, frozen=True, tag="aw"):
    """ALLOC_WRITE_ID_EVENT, in parallel lists."""

    table: TableName
    txns: tuple[Long, ...]
    write_ids: tuple[Long, ...]

    def __post_init__(self) -> None:
        if len(self.txns) != len(self.write_ids):
            raise ValueError("as many transactions as write ids are needed")


class CommitTxn(Action, frozen=True, tag="tc"):
    """COMMIT_TXN; goes to the tables with write ids of it, or everywhere if they are unknown."""

    txn: Long
    pairs: tuple[tuple[str, Long], ...] | None
    """The (database, write id) of each table it wrote, from 4.1 on; the log names no tables."""


class AbortTxn(Action, frozen=True, tag="ta"):
    """ABORT_TXN; goes where COMMIT_TXN goes."""

    txn: Long


class PutDatabase(Action, frozen=True, tag="pd"):
    """CREATE_DATABASE or ALTER_DATABASE; goes to every shard."""

    database: DatabaseImage
    altered: bool = False
    before: int | None = None
    """The fingerprint of the database that the writer of an alter had read."""


class DropDatabase(Action, frozen=True, tag="dd"):
    """DROP_DATABASE, with everything in it; goes to every shard."""

    name: DatabaseName


class CreateNames(Action, frozen=True, tag="cn"):
    """CREATE_DATABASE at its home shard: the database has no tables and no functions yet."""

    db: DatabaseName


class PutName(Action, frozen=True, tag="pn"):
    """A table's line in the list of its database, at the database's home shard."""

    db: DatabaseName
    name: NameImage
    altered: bool = False
    before: NameImage | None = None
    """The line that the writer of an alter had read, with the table's name then; None if the table
    was in another database."""


class DropName(Action, frozen=True, tag="dn"):
    """Removes a table from the list of its database."""

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
    """An event that can't be read: whatever it may have touched is unknown from here on."""

    table: TableName | None
    """The table; None for every table."""


MISNAMED_EVENTS_MAX: Final = 100_000
"""How many events after a rename may still use the table's old name: no transaction of a metastore
stays open while more events than this are written, which at 500 a second takes 200 s. A connector
reads the ALTER_TABLE events among so many when it begins, about a second's work on a busy log."""


class Misnamed(Action, frozen=True, tag="mn"):
    """An event that uses a table's name from before a rename: its writer had read the table before
    the rename, so the effects are unknown."""

    table: TableName
    hanging: bool = False
    """Only constraints or statistics of the table can have changed."""


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

_Subject = Callable[[Any], TableName | DatabaseName | None]
_TABLE: Final[_Subject] = attrgetter("table")
_TABLE_OF_IMAGE: Final[_Subject] = attrgetter("table.name")
_DATABASE: Final[_Subject] = attrgetter("db")


def _nothing(_: Action) -> None:
    return None


_SUBJECTS: Final[dict[type[Action], _Subject]] = {
    CreateTable: _TABLE_OF_IMAGE,
    AlterTable: _TABLE_OF_IMAGE,
    RenameTable: _TABLE_OF_IMAGE,
    DropTable: _TABLE,
    PutPartitions: _TABLE,
    AlterPartition: _TABLE,
    DropPartitions: _TABLE,
    PutTableStatistics: _TABLE,
    PutPartitionStatistics: _TABLE,
    DropStatistics: _TABLE,
    PutConstraints: _TABLE,
    DropConstraint: _TABLE,
    AllocateWriteIds: _TABLE,
    CommitTxn: _nothing,
    AbortTxn: _nothing,
    PutDatabase: attrgetter("database.name"),
    DropDatabase: attrgetter("name"),
    CreateNames: _DATABASE,
    PutName: _DATABASE,
    DropName: _DATABASE,
    PutFunction: _DATABASE,
    DropFunction: _DATABASE,
    Undecodable: _TABLE,
    Misnamed: _TABLE,
}


def subject_of(action: AnyAction) -> TableName | DatabaseName | None:
    """The table or database that an action concerns, of a rename the new name; None for
    transactions and for an event that may concern any table."""
    return _SUBJECTS[type(action)](action)
