"""Two digests of a shard: of its bytes, and of what its readers can see.

The exact digest is equal where the same records were folded. The content digest is equal for states
that came about in different ways (live, replayed, loaded): it leaves out event ids, floors,
tombstones, write-id maps and constraints, and is compared only where both sides are warm. A
constraint can disappear without an event when another of the same name is dropped elsewhere. Only a
load shows that, so constraints are read under `any` alone.
"""

from collections.abc import Iterable
from hashlib import blake2b

from hive.names import DatabaseName, TableName
from state import kv
from state.keys import KINDS
from state.kv import View
from state.loads import Loads
from state.shard_reader import ShardReader
from state.tables import TableState

_SIZE_BYTES = 16


def exact(view: View) -> str:
    """The digest of every key and value."""
    digest = blake2b(digest_size=_SIZE_BYTES)
    for kind in KINDS:
        for key, value in kv.scan_prefix(view, kind):
            _add(digest, key, value)
    return digest.hexdigest()


def content(view: View) -> dict[str, str | None]:
    """The digests of each table, each database's names and each catalog's databases; None for what
    is cold."""
    reader = ShardReader(view)
    digests: dict[str, str | None] = {}
    for catalog in reader.catalogs():
        loads = reader.databases_loads(catalog)
        digests[f"databases {catalog}"] = _if_warm(reader, loads, _databases(reader, catalog))
    for db in reader.database_names():
        loads = reader.names_loads(db)
        digests[f"names {db.catalog}.{db.db}"] = _if_warm(reader, loads, _names(reader, db))
    for table in reader.table_names():
        state = reader.state(table)
        assert state is not None
        cold = state.cold(reader.head.applied, reader.head.floor)
        digests[f"table {table}"] = None if cold else _digest(_table(reader, table, state))
    return digests


def _if_warm(reader: ShardReader, loads: Loads | None, parts: Iterable[bytes]) -> str | None:
    assert loads is not None
    if loads.cold(reader.head.applied, reader.head.floor) is not None:
        return None
    return _digest(parts)


def _digest(parts: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=_SIZE_BYTES)
    _add(digest, *parts)
    return digest.hexdigest()


def _databases(reader: ShardReader, catalog: str) -> Iterable[bytes]:
    for db, entry in reader.databases(catalog):
        yield from (db.encode(), entry.data)


def _names(reader: ShardReader, db: DatabaseName) -> Iterable[bytes]:
    for line in reader.names(db):
        yield from (line.table.encode(), line.type.encode(), b"%d" % line.owner_type)
        for text in (line.owner, line.comment):
            yield b"-" if text is None else b"+" + text.encode()
    yield b"functions"
    for function, entry in reader.functions(db):
        yield from (function.encode(), entry.data)


def _table(reader: ShardReader, table: TableName, state: TableState) -> Iterable[bytes]:
    entry = reader.table(table)
    yield b"-" if entry is None else b"+" + entry.data
    for values, partition in reader.partitions(table):
        yield from (*(value.encode() for value in values), partition.data)
    if state.statistics_cold(reader.head.applied, reader.head.floor) is not None:
        yield b"statistics unknown"
        return
    for column in reader.table_statistics(table):
        yield from (column.engine.encode(), column.column.encode(), column.data)
    for values, column in reader.all_partition_statistics(table):
        yield from (value.encode() for value in values)
        yield from (column.engine.encode(), column.column.encode(), column.data)


def _add(digest: blake2b, *parts: bytes) -> None:
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
