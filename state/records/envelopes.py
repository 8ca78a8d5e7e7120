"""The records of the topic: changes with their intervals, loads, transactions, control."""

from enum import StrEnum

import msgspec

from hive.names import TableName
from state.records.actions import AnyAction
from state.records.numbers import Long, Natural, Word
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
    WriteIdsImage,
)


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The base of all records. Event ids are of one epoch and are compared within it only."""

    epoch: Natural


class Change(Record, frozen=True, tag="c"):
    """One event's effect on one shard. Without actions it says: complete up to `upto`.

    For this shard nothing exists in `(after, upto]` but this. A large event comes in parts that
    share the interval; only the last one, `part == parts - 1`, moves the position.
    """

    after: Natural
    upto: Natural
    actions: tuple[AnyAction, ...] = ()
    part: Word = 0
    parts: Word = 1


class ScopeKind(StrEnum):
    """What a load reads."""

    TABLE = "table"
    """One table with all that hangs on it, its write ids included."""
    WRITE_IDS = "write_ids"
    """The write ids of one table."""
    NAMES = "names"
    """The tables' names and the functions of one database."""
    DATABASES = "databases"
    """The databases of one catalog."""
    OBJECTS = "objects"
    """Some objects of one table: those that events left in doubt."""


class Scope(msgspec.Struct, frozen=True, array_like=True):
    """What a load reads, or what a signal asks for. Unused parts of the name are empty."""

    kind: ScopeKind
    name: TableName


class LoadBegin(Record, frozen=True, tag="lb"):
    """From here on deletions leave tombstones. Acknowledged before the load's `lo` is read."""

    load: str
    scope: Scope


class Rows(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Objects as a load read them."""

    tables: tuple[TableImage, ...] = ()
    partitions: tuple[PartitionImage, ...] = ()
    statistics: tuple[ColumnStatisticsImage, ...] = ()
    constraints: tuple[ConstraintImage, ...] = ()
    write_ids: tuple[WriteIdsImage, ...] = ()
    names: tuple[NameImage, ...] = ()
    functions: tuple[FunctionImage, ...] = ()
    databases: tuple[DatabaseImage, ...] = ()


class LoadRows(Record, frozen=True, tag="lr"):
    """One chunk of a load. Its rows count as of event `lo`."""

    load: str
    scope: Scope
    lo: Natural
    number: Natural
    rows: Rows


class LoadEnd(Record, frozen=True, tag="le"):
    """The load read everything between the events `lo` and `hi`, in `chunks` chunks."""

    load: str
    scope: Scope
    lo: Natural
    hi: Natural
    chunks: Natural


class Reread(Record, frozen=True, tag="rr"):
    """Some objects of one table as they were at event `at`, read in one transaction.

    They stand for objects in doubt and for nothing else; one without a row wasn't there.
    """

    table: TableName
    at: Natural
    table_id: Long
    """Of the table that had this name then; 0 where there was none."""
    objects: tuple[tuple[str, ...], ...]
    """Partitions by the values in their names, and () for the table itself."""
    rows: Rows


class OpenTransactions(Record, frozen=True, tag="ot"):
    """The transactions that the metastore holds open as of event `at`."""

    at: Natural
    txns: tuple[Long, ...]


class Reset(Record, frozen=True, tag="cr"):
    """What was known is of another history: a new epoch begins after event `at`."""

    at: Natural


class ResetTable(Record, frozen=True, tag="ct"):
    """Forget one table as of event `at`."""

    at: Natural
    table: TableName
    load: bool = True
    """Whether it shall be loaded again at once, and not when somebody reads it."""


class SetLists(Record, frozen=True, tag="cl"):
    """Which tables are cached: those that a whitelist pattern matches and no blacklist pattern.

    Patterns are Hive's (`*`, `|`) over `db.table`. The higher version wins.
    """

    version: Natural
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]


class Pause(Record, frozen=True, tag="cp"):
    """Whether the cache serves at all. The higher version wins."""

    version: Natural
    paused: bool


AnyRecord = (
    Change
    | LoadBegin
    | LoadRows
    | LoadEnd
    | Reread
    | OpenTransactions
    | Reset
    | ResetTable
    | SetLists
    | Pause
)
