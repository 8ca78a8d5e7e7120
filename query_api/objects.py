"""The objects of a metastore at one moment, wherever they are kept."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from hive.filters.bounds import Span
from hive.names import TableName
from hive.thrift.view import View
from state.records.objects import ConstraintKind, DatabaseName
from state.shard_reader import NameLine

Values = tuple[str, ...]
_FIGURES = 3


class ColumnFigures(NamedTuple):
    """The statistics of one column as one engine computed them."""

    engine: str
    column: str
    last_analyzed: int
    data: bytes
    """A ColumnStatisticsObj, without figures where the metastore can't tell them."""

    @property
    def is_told(self) -> bool:
        return View(self.data).struct(_FIGURES) is not None


class ConstraintColumns(NamedTuple):
    """A constraint and the structs of its columns."""

    kind: ConstraintKind
    name: str
    columns: tuple[bytes, ...]


class Objects(Protocol):
    """Canonical Thrift bytes by name. None, or nothing in a list, means that there is none."""

    def table(self, name: TableName) -> bytes | None: ...

    def tables(self, names: Sequence[TableName]) -> list[bytes]: ...

    def names(self, db: DatabaseName) -> Iterable[NameLine]: ...

    def names_of(self, catalog: str, databases: Sequence[str]) -> Iterable[tuple[str, NameLine]]:
        """The same of several databases, each with the name of its database."""
        ...

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: Sequence[Span] | None
    ) -> Iterable[Values]:
        """Of the partitions whose first values are these; an empty text stands for any value.

        Those outside of `spans` may be left out.
        """
        ...

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        """The names of the partitions with these first values, in any order."""
        ...

    def partition(self, table: TableName, values: Values) -> bytes | None: ...

    def partitions(self, table: TableName, values: Sequence[Values]) -> Iterable[bytes]:
        """In this order; values of which there is no partition are passed over."""
        ...

    def table_statistics(self, table: TableName) -> Iterable[ColumnFigures]: ...

    def partition_statistics(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterable[tuple[Values, list[ColumnFigures]]]: ...

    def constraints(self, table: TableName) -> Iterable[ConstraintColumns]: ...

    def database(self, db: DatabaseName) -> bytes | None: ...

    def databases(self, catalog: str) -> Iterable[tuple[str, bytes]]: ...

    def functions(self, db: DatabaseName) -> Iterable[tuple[str, bytes]]: ...
