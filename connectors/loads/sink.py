"""Where the records of a load go."""

from collections.abc import Iterable
from typing import Protocol

from hive.names import DatabaseName
from state.records import AnyRecord, Scope, ScopeKind
from state.records.routing import home_shard, table_shard


class Sink(Protocol):
    """The shards of a topic, for one thread."""

    @property
    def shards(self) -> int: ...

    def send(self, shard: int, record: AnyRecord) -> None:
        """Sends a record; the records of one shard keep their order."""

    def flush(self) -> None:
        """Returns when all records are acknowledged; raises if that will never be."""


def shards_of(scope: Scope, shards: int) -> Iterable[int]:
    """The shards that the records of a scope go to."""
    name = scope.name
    match scope.kind:
        case ScopeKind.TABLE | ScopeKind.WRITE_IDS | ScopeKind.OBJECTS:
            return (table_shard(name, shards),)
        case ScopeKind.NAMES:
            return (home_shard(DatabaseName(name.catalog, name.db), shards),)
        case ScopeKind.DATABASES:
            return range(shards)
