"""Caches of a real metastore: what its log folds to, and what loads of its database add."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from connectors.loads.batch import find_database, load
from connectors.loads.rereads import reread
from connectors.log.sql_source import SqlSource
from connectors.publish.renames import Renames
from connectors.publish.routing import route
from hive.events.column_limits import decode_as_stored
from hive.names import TableName
from hive.reader.engines import unpooled_engine
from hive.write_ids.snapshot import OPEN_TXN_TIMEOUT_MS
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.requirement_defaults import Defaults
from query_api.thrift.methods import CachedMethods
from state.records import AnyRecord, Change, ScopeKind
from state.store import Store
from tests.connectors.loads.load_topic import Log, scopes
from tests.query_api.shards import MemoryShard, MemoryShards


class Cache:
    """Shards in memory that follow a metastore's database when they are told to."""

    def __init__(self, url: str, stores: Sequence[Store] = ()) -> None:
        self._shards = [MemoryShard(store=one) for one in stores] or [MemoryShard(), MemoryShard()]
        self.source = MemoryShards(*self._shards)
        self._engine = unpooled_engine(url)
        self._database = find_database(self._engine)
        self._log = Log(self._engine, self._database.version)
        self._renames = Renames()
        with closing(SqlSource(self._engine)) as source:
            self._limits = source.column_limits()
        self.current = 0

    @property
    def memory(self) -> list[MemoryShard]:
        return self._shards

    @property
    def shards(self) -> int:
        return len(self._shards)

    def follow(self) -> None:
        """Folds the events since the last time."""
        for row in self._log.after(self.current):
            event = decode_as_stored(row, self._limits)
            routed = route(self._renames.address(event), self.shards)
            for number, shard in enumerate(self._shards):
                actions = routed.get(number, ())
                shard.fold([Change(0, self.current, row.event_id, actions)])
            self.current = row.event_id

    def answer(self) -> None:
        """Brings what the fold has asked for."""
        for shard in self._shards:
            wished, shard.signals = shard.signals, set()
            objects = [scope for scope in wished if scope.kind is ScopeKind.OBJECTS]
            others = [scope for scope in wished if scope.kind is not ScopeKind.OBJECTS]
            if others:
                load(self._database, self, 0, others)
            wanted = {scope.name: _in_doubt(shard, scope.name) for scope in objects}
            reread(self._database, self, 0, wanted)
        self.follow()

    def load(self) -> None:
        """Loads all that there is, once the events before it are folded."""
        self.follow()
        load(self._database, self, 0, scopes(self._database))

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        self._shards[shard].fold([record])

    def flush(self) -> None:
        """A record is folded when it is sent."""

    def close(self) -> None:
        self._log.close()
        self._engine.dispose()


def _in_doubt(shard: MemoryShard, table: TableName) -> list[tuple[str, ...]]:
    state = shard.reader().state(table)
    return list(state.doubtful) if state else []


@contextmanager
def following(url: str, stores: Sequence[Store] = ()) -> Iterator[Cache]:
    """A cache that has folded nothing yet, in these stores or in memory."""
    cache = Cache(url, stores)
    try:
        yield cache
    finally:
        cache.close()


def methods(
    cache: Cache, primary: Primary, consistency: Consistency, warehouse: str
) -> CachedMethods:
    """What answers calls from a cache."""
    answering = CachedMethods(Backend(cache.source, primary), Defaults(consistency), warehouse)
    answering.set_open_txn_timeout(OPEN_TXN_TIMEOUT_MS)
    return answering
