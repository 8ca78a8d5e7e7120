"""The interface to the objects of a metastore at one moment, from the cache or the database."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from hive.filters.bounds import Span
from hive.filters.semantics import PartitionKey
from hive.names import DatabaseName, TableName
from hive.thrift.view import View
from state.records.objects import ConstraintKind
from state.shard_reader import NameLine

Values = tuple[str, ...]
_FIGURES = 3
_DATABASE_TYPE, _REMOTE = 11, 2


class ColumnFigures(NamedTuple):
    """The statistics of one column, computed by one engine."""

    engine: str
    column: str
    last_analyzed: int
    data: bytes
    """A ColumnStatisticsObj, without figures if the metastore can't return them."""

    @property
    def is_returned(self) -> bool:
        return View(self.data).struct(_FIGURES) is not None


class ConstraintColumns(NamedTuple):
    """A constraint and the structs of its columns."""

    kind: ConstraintKind
    name: str
    columns: tuple[bytes, ...]


def is_remote(database: bytes) -> bool:
    """Whether the tables of this database are in another system."""
    return View(database).i32(_DATABASE_TYPE) == _REMOTE


class WantedNames(NamedTuple):
    """The names greater than one, of the partitions of a table that share some first values."""

    table: TableName
    columns: Sequence[str]
    prefix: Sequence[str]
    after: str
    """Empty for all of them."""

    def read_at_once(self, objects: "Objects") -> list[str]:
        """The names in order, from all that have the prefix."""
        names = objects.partition_names(self.table, self.columns, self.prefix)
        names.sort()
        return names[bisect_right(names, self.after) :] if self.after else names


class Objects(Protocol):
    """Objects by name, as canonical Thrift bytes. A missing object is None, or not in the list."""

    def table(self, name: TableName) -> bytes | None: ...

    def tables(self, names: Sequence[TableName]) -> list[bytes]: ...

    def names(self, db: DatabaseName) -> Iterable[NameLine]: ...

    def names_of(self, catalog: str, databases: Sequence[str]) -> Iterable[tuple[str, NameLine]]:
        """The lines of several databases, each with the name of its database."""
        ...

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: Sequence[Span] | None
    ) -> Iterable[Values]:
        """The values of the partitions with this prefix; an empty text in it matches any value.

        Partitions outside of `spans` may be left out.
        """
        ...

    def are_plain(
        self, table: TableName, columns: tuple[PartitionKey, ...], positions: frozenset[int]
    ) -> bool:
        """Whether all values that the partitions have for the keys at these positions are plain;
        False if that isn't known."""
        ...

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        """The names of the partitions with these first values, in any order."""
        ...

    def sorted_partition_names(self, wanted: WantedNames, at_once: int | None) -> Iterable[str]:
        """The names in order. The cache reads them as they are asked for, and at first `at_once`.
        The database's are a list.
        """
        ...

    def sorted_partitions(self, wanted: WantedNames) -> Iterable[bytes]:
        """The partitions with these names, in their order. The database's are a list."""
        ...

    def existing_partitions(self, table: TableName, values: Sequence[Values]) -> list[Values]:
        """Those of these values for which there is a partition, in their order."""
        ...

    def partition(self, table: TableName, values: Values) -> bytes | None: ...

    def partitions(self, table: TableName, values: Sequence[Values]) -> Iterable[bytes]:
        """The partitions in the order of their values; values without a partition are skipped. The
        database's are a list."""
        ...

    def table_statistics(self, table: TableName) -> Iterable[ColumnFigures]: ...

    def partition_statistics(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterable[tuple[Values, list[ColumnFigures]]]: ...

    def constraints(self, table: TableName) -> Iterable[ConstraintColumns]: ...

    def database(self, db: DatabaseName) -> bytes | None: ...

    def databases(self, catalog: str) -> Iterable[tuple[str, bytes]]: ...

    def functions(self, db: DatabaseName) -> Iterable[tuple[str, bytes]]: ...
