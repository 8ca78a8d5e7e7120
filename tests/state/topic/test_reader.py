"""A reader of one partition, from a real broker."""

from typing import Any

from confluent_kafka import Consumer, Message

from state.topic import TopicReader
from tests.support.topics import TopicWriter, delete_topic, new_topic

RECORDS = 2_500
"""More than one batch brings."""


class Recorded:
    """Passes everything on to a consumer, and remembers how many messages it was to wait for."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.awaited: list[tuple[int, int]] = []

    def consume(self, count: int, timeout_s: float) -> list[Message]:
        messages = self._consumer.consume(count, timeout_s)
        self.awaited.append((count, len(messages)))
        return messages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def test_it_waits_for_no_more_records_than_there_are(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    writer = TopicWriter(topic)
    for shard in range(2):
        writer.write(shard, (b"%d" % number for number in range(RECORDS)))
    writer.flush()
    with TopicReader(topic) as reader:
        consumer = reader._consumer = Recorded(reader._consumer)  # type: ignore[assignment]
        for shard, end in ((0, RECORDS), (1, 10)):
            numbers = [int(r.value) for batch in reader.read(shard, 0, end) for r in batch]
            assert numbers == list(range(end))
    left = RECORDS + 10
    for count, came in consumer.awaited:
        assert count <= left
        left -= came
    assert left == 0
    delete_topic(kafka_broker, topic.name)
