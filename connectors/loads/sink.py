"""Where the records of a load go."""

from typing import Protocol

from state.records import AnyRecord


class Sink(Protocol):
    """The shards of a topic, for one thread."""

    @property
    def shards(self) -> int: ...

    def send(self, shard: int, record: AnyRecord) -> None:
        """Sends a record; the records of one shard keep their order."""

    def flush(self) -> None:
        """Returns when all records are acknowledged; raises if they never will be."""
