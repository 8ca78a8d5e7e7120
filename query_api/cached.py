"""The objects that shards of the cache hold, each in one snapshot."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from hive.filters.bounds import Span
from hive.names import TableName, partition_names
from query_api.objects import ColumnFigures, ConstraintColumns, Values
from query_api.targets import Kind, Target, of_catalog, of_database
from state import entries, keys
from state.kv import after
from state.reading import ColumnStatistics, NameLine, ShardReader
from state.records.objects import DatabaseName

_AT_ONCE: Final = 4096
ReaderOf = Callable[[Target], ShardReader]
"""The snapshot in which a target was judged."""


class CachedObjects:
    """Objects of the cache. What it says of a target holds only if serving it was decided."""

    def __init__(self, reader_of: ReaderOf) -> None:
        self._reader_of = reader_of

    def table(self, name: TableName) -> bytes | None:
        entry = self._of(name).table(name)
        return None if entry is None else entry.data

    def tables(self, names: Sequence[TableName]) -> list[bytes]:
        return [data for name in names if (data := self.table(name)) is not None]

    def names(self, db: DatabaseName) -> Iterable[NameLine]:
        return self._reader_of(of_database(Kind.NAMES, db)).names(db)

    def names_of(self, catalog: str, databases: Sequence[str]) -> Iterator[tuple[str, NameLine]]:
        for db in databases:
            for line in self.names(DatabaseName(catalog, db)):
                yield db, line

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: Sequence[Span] | None
    ) -> Iterator[Values]:
        known = tuple(takewhile(bool, prefix))
        chosen = [(place, value) for place, value in enumerate(prefix) if value]
        for many in self._values(table, known, spans):
            if len(chosen) > len(known):
                many = [one for one in many if all(one[place] == value for place, value in chosen)]
            yield from many

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        return partition_names(columns, list(self.partition_values(table, prefix, None)))

    def _values(
        self, table: TableName, prefix: Values, spans: Sequence[Span] | None
    ) -> Iterator[list[Values]]:
        view, start_of_values = self._of(table).view, len(keys.of_table(keys.PARTITION, table))
        for start, end in _ranges(table, prefix, spans):
            found = view.scan(start, end)
            while some := list(islice(found, _AT_ONCE)):
                yield keys.split_many(
                    [key[start_of_values:] for key, value in some if value[0] == entries.Mark.LIVE]
                )

    def partition(self, table: TableName, values: Values) -> bytes | None:
        entry = self._of(table).partition(table, values)
        return None if entry is None else entry.data

    def partitions(self, table: TableName, values: Sequence[Values]) -> Iterator[bytes]:
        for one in values:
            data = self.partition(table, one)
            if data is not None:
                yield data

    def table_statistics(self, table: TableName) -> list[ColumnFigures]:
        return [_figures(column) for column in self._of(table).table_statistics(table)]

    def partition_statistics(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterator[tuple[Values, list[ColumnFigures]]]:
        reader = self._of(table)
        for one in values:
            yield one, [_figures(column) for column in reader.partition_statistics(table, one)]

    def constraints(self, table: TableName) -> list[ConstraintColumns]:
        return [
            ConstraintColumns(one.kind, one.name, one.columns)
            for one in self._of(table).constraints(table)
        ]

    def database(self, db: DatabaseName) -> bytes | None:
        entry = self._reader_of(of_database(Kind.DATABASE, db)).database(db)
        return None if entry is None else entry.data

    def databases(self, catalog: str) -> Iterator[tuple[str, bytes]]:
        reader = self._reader_of(of_catalog(Kind.DATABASES, catalog))
        for name, entry in reader.databases(catalog):
            yield name, entry.data

    def functions(self, db: DatabaseName) -> Iterator[tuple[str, bytes]]:
        for name, entry in self._reader_of(of_database(Kind.FUNCTIONS, db)).functions(db):
            yield name, entry.data

    def _of(self, table: TableName) -> ShardReader:
        return self._reader_of(Target(Kind.TABLE, table))


def _ranges(
    table: TableName, prefix: Values, spans: Sequence[Span] | None
) -> Iterator[tuple[bytes, bytes]]:
    """The keys of partitions with this prefix or, where there is none, in these spans."""
    if prefix or spans is None:
        spans = (Span(prefix),)
    for span in spans:
        stem = keys.partition(table, span.prefix)
        start = keys.partition(table, (*span.prefix, span.low)) if span.low else stem
        end = after(stem)
        if span.high is not None:
            end = keys.partition(table, (*span.prefix, span.high))
        yield start, end


def _figures(column: ColumnStatistics) -> ColumnFigures:
    return ColumnFigures(column.engine, column.column, column.last_analyzed, column.data)
