"""Counts the objects of a shard by reading all of it."""

from collections import Counter
from pathlib import Path
from typing import Final

from msgspec import Struct

from processors.worker.disk_usage import bytes_below
from state import keys, kv
from state.shard_reader import ShardReader
from state.store import StoreSnapshot

OBJECTS: Final = {
    "databases": keys.DATABASE,
    "names": keys.NAME,
    "functions": keys.FUNCTION,
    "tables": keys.TABLE,
    "partitions": keys.PARTITION,
    "table_statistics": keys.TABLE_STATISTICS,
    "partition_statistics": keys.PARTITION_STATISTICS,
    "constraints": keys.CONSTRAINT,
    "write_id_pages": keys.WRITE_IDS,
}


class Objects(Struct, frozen=True):
    """The number of objects of one kind, and their mean size with their keys."""

    count: int
    mean_bytes: float


class ShardContent(Struct, frozen=True):
    """What the store of a shard holds: its warm and cold tables, and its objects by kind."""

    shard: int
    store_bytes: int
    tables_warm: int
    tables_cold: dict[str, int]
    """The number of cold tables for each reason."""
    objects: dict[str, Objects]


def shard_content(shard: int, snapshot: StoreSnapshot, path: Path) -> ShardContent:
    """Counts the objects of a shard; slow, because it reads every entry."""
    reader = ShardReader(snapshot)
    applied, floor = reader.head.applied, reader.head.floor
    warm, cold = 0, Counter[str]()
    for name in reader.table_names():
        state = reader.state(name)
        assert state is not None
        why = state.why_cold(applied, floor)
        if why is None:
            warm += 1
        else:
            cold[why] += 1
    objects = {name: _objects(snapshot, kind) for name, kind in OBJECTS.items()}
    return ShardContent(shard, bytes_below(path), warm, dict(cold), objects)


def _objects(snapshot: StoreSnapshot, kind: bytes) -> Objects:
    count = size = 0
    for key, value in kv.scan_prefix(snapshot, kind):
        count += 1
        size += len(key) + len(value)
    return Objects(count, round(size / count, 1) if count else 0.0)
