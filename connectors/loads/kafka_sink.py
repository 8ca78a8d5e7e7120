"""Records of loads in the events topic."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException, Producer

from connectors import headers
from connectors.headers import Head, Kind
from connectors.kafka import Topic, reason
from hive.errors import PublishError
from state.records import AnyRecord, LoadBegin, LoadEnd, LoadRows, encode

WAITING_RECORDS_MAX = 64
"""How many may wait for the broker: chunks are large, and memory is bounded by this."""
BEGIN, ROWS, END = "begin", "rows", "end"
"""What a record of a load says in its headers, so that loads can be found without decoding."""

_POLL_S = 0.1
_NAMES: dict[type, str] = {LoadBegin: BEGIN, LoadRows: ROWS, LoadEnd: END}


class KafkaSink:
    """A producer of its own for each thread that loads; `sent` hears of the bytes of records."""

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
        self._going_on = going_on
        self._fault: str | None = None
        self._producer: Producer = topic.producer(self._failed)

    @property
    def shards(self) -> int:
        return self._topic.shards

    def send(self, shard: int, record: AnyRecord) -> None:
        """Waits while too many records are under way."""
        value = encode(record)
        written = headers.write(Head(Kind.LOAD, self._epoch, 0, _NAMES[type(record)]))
        while len(self._producer) >= WAITING_RECORDS_MAX:
            self._wait()
        try:
            self._producer.produce(self._topic.name, value, partition=shard, headers=written)
        except KafkaException as error:
            raise PublishError(f"{self._topic.name}, partition {shard}: {reason(error)}") from error
        self._producer.poll(0)
        self._sent(len(value))

    def flush(self) -> None:
        """Returns when the broker has everything."""
        while self._producer.flush(_POLL_S):
            self._raise_fault()
            if not self._going_on():
                raise Stopped
        self._raise_fault()

    def close(self) -> None:
        """Forgets what the broker hasn't got: its load never ends."""
        self._producer.purge()
        self._producer.flush(_POLL_S)

    def _wait(self) -> None:
        self._producer.poll(_POLL_S)
        self._raise_fault()
        if not self._going_on():
            raise Stopped

    def _failed(self, error: Any, _message: Any) -> None:
        self._fault = self._fault or str(error)

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise PublishError(f"the topic {self._topic.name} didn't take a record: {self._fault}")


class Stopped(Exception):  # noqa: N818
    """The loader was told to stop in the middle of a load."""
