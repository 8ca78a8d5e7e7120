"""A worker's shards as the server of reads sees them."""

from processors.worker import Worker
from query_api.shards import Shard
from state.records import Scope, ScopeKind
from state.records.objects import DatabaseName
from state.records.routing import home_shard, table_shard


class WorkerShards:
    """What the worker of this process holds, and where the rest is."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @property
    def count(self) -> int:
        """One while the topic isn't there yet: no shard is here then."""
        topic = self._worker.topic
        return 1 if topic is None else topic.partitions

    def shard(self, number: int) -> Shard | None:
        return self._worker.shards.get(number)

    def owner_url(self, number: int) -> str | None:
        """Where another worker answers for it; a request of ours must not come back to us."""
        address = self._worker.owners().get(number)
        if address is None or address == self._worker.settings.address:
            return None
        return f"http://{address}"

    def ask_for_load(self, scope: Scope, floor: int) -> None:
        number = self._shard_of(scope)
        if number is not None:
            self._worker.ask(number, scope, floor)

    def _shard_of(self, scope: Scope) -> int | None:
        match scope.kind:
            case ScopeKind.TABLE | ScopeKind.WRITE_IDS:
                return table_shard(scope.name, self.count)
            case ScopeKind.NAMES:
                return home_shard(DatabaseName(scope.name.catalog, scope.name.db), self.count)
            case ScopeKind.DATABASES:
                return min(self._worker.shards, default=None)
