"""The topic of a toy deployment, and the connectors that publish into it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from connectors.publish.routing import route
from state.records import AnyRecord, Change, Reset
from state.records.actions import AnyAction, PutPartitions
from tests.model.metastore import History, Metastore

SHARDS = 3


@dataclass
class Topic:
    """What has been published, shard by shard; `deliver` is told of each record."""

    deliver: Callable[[int, AnyRecord], None]
    shards: list[list[AnyRecord]] = field(default_factory=lambda: [[] for _ in range(SHARDS)])
    tails: list[int] = field(default_factory=lambda: [0] * SHARDS)
    """Up to where each shard is complete in the newest epoch."""
    histories: list[int] = field(default_factory=lambda: [0])
    """Which history of the metastore each epoch of the topic is."""

    @property
    def epoch(self) -> int:
        return len(self.histories) - 1

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        if isinstance(record, Change) and record.epoch == self.epoch and _is_last(record):
            self.tails[shard] = max(self.tails[shard], record.upto)
        self.shards[shard].append(record)
        self.deliver(shard, record)

    def reset(self, history: int, at: int) -> None:
        """A connector has noticed that the database was restored; another may have before."""
        if self.histories[-1] != history:
            self.histories.append(history)
            self.tails = [at] * SHARDS
        for shard in range(SHARDS):
            self.send(shard, Reset(self.epoch, at))


class Publisher:
    """A connector that follows the log. Several may run, each as far as it is."""

    def __init__(self, store: Metastore, topic: Topic) -> None:
        self._store = store
        self._topic = topic
        self._epoch = 0
        self._cursor = 0
        """What it has read of the log."""
        self._after = [0] * SHARDS
        """What it has published for each shard."""

    def resume(self) -> None:
        """It starts anew, from the lowest of the shards' tails."""
        self._epoch = self._topic.epoch
        self._after = list(self._topic.tails)
        self._cursor = min(self._after)

    def publish(self, count: int, *, blind: bool = False, records_max: int = 1000) -> None:
        """Publishes some events; after so many records it is killed and started again. Blind, it
        looks neither at the metastore's epoch nor at that of others."""
        if not blind:
            self._follow()
        history = self._history
        for _ in range(count):
            self._skip_cleaned(history)
            event = history.log.get(self._cursor + 1)
            if event is None:
                return
            for shard, actions in route(event.addressed, SHARDS).items():
                if self._after[shard] >= event.id:
                    continue
                for record in _parts(self._change(shard, event.id, actions)):
                    if not records_max:
                        self.resume()
                        return
                    records_max -= 1
                    self._topic.send(shard, record)
                self._after[shard] = event.id
            self._cursor = event.id

    def progress(self) -> None:
        """Tells the shards that were left behind how far the log is."""
        for shard in range(SHARDS):
            if self._after[shard] < self._cursor:
                self._topic.send(shard, self._change(shard, self._cursor, ()))
                self._after[shard] = self._cursor

    @property
    def _history(self) -> History:
        return self._store.histories[self._topic.histories[self._epoch]]

    def _follow(self) -> None:
        if self._epoch < self._topic.epoch:
            self.resume()
        if self._topic.histories[self._epoch] != self._store.epoch:
            at = self._store.now.event
            self._topic.reset(self._store.epoch, at)
            self._epoch, self._cursor, self._after = self._topic.epoch, at, [at] * SHARDS

    def _skip_cleaned(self, history: History) -> None:
        oldest = self._store.retained_from - 1
        if history is self._store.history and self._cursor < oldest:
            self._cursor = oldest
            self._after = [max(after, oldest) for after in self._after]

    def _change(self, shard: int, upto: int, actions: tuple[AnyAction, ...]) -> Change:
        return Change(self._epoch, self._after[shard], upto, actions)


def _is_last(record: Change) -> bool:
    return record.part == record.parts - 1


def _parts(change: Change) -> list[Change]:
    """Every other event of several partitions comes in parts, always in the same."""
    pieces: list[AnyAction] = []
    for action in change.actions:
        if isinstance(action, PutPartitions) and change.upto % 2:
            pieces += [msgspec.structs.replace(action, partitions=(p,)) for p in action.partitions]
        else:
            pieces.append(action)
    if len(pieces) < 2 or not change.upto % 2:
        return [change]
    return [
        msgspec.structs.replace(change, actions=(piece,), part=part, parts=len(pieces))
        for part, piece in enumerate(pieces)
    ]
