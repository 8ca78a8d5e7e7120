"""The objects that the shards hold, read from one snapshot of each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Final

from hive.filters.bounds import Span
from hive.filters.semantics import PartitionKey
from hive.names import (
    DEFAULT_PARTITION,
    DatabaseName,
    TableName,
    partition_names,
    values_of_names,
)
from hive.thrift.view import PartitionView
from query_api.objects import ColumnFigures, ConstraintColumns, Values, WantedNames
from query_api.plain_tables import OwnReader
from query_api.targets import Target, TargetKind, of_catalog, of_database
from state import entries, keys
from state.kv import after
from state.ordered_names import AT_ONCE, KeysOf, NamesAfter
from state.partition_names import names_of
from state.shard_reader import ColumnStatistics, NameLine, ShardReader

_AT_ONCE: Final = 4096
_FEW: Final = 100
_EVERYTHING: Final = (Span(()),)
_DEFAULT: Final = DEFAULT_PARTITION.encode()
ReaderOf = Callable[[Target], ShardReader]
"""Gives the snapshot in which a target was judged."""


class CachedObjects:
    """Objects of the cache. Callers may use only objects of targets that were judged servable."""

    def __init__(self, reader_of: ReaderOf) -> None:
        self._reader_of = reader_of

    def table(self, name: TableName) -> bytes | None:
        entry = self._of(name).table(name)
        return None if entry is None else entry.data

    def tables(self, names: Sequence[TableName]) -> list[bytes]:
        return [data for name in names if (data := self.table(name)) is not None]

    def names(self, db: DatabaseName) -> Iterable[NameLine]:
        return self._reader_of(of_database(TargetKind.NAMES, db)).names(db)

    def names_of(self, catalog: str, databases: Sequence[str]) -> Iterator[tuple[str, NameLine]]:
        for db in databases:
            for line in self.names(DatabaseName(catalog, db)):
                yield db, line

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: Sequence[Span] | None
    ) -> Iterator[Values]:
        leading = tuple(takewhile(bool, prefix))
        chosen = [(place, value) for place, value in enumerate(prefix) if value]
        for some in self._keys(table, leading, spans):
            many = keys.split_many(some)
            if len(chosen) > len(leading):
                many = [
                    values
                    for values in many
                    if all(values[place] == value for place, value in chosen)
                ]
            if spans is not None and _DEFAULT in b"".join(some):
                yield from map(partial(self._raw, table), many)
            else:
                yield from many

    def _raw(self, table: TableName, values: Values) -> Values:
        """The values as filters compare them. In keys, an empty value differs from the name of the
        default partition.
        """
        data = self.partition(table, values) if DEFAULT_PARTITION in values else None
        return values if data is None else PartitionView(data).values

    def are_plain(
        self, table: TableName, columns: tuple[PartitionKey, ...], positions: frozenset[int]
    ) -> bool:
        reader = self._of(table)
        if not isinstance(reader, OwnReader):
            return False
        read = partial(self.partition_values, table, (), _EVERYTHING)
        return reader.plain_tables.are_plain(table, columns, positions, reader, read)

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        if not all(prefix):
            return partition_names(columns, list(self.partition_values(table, prefix, None)))
        names: list[str] = []
        for many in self._keys(table, tuple(prefix), None):
            names += names_of(columns, many)
        return names

    def sorted_partition_names(self, wanted: WantedNames, at_once: int | None) -> Iterable[str]:
        table, columns, prefix, last = wanted
        names = None
        if all(prefix):
            stem = keys.of_table(keys.PARTITION, table)
            named = NamesAfter(stem, tuple(columns), tuple(prefix), last)
            names = named.in_order(self._keys_of(table), at_once or AT_ONCE)
        return wanted.read_at_once(self) if names is None else names

    def sorted_partitions(self, wanted: WantedNames) -> Iterator[bytes]:
        names = iter(self.sorted_partition_names(wanted, None))
        while some := list(islice(names, AT_ONCE)):
            yield from self.partitions(wanted.table, values_of_names(wanted.columns, some))

    def _keys_of(self, table: TableName) -> KeysOf:
        """Reads the keys of partitions in a range."""
        reader = self._of(table)
        state = reader.state(table)
        # Deleted partitions leave tombstones only as long as a load is open.
        return reader.view.keys if state and state.loads.open is None else reader.live_keys

    def _keys(
        self, table: TableName, prefix: Values, spans: Sequence[Span] | None
    ) -> Iterator[list[bytes]]:
        """The encoded values of partitions, as their keys contain them, in batches."""
        start_of_values = len(keys.of_table(keys.PARTITION, table))
        keys_of = self._keys_of(table)
        for start, end in _ranges(table, prefix, spans):
            some = keys_of(start, end, _AT_ONCE)
            while some:
                yield [key[start_of_values:] for key in some]
                is_last = len(some) < _AT_ONCE
                some = [] if is_last else keys_of(some[-1] + b"\0", end, _AT_ONCE)

    def existing_partitions(self, table: TableName, values: Sequence[Values]) -> list[Values]:
        stored = self._stored_partitions(table, values)
        return [own for own, value in zip(values, stored, strict=True) if value is not None]

    def partition(self, table: TableName, values: Values) -> bytes | None:
        value = entries.live(self._of(table).view.get(keys.partition(table, values)))
        return None if value is None else entries.data_of(value)

    def partitions(self, table: TableName, values: Sequence[Values]) -> Iterator[bytes]:
        for value in self._stored_partitions(table, values):
            if value is not None:
                yield entries.data_of(value)

    def _stored_partitions(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterator[bytes | None]:
        """Reads a few partitions at once, as they are asked for; None for a missing one."""
        view = self._of(table).view
        for first in range(0, len(values), _FEW):
            some = keys.partitions(table, values[first : first + _FEW])
            yield from map(entries.live, view.values(some))

    def table_statistics(self, table: TableName) -> list[ColumnFigures]:
        return [_figures(column) for column in self._of(table).table_statistics(table)]

    def partition_statistics(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterator[tuple[Values, list[ColumnFigures]]]:
        reader = self._of(table)
        for key_values in values:
            yield (
                key_values,
                [_figures(column) for column in reader.partition_statistics(table, key_values)],
            )

    def constraints(self, table: TableName) -> list[ConstraintColumns]:
        return [
            ConstraintColumns(constraint.kind, constraint.name, constraint.columns)
            for constraint in self._of(table).constraints(table)
        ]

    def database(self, db: DatabaseName) -> bytes | None:
        entry = self._reader_of(of_database(TargetKind.DATABASE, db)).database(db)
        return None if entry is None else entry.data

    def databases(self, catalog: str) -> Iterator[tuple[str, bytes]]:
        reader = self._reader_of(of_catalog(TargetKind.DATABASES, catalog))
        for name, entry in reader.databases(catalog):
            yield name, entry.data

    def functions(self, db: DatabaseName) -> Iterator[tuple[str, bytes]]:
        for name, entry in self._reader_of(of_database(TargetKind.FUNCTIONS, db)).functions(db):
            yield name, entry.data

    def _of(self, table: TableName) -> ShardReader:
        return self._reader_of(Target(TargetKind.TABLE, table))


class TableObjects(CachedObjects):
    """The objects of one table, all read from one snapshot, the table itself once."""

    def __init__(self, table: TableName, reader: ShardReader) -> None:
        super().__init__(_refuse)
        self._table = table
        self._reader = reader
        self._data = super().table(table)

    def table(self, name: TableName) -> bytes | None:
        assert name == self._table, f"{name} was not judged"
        return self._data

    def _of(self, table: TableName) -> ShardReader:
        assert table == self._table, f"{table} was not judged"
        return self._reader


def _refuse(target: Target) -> ShardReader:
    raise AssertionError(f"{target} was not judged")


def _ranges(
    table: TableName, prefix: Values, spans: Sequence[Span] | None
) -> Iterator[tuple[bytes, bytes]]:
    """The key ranges of partitions with this prefix or, if it is empty, within these spans."""
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
