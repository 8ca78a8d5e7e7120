"""A sink that writes the records of loads to the events topic."""

from collections.abc import Callable

from connectors.publish import headers
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.sender import Sender
from state.records import AnyRecord, LoadBegin, LoadEnd, LoadRows, Reread, encode
from state.topic import Topic

BEGIN, ROWS, END, REREAD = "begin", "rows", "end", "reread"
"""The headers of a record of a load, which let loads be found without decoding."""

_WAITING_RECORDS_MAX = 64
"""Chunks are large; this bounds the memory that they take."""
_NAMES: dict[type, str] = {LoadBegin: BEGIN, LoadRows: ROWS, LoadEnd: END, Reread: REREAD}


class KafkaSink:
    """The sink of one thread, with its own producer; `sent` is called with the bytes of each
    record."""

    def __init__(
        self,
        topic: Topic,
        epoch: int,
        sent: Callable[[int], None],
        going_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._topic = topic
        self._epoch = epoch
        self._sent = sent
        self._sender = Sender(topic, going_on, waiting_max=_WAITING_RECORDS_MAX)

    @property
    def shards(self) -> int:
        return self._topic.shards

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        """Sends a record; waits while too many are unacknowledged."""
        value = encode(record)
        upto = record.hi if isinstance(record, LoadEnd) else 0
        written = headers.write(
            RecordHeaders(RecordKind.LOAD, self._epoch, upto, _NAMES[type(record)], row_hash)
        )
        self._sender.send(self._topic.name, shard, value, written)
        self._sender.serve()
        self._sent(len(value))

    def flush(self) -> None:
        """Returns when the brokers have acknowledged every record."""
        self._sender.flush()

    def close(self) -> None:
        """Drops unacknowledged records: their load never ends."""
        self._sender.close()
