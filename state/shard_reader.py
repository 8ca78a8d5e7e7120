"""Typed reads of a shard: decodes what its key space holds."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from hive.names import DatabaseName, TableName
from hive.write_ids.view import WriteIdView
from state import entries, keys, kv, shard_head, tables
from state.entries import Entry
from state.kv import View
from state.loads import Loads
from state.records.objects import ConstraintKind
from state.shard_head import ShardHead
from state.stored_values import constraint_columns, stored_name, stored_statistics
from state.tables import TableState
from state.write_id_pages import known_write_ids

_decode_loads = msgspec.msgpack.Decoder(Loads).decode


class ColumnStatistics(NamedTuple):
    """The statistics of one column, as one engine computed them."""

    engine: str
    column: str
    event: int
    write_id: int
    last_analyzed: int
    data: bytes
    """A ColumnStatisticsObj."""


class Constraint(NamedTuple):
    """A constraint and the structs of its columns."""

    kind: ConstraintKind
    name: str
    event: int
    columns: tuple[bytes, ...]


class NameLine(NamedTuple):
    """One line in a list of tables."""

    table: str
    event: int
    type: str
    owner: str | None
    comment: str | None
    owner_type: int
    """See `NameImage`."""


class ShardReader:
    """Reads one view of a shard and skips tombstones."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.head: ShardHead = shard_head.decode(view.get(keys.HEAD))

    def table_names(self) -> Iterator[TableName]:
        """The tables that the shard has a state of, in order."""
        for key, _ in kv.scan_prefix(self.view, keys.TABLE_STATE):
            yield keys.table_of(key)

    def database_names(self) -> Iterator[DatabaseName]:
        """The databases whose names the shard has a state of, in order."""
        for key, _ in kv.scan_prefix(self.view, keys.NAMES_LOADS):
            yield DatabaseName(*keys.split_texts(key[1:]))

    def catalogs(self) -> Iterator[str]:
        """The catalogs whose databases the shard has a state of, in order."""
        for key, _ in kv.scan_prefix(self.view, keys.CATALOG_LOADS):
            yield keys.split_texts(key[1:])[0]

    def state(self, table: TableName) -> TableState | None:
        value = self.view.get(keys.of_table(keys.TABLE_STATE, table))
        return None if value is None else tables.decode(value)

    def names_loads(self, db: DatabaseName) -> Loads | None:
        return self._loads(keys.of_database(keys.NAMES_LOADS, db))

    def databases_loads(self, catalog: str) -> Loads | None:
        return self._loads(keys.of_catalog(keys.CATALOG_LOADS, catalog))

    def write_ids(self, table: TableName) -> WriteIdView:
        return known_write_ids(self.view, table)

    def table(self, table: TableName) -> Entry | None:
        return self._entry(keys.of_table(keys.TABLE, table))

    def partition(self, table: TableName, values: tuple[str, ...]) -> Entry | None:
        return self._entry(keys.partition(table, values))

    def partitions(
        self, table: TableName, prefix: tuple[str, ...] = ()
    ) -> Iterator[tuple[tuple[str, ...], Entry]]:
        """The partitions with these first values, in the order of their values."""
        for key, entry in self._live(keys.partition(table, prefix)):
            yield keys.partition_values(key), entry

    def table_statistics(self, table: TableName) -> Iterator[ColumnStatistics]:
        for key, entry in self._live(keys.of_table(keys.TABLE_STATISTICS, table)):
            engine, column = keys.split_texts(key[1:])[3:]
            yield _statistics(engine, column, entry)

    def partition_statistics(
        self, table: TableName, values: tuple[str, ...]
    ) -> Iterator[ColumnStatistics]:
        for key, entry in self._live(keys.statistics_of_partition(table, values)):
            engine, column = keys.split_texts(key[1:])[-2:]
            yield _statistics(engine, column, entry)

    def all_partition_statistics(
        self, table: TableName
    ) -> Iterator[tuple[tuple[str, ...], ColumnStatistics]]:
        for key, entry in self._live(keys.of_table(keys.PARTITION_STATISTICS, table)):
            *values, engine, column = keys.split_texts(key[1:])[3:]
            yield tuple(values), _statistics(engine, column, entry)

    def constraints(self, table: TableName) -> Iterator[Constraint]:
        for key, entry in self._live(keys.of_table(keys.CONSTRAINT, table)):
            name = keys.split_texts(key[1:-1])[3]
            columns = constraint_columns(entry.data)
            yield Constraint(ConstraintKind(key[-1]), name, entry.event, columns)

    def names(self, db: DatabaseName) -> Iterator[NameLine]:
        for key, entry in self._live(keys.of_database(keys.NAME, db)):
            name = keys.split_texts(key[1:])[2]
            line = stored_name(entry.data)
            yield NameLine(name, entry.event, line.type, line.owner, line.comment, line.owner_type)

    def functions(self, db: DatabaseName) -> Iterator[tuple[str, Entry]]:
        for key, entry in self._live(keys.of_database(keys.FUNCTION, db)):
            yield keys.split_texts(key[1:])[2], entry

    def database(self, db: DatabaseName) -> Entry | None:
        return self._entry(keys.of_database(keys.DATABASE, db))

    def databases(self, catalog: str) -> Iterator[tuple[str, Entry]]:
        for key, entry in self._live(keys.of_catalog(keys.DATABASE, catalog)):
            yield keys.split_texts(key[1:])[1], entry

    def live_keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        """The first keys of a range, without tombstones."""
        scanned = self.view.scan(start, end)
        return list(islice((key for key, value in scanned if entries.is_live(value)), most))

    def _entry(self, key: bytes) -> Entry | None:
        value = entries.live(self.view.get(key))
        return None if value is None else entries.decode(value)

    def _live(self, prefix: bytes) -> Iterator[tuple[bytes, Entry]]:
        for key, value in kv.scan_prefix(self.view, prefix):
            if entries.is_live(value):
                yield key, entries.decode(value)

    def _loads(self, key: bytes) -> Loads | None:
        value = self.view.get(key)
        return None if value is None else _decode_loads(value)


def _statistics(engine: str, column: str, entry: Entry) -> ColumnStatistics:
    last_analyzed, data = stored_statistics(entry.data)
    return ColumnStatistics(engine, column, entry.event, entry.write_id, last_analyzed, data)
