"""Where the records of a load go."""

from typing import Protocol

from state.records import AnyRecord


class Sink(Protocol):
    """The shards of a topic, for one thread."""

    @property
    def shards(self) -> int: ...

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        """Sends a record; the records of one shard keep their order. The end of a load comes with
        the hash of the row of the last event that the load has seen."""

    def flush(self) -> None:
        """Returns when all records are acknowledged; raises if they never will be."""
