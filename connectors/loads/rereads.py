"""Reads single objects of tables again after events that left them in doubt."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from connectors.loads import images
from connectors.loads.batch import Database
from connectors.loads.chunks import CHUNK_BYTES_MAX, ITEM_BYTES
from connectors.loads.end_gate import EndGate
from connectors.loads.sink import Sink
from hive.names import TableName, partition_name
from hive.reader.partitions import read_named_partitions
from hive.reader.rows.tables import StoredTable
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.reader.tables import read_named_tables
from state.records import Reread, Rows
from state.records.objects import PartitionImage
from state.records.routing import table_shard

Values = tuple[str, ...]


TABLES_MAX: Final = 10_000
OBJECTS_MAX: Final = 1_000
"""The most tables, and the most objects of each, that wait; whoever misses one asks again."""


class RequestedObjects:
    """The requested objects by table; several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._objects: dict[TableName, set[Values]] = {}

    def add(self, table: TableName, objects: Iterable[Values]) -> None:
        """Notes requested objects, as far as there is room for them."""
        with self._lock:
            if table not in self._objects and len(self._objects) >= TABLES_MAX:
                return
            waiting = self._objects.setdefault(table, set())
            waiting.update(islice(objects, OBJECTS_MAX - len(waiting)))

    def take(self, table: TableName) -> list[Values]:
        """Removes and returns the objects requested since the last call, sorted."""
        with self._lock:
            return sorted(self._objects.pop(table, ()))


def reread(
    database: Database,
    sink: Sink,
    epoch: int,
    wanted: Mapping[TableName, Sequence[Values]],
    gate: EndGate | None = None,
) -> int:
    """Reads objects of several tables in one snapshot, sends them when the gate lets them, and
    returns the snapshot's position."""
    with open_snapshot(database.engine, database.version) as snapshot:
        records = [
            record
            for name, objects in wanted.items()
            for record in _read(snapshot, epoch, name, objects)
        ]
        position = snapshot.position
        if gate is not None:
            gate.see(snapshot)
    if gate is not None:
        gate.wait()
    for record in records:
        sink.send(table_shard(record.table, sink.shards), record)
    sink.flush()
    return position


def _read(
    snapshot: DatabaseSnapshot, epoch: int, name: TableName, objects: Sequence[Values]
) -> Iterator[Reread]:
    tables = read_named_tables(snapshot, name.database, [name.table])
    table = tables[0] if tables else None
    at, table_id = snapshot.position, 0 if table is None else table.id
    if () in objects:
        rows = Rows(tables=tuple(map(images.table_image, tables)))
        yield Reread(epoch, name, at, table_id, ((),), rows)
    values = [values for values in objects if values]
    stored = {} if table is None else _partitions(snapshot, table, values)
    for chunk in _chunks(values, stored):
        partitions = tuple(stored[key] for key in chunk if key in stored)
        yield Reread(epoch, name, at, table_id, chunk, Rows(partitions=partitions))


def _partitions(
    snapshot: DatabaseSnapshot, table: StoredTable, wanted: Iterable[Values]
) -> dict[Values, PartitionImage]:
    names = {
        partition_name(table.partition_keys, values): values
        for values in wanted
        if len(values) == len(table.partition_keys)
    }
    if not names:
        return {}
    stored = read_named_partitions(snapshot, table.name, table.id, names)
    return {
        names[partition_name(table.partition_keys, row.values)]: images.partition_image(row)
        for row in stored
    }


def _chunks(
    values: Sequence[Values], partitions: dict[Values, PartitionImage]
) -> Iterator[tuple[Values, ...]]:
    """Groups the values of partitions so that the rows of each group fit into one record."""
    chunk: list[Values] = []
    size = 0
    for each in values:
        row = partitions.get(each)
        row_bytes = ITEM_BYTES + (0 if row is None else len(row.data))
        if chunk and size + row_bytes > CHUNK_BYTES_MAX:
            yield tuple(chunk)
            chunk, size = [], 0
        chunk.append(each)
        size += row_bytes
    if chunk:
        yield tuple(chunk)
