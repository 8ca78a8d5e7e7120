"""The objects of the metastore's database in one snapshot."""

from collections.abc import Iterable, Iterator, Sequence

from hive.events.row import NotificationRow
from hive.filters.bounds import Span
from hive.filters.semantics import PartitionKey
from hive.names import (
    DEFAULT_PARTITION,
    DatabaseName,
    TableName,
    partition_name,
    partition_values,
    values_of_names,
)
from hive.reader import notification_log
from hive.reader import partitions as stored_partitions
from hive.reader.constraints import read_constraints
from hive.reader.databases import read_catalogs, read_databases, read_functions
from hive.reader.rows.partitions import StoredPartition
from hive.reader.rows.tables import StoredName, StoredTable
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.statistics import OF_PARTITIONS, OF_TABLES, stream_statistics
from hive.reader.tables import named, read_named_tables, stream_names, stream_names_of
from hive.reader.write_ids import read_txns, read_write_ids
from hive.write_ids.lists import WriteIdList
from hive.write_ids.snapshot import OPEN_TXN_TIMEOUT_MS, valid_write_ids
from query_api.objects import ColumnFigures, ConstraintColumns, Values, WantedNames
from state.records.objects import ConstraintKind
from state.shard_reader import NameLine

_NAMES_A_STATEMENT = 1000


