"""Single objects of tables, read again after events that left them in doubt."""

from collections.abc import Iterable, Iterator, Sequence

from connectors.loads import images
from connectors.loads.batch import Database
from connectors.loads.chunks import CHUNK_BYTES_MAX, ITEM_BYTES
from connectors.loads.sink import Sink, shards_of
from hive.names import partition_name
from hive.reader.partitions import read_partitions
from hive.reader.rows.tables import StoredTable
from hive.reader.snapshot import Snapshot, open_snapshot
from hive.reader.tables import named, read_tables
from state.records import Reread, Rows, Scope
from state.records.objects import PartitionImage

Values = tuple[str, ...]


def reread(database: Database, sink: Sink, epoch: int, scopes: Sequence[Scope]) -> int:
    """Reads the objects of several tables in one snapshot; returns the event that it is of."""
    with open_snapshot(database.engine, database.version) as snapshot:
        records = [record for scope in scopes for record in _read(snapshot, epoch, scope)]
        position = snapshot.position
    for scope, record in records:
        for shard in shards_of(scope, sink.shards):
            sink.send(shard, record)
    sink.flush()
    return position


def _read(snapshot: Snapshot, epoch: int, scope: Scope) -> Iterator[tuple[Scope, Reread]]:
    name = scope.name
    tables = read_tables(snapshot, *named(snapshot, name.catalog, name.db, name.table))
    table = tables[0] if tables else None
    at, table_id = snapshot.position, 0 if table is None else table.id
    if () in scope.objects:
        rows = Rows(tables=tuple(map(images.table_image, tables)))
        yield scope, Reread(epoch, name, at, table_id, ((),), rows)
    values = [values for values in scope.objects if values]
    found = {} if table is None else _partitions(snapshot, table, values)
    for some in _chunks(values, found):
        partitions = tuple(found[one] for one in some if one in found)
        yield scope, Reread(epoch, name, at, table_id, some, Rows(partitions=partitions))


def _partitions(
    snapshot: Snapshot, table: StoredTable, wanted: Iterable[Values]
) -> dict[Values, PartitionImage]:
    names = {
        partition_name(table.partition_keys, values): values
        for values in wanted
        if len(values) == len(table.partition_keys)
    }
    if not names:
        return {}
    of_names = snapshot.tables["PARTITIONS"].c.PART_NAME.in_(list(names))
    stored = read_partitions(snapshot, table.name, table.id, of_names)
    return {
        names[partition_name(table.partition_keys, one.values)]: images.partition_image(one)
        for one in stored
    }


def _chunks(
    values: Sequence[Values], partitions: dict[Values, PartitionImage]
) -> Iterator[tuple[Values, ...]]:
    """The values of partitions that fit into one record together."""
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
