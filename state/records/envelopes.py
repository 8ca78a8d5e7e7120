"""The records of the topic: changes with their intervals, loads, transactions, control."""

from enum import StrEnum

import msgspec

from hive.names import DatabaseName, TableName
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
    """The base of all records. Event ids belong to one epoch and are only compared within it."""

    epoch: Natural


class Change(Record, frozen=True, tag="c"):
    """The effect of one event on one shard. Without actions, it only says that the shard is
    complete up to `upto`.

    No other event in `(after, upto]` concerns this shard. A large event comes in parts that share
    the interval; only the last one, `part == parts - 1`, moves the position.
    """

    after: Natural
    upto: Natural
    actions: tuple[AnyAction, ...] = ()
    part: Word = 0
    parts: Word = 1
    mark: Word = 0
    """The mark of event `upto`'s row (`hive.events.row.row_mark`); 0 if it isn't known."""


class ScopeKind(StrEnum):
    """What a scope holds: a table with all that belongs to it, its write ids alone, the tables and
    functions of a database (`names`), the databases of a catalog, or the objects of a table of
    which the cache isn't sure."""

    TABLE = "table"
    """One table with everything that belongs to it, write ids included."""
    WRITE_IDS = "write_ids"
    """The write ids of one table."""
    NAMES = "names"
    """The table names and the functions of one database."""
    DATABASES = "databases"
    """The databases of one catalog."""
    OBJECTS = "objects"
    """The objects of one table that events left in doubt."""


class Scope(msgspec.Struct, frozen=True, array_like=True):
    """A table, or a list of names: what is loaded or compared at once. Unused parts of the name are
    empty."""

    kind: ScopeKind
    name: TableName


def names_scope(db: DatabaseName) -> Scope:
    """The names and functions of a database."""
    return Scope(ScopeKind.NAMES, db.table(""))


def databases_scope(catalog: str) -> Scope:
    """The databases of a catalog."""
    return Scope(ScopeKind.DATABASES, TableName(catalog, "", ""))


class LoadBegin(Record, frozen=True, tag="lb"):
    """Begins a load: deletions now leave tombstones. It is acknowledged before `lo` is read."""

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
    """Ends a load that read everything between the events `lo` and `hi`, in `chunks` chunks."""

    load: str
    scope: Scope
    lo: Natural
    hi: Natural
    chunks: Natural


class Reread(Record, frozen=True, tag="rr"):
    """Some objects of one table as they were at event `at`, read in one transaction.

    They replace only objects in doubt; an object without a row didn't exist.
    """

    table: TableName
    at: Natural
    table_id: Long
    """The id of the table that had this name then; 0 if there was none."""
    objects: tuple[tuple[str, ...], ...]
    """Partitions by the values in their names, and () for the table itself."""
    rows: Rows


class OpenTransactions(Record, frozen=True, tag="ot"):
    """The transactions that the metastore holds open as of event `at`."""

    at: Natural
    txns: tuple[Long, ...]


class Reset(Record, frozen=True, tag="cr"):
    """Begins a new epoch after event `at`: everything known belongs to another history.

    One whose epoch doesn't follow that of its shard (`state.records.epochs`) changes nothing.
    """

    at: Natural
    mark: Word = 0
    """The mark of event `at`'s row, as in `Change`."""


class ResetTable(Record, frozen=True, tag="ct"):
    """Makes a table unknown as of event `at`."""

    at: Natural
    table: TableName
    load: bool = True
    """Whether to load it again at once rather than when somebody reads it."""


class SetLists(Record, frozen=True, tag="cl"):
    """Sets which tables are cached: those that match a whitelist pattern and no blacklist pattern.

    Patterns are Hive's (`*`, `|`) over `db.table`. The higher version wins, and of the greatest one
    the last record.
    """

    version: Natural
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]


class Pause(Record, frozen=True, tag="cp"):
    """Stops or starts serving from the cache. The higher version wins, and of the greatest one the
    last record."""

    version: Natural
    paused: bool


class Skip(Record, frozen=True, tag="cs"):
    """Orders that the records between two offsets which can't be read are passed over.

    It comes after them in their partition, so a shard that meets one looks for it ahead. Records
    that can be read are folded all the same, and so this one changes nothing where it stands.
    """

    first: Natural
    last: Natural


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
    | Skip
)