class DatabaseObjects:
    """Objects of the database as canonical bytes. A table that several questions concern is read
    once.
    """

    def __init__(
        self, snapshot: DatabaseSnapshot, open_txn_timeout_ms: int = OPEN_TXN_TIMEOUT_MS
    ) -> None:
        self.snapshot = snapshot
        self._open_txn_timeout_ms = open_txn_timeout_ms
        self._tables: dict[TableName, StoredTable | None] = {}

    @property
    def event(self) -> int:
        """The last event whose effects this snapshot shows."""
        return self.snapshot.position

    def table(self, name: TableName) -> bytes | None:
        stored = self._table(name)
        return None if stored is None else stored.data

    def tables(self, names: Sequence[TableName]) -> list[bytes]:
        self._read_tables(names)
        return [data for name in names if (data := self.table(name)) is not None]

    def table_ids(self, names: Sequence[TableName]) -> dict[TableName, int]:
        """The ids of those of the tables that exist."""
        self._read_tables(names)
        return {name: stored.id for name in names if (stored := self._tables[name]) is not None}

    def names(self, db: DatabaseName) -> Iterator[NameLine]:
        for lines in stream_names(self.snapshot, *named(self.snapshot, db)):
            for line in lines:
                yield self._line(line)

    def names_of(self, catalog: str, databases: Sequence[str]) -> Iterator[tuple[str, NameLine]]:
        for start in range(0, len(databases), _NAMES_A_STATEMENT):
            some = databases[start : start + _NAMES_A_STATEMENT]
            for lines in stream_names_of(self.snapshot, catalog, some):
                for db, line in lines:
                    yield db, self._line(line)

    def partition_names(
        self, table: TableName, columns: Sequence[str], prefix: Sequence[str]
    ) -> list[str]:
        stored = self._table(table)
        return [] if stored is None else list(self._partition_names(stored, prefix))

    def sorted_partition_names(self, wanted: WantedNames, at_once: int | None) -> list[str]:
        return wanted.read_at_once(self)

    def sorted_partitions(self, wanted: WantedNames) -> list[bytes]:
        names = wanted.read_at_once(self)
        return self.partitions(wanted.table, values_of_names(wanted.columns, names))

    def partition_values(
        self, table: TableName, prefix: Sequence[str], spans: Sequence[Span] | None
    ) -> Iterator[Values]:
        stored = self._table(table)
        if stored is not None:
            # With a single span, its prefix saves listing all partitions.
            if spans is not None and len(spans) == 1 and not any(prefix):
                prefix = spans[0].prefix
            names = self._partition_names(stored, prefix)
            if spans is None:
                yield from map(partition_values, names)
            else:
                yield from self._compared_values(stored, names)

    def are_plain(
        self, _table: TableName, _columns: tuple[PartitionKey, ...], _positions: frozenset[int]
    ) -> bool:
        return False

    def existing_partitions(self, table: TableName, values: Sequence[Values]) -> list[Values]:
        stored = self._table(table)
        assert stored is not None
        existing: list[Values] = []
        name_column = self.snapshot.tables["PARTITIONS"].c.PART_NAME
        for names in self._by_name(stored, values):
            of_names = name_column.in_(names)
            read = set(stored_partitions.partition_names(self.snapshot, stored.id, of_names))
            existing += [own_values for name, own_values in names.items() if name in read]
        return existing

    def partition(self, table: TableName, values: Values) -> bytes | None:
        return next(iter(self.partitions(table, [values])), None)

    def partitions(self, table: TableName, values: Sequence[Values]) -> list[bytes]:
        return [partition.data for _, partition in self._stored_partitions(table, values)]

    def table_statistics(self, table: TableName) -> Iterator[ColumnFigures]:
        stored = self._table(table)
        if stored is not None:
            for rows in stream_statistics(self.snapshot, OF_TABLES, [stored.id]):
                for row in rows:
                    yield ColumnFigures(row.engine, row.column, row.last_analyzed, row.data)

    def partition_statistics(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterator[tuple[Values, list[ColumnFigures]]]:
        owners = {
            partition.id: own_values
            for own_values, partition in self._stored_partitions(table, values)
        }
        figures: dict[Values, list[ColumnFigures]] = {own: [] for own in owners.values()}
        if owners:
            for rows in stream_statistics(self.snapshot, OF_PARTITIONS, list(owners)):
                for row in rows:
                    column = ColumnFigures(row.engine, row.column, row.last_analyzed, row.data)
                    figures[owners[row.owner]].append(column)
        yield from figures.items()

    def constraints(self, table: TableName) -> Iterator[ConstraintColumns]:
        stored = self._table(table)
        if stored is not None:
            for constraint in read_constraints(self.snapshot, [stored.id]):
                if constraint.columns:
                    yield ConstraintColumns(
                        ConstraintKind(constraint.kind), constraint.name, constraint.columns
                    )

    def database(self, db: DatabaseName) -> bytes | None:
        columns = self.snapshot.tables["DBS"].c
        where = columns.CTLG_NAME == db.catalog, columns.NAME == db.db
        return next((database.data for database in read_databases(self.snapshot, *where)), None)

    def databases(self, catalog: str) -> Iterator[tuple[str, bytes]]:
        columns = self.snapshot.tables["DBS"].c
        for database in read_databases(self.snapshot, columns.CTLG_NAME == catalog):
            yield database.name.db, database.data

    def functions(self, db: DatabaseName) -> Iterator[tuple[str, bytes]]:
        for function in read_functions(self.snapshot, *named(self.snapshot, db)):
            yield function.name, function.data

    def catalogs(self) -> list[str]:
        return read_catalogs(self.snapshot)

    def recent_events(self, count: int) -> list[NotificationRow]:
        """The latest events, newest first, without their messages."""
        statement = notification_log.newest(self.snapshot.metadata, count)
        return [notification_log.row(*columns) for columns in self.snapshot.rows(statement)]

    def txns(self) -> WriteIdList:
        """The transactions that aren't committed, as a reader that begins now gets them."""
        return read_txns(self.snapshot, self._open_txn_timeout_ms)

    def valid_write_ids(
        self, tables: Sequence[TableName], txns: WriteIdList
    ) -> dict[TableName, WriteIdList]:
        """The write-id list of each table for a reader with this list of transactions."""
        return {
            name: valid_write_ids(txns, rows.given, rows.next, name.in_catalog)
            for name, rows in read_write_ids(self.snapshot, tables).items()
        }

    def _partition_names(self, table: StoredTable, prefix: Sequence[str]) -> list[str]:
        wanted = [value or None for value in prefix]
        conditions = stored_partitions.partition_values(self.snapshot, *wanted)
        return stored_partitions.partition_names(self.snapshot, table.id, *conditions)

    def _compared_values(self, table: StoredTable, names: Sequence[str]) -> Iterator[Values]:
        """The values in names as filters compare them, for which an empty one isn't missing."""
        empty: dict[str, set[int]] = {}
        if any(DEFAULT_PARTITION in name for name in names):
            empty = stored_partitions.empty_values(self.snapshot, table.id)
        for name in names:
            values, places = partition_values(name), empty.get(name, ())
            yield tuple("" if at in places else value for at, value in enumerate(values))

    def _line(self, name: StoredName) -> NameLine:
        return NameLine(
            name.table, self.event, name.type, name.owner, name.comment, name.owner_type
        )

    def _table(self, name: TableName) -> StoredTable | None:
        if name not in self._tables:
            self._read_tables([name])
        return self._tables[name]

    def _read_tables(self, names: Sequence[TableName]) -> None:
        wanted: dict[DatabaseName, list[str]] = {}
        for name in names:
            if name not in self._tables:
                self._tables[name] = None
                wanted.setdefault(name.database, []).append(name.table)
        for db, tables in wanted.items():
            for table in read_named_tables(self.snapshot, db, tables):
                self._tables[table.name] = table

    def _stored_partitions(
        self, table: TableName, values: Sequence[Values]
    ) -> Iterable[tuple[Values, StoredPartition]]:
        stored = self._table(table)
        if stored is None:
            return
        for names in self._by_name(stored, values):
            read = stored_partitions.read_named_partitions(self.snapshot, table, stored.id, names)
            by_name = {partition.name: partition for partition in read}
            for name, own_values in names.items():
                if name in by_name:
                    yield own_values, by_name[name]

    def _by_name(self, table: StoredTable, values: Sequence[Values]) -> Iterator[dict[str, Values]]:
        """The values by the names of their partitions, as many at a time as a statement takes."""
        keys = table.partition_keys
        fitting = [key_values for key_values in values if len(key_values) == len(keys)]
        for start in range(0, len(fitting), _NAMES_A_STATEMENT):
            yield {
                partition_name(keys, key_values): key_values
                for key_values in fitting[start : start + _NAMES_A_STATEMENT]
            }
