"""A worker's shards as the HTTP and Thrift servers use them."""

from metatide.worker.epoch_watch import EpochWatch
from processors.worker.worker import Worker
from query_api.shards import Shard
from state.records import Scope


class WorkerShards:
    """The shards of this process, and the addresses of the others."""

    def __init__(
        self, worker: Worker, scheme: str = "http", watch: EpochWatch | None = None
    ) -> None:
        """Without a watch, the shards here alone tell the epoch."""
        self._worker = worker
        self._scheme = scheme
        self._watch = watch

    @property
    def count(self) -> int:
        """The number of shards; 1 while there is no topic, and therefore no shard here either."""
        topic = self._worker.topic
        return 1 if topic is None else topic.shards

    @property
    def epoch(self) -> int | None:
        epoch = 0 if self._watch is None else self._watch.epoch
        # A new topic begins with epoch 0.
        return 0 if epoch is None and self._worker.lacked_topic else epoch

    def shard(self, number: int) -> Shard | None:
        return self._worker.shards.get(number)

    def owner_url(self, number: int) -> str | None:
        """The URL of the other worker that holds this shard. It is never this worker's own, so that
        no request comes back.
        """
        address = self._worker.owner(number)
        if address is None or address == self._worker.settings.address:
            return None
        return f"{self._scheme}://{address}"

    def ask_for_load(self, shard: int, scope: Scope, floor: int) -> None:
        self._worker.ask(shard, scope, floor)
