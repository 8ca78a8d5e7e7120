"""Finds the shard of a table or database by its name, with Kafka's own Java partitioner."""

from collections.abc import Sequence
from functools import lru_cache

from hive.names import DatabaseName, TableName
from state.records.envelopes import Scope, ScopeKind

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, as an unsigned 32-bit number."""
    length = len(data)
    value = (_SEED ^ length) & _MASK
    whole = length & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if whole < length:
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15


def kafka_partition(key: bytes, partitions: int) -> int:
    """The partition that Kafka's default partitioner chooses for a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


@lru_cache(maxsize=65_536)
def table_shard(table: TableName, shards: int) -> int:
    """The shard that holds a table."""
    return kafka_partition(str(table).encode(), shards)


@lru_cache(maxsize=65_536)
def home_shard(db: DatabaseName, shards: int) -> int:
    """The shard that holds the names and the functions of a database."""
    return kafka_partition(str(db).encode(), shards)


def shards_of(scope: Scope, shards: int) -> Sequence[int]:
    """The shards that hold a scope, in ascending order: every shard holds all databases."""
    match scope.kind:
        case ScopeKind.TABLE | ScopeKind.WRITE_IDS | ScopeKind.OBJECTS:
            return (table_shard(scope.name, shards),)
        case ScopeKind.NAMES:
            return (home_shard(scope.name.database, shards),)
        case ScopeKind.DATABASES:
            return range(shards)
