"""Several partitions read at once, from a real broker."""

import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from confluent_kafka import KafkaError

from hive.errors import TopicError
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader
from tests.support.kafka.topics import TopicWriter, delete_topic, new_topic

SHARDS = 3
RECORDS = 2_500
"""More than one batch brings."""
LARGE = 5 << 20
"""More than a response of a broker may have otherwise."""
MIB = 1 << 20
_READS_ALL = """
import sys
from state.topic import TopicClient
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

def peak() -> int:
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) << 10

topic = TopicClient(*sys.argv[1:], {}).describe()
bounds = topic_bounds(topic)
# A process begins with the peak of the one that started it.
open("/proc/self/clear_refs", "w").write("5")
before = peak()
with PartitionsReader(topic) as reader:
    ends = {shard: end for shard, (_, end) in bounds.items()}
    number = sum(1 for _ in reader.read(dict.fromkeys(ends, 0), ends))
print(number, peak() - before)
"""


@pytest.fixture
def topic(kafka_broker: str) -> Iterator[Topic]:
    made = new_topic(kafka_broker, SHARDS)
    write(made, 0, range(RECORDS))
    write(made, 2, range(10))
    yield made
    delete_topic(kafka_broker, made.name)


def write(topic: Topic, shard: int, numbers: range) -> None:
    writer = TopicWriter(topic)
    writer.write(shard, (b"%d" % number for number in numbers))
    writer.flush()


def stretch(
    reader: PartitionsReader, starts: dict[int, int], ends: dict[int, int]
) -> dict[int, list[int]]:
    numbers: dict[int, list[int]] = {shard: [] for shard in starts}
    for message in reader.read(starts, ends):
        numbers[message.partition()].append(int(message.value()))
    return numbers


def test_stretches_are_read_to_their_ends_one_after_the_other(topic: Topic) -> None:
    ends = {shard: bounds.end for shard, bounds in topic_bounds(topic).items()}
    assert ends == {0: RECORDS, 1: 0, 2: 10}
    with PartitionsReader(topic) as reader:
        assert stretch(reader, dict.fromkeys(range(SHARDS), 0), ends) == {
            0: [*range(RECORDS)],
            1: [],
            2: [*range(10)],
        }
        assert stretch(reader, {0: 40, 2: 7}, {0: 50, 2: 10}) == {0: [*range(40, 50)], 2: [7, 8, 9]}
        assert stretch(reader, {1: 0, 2: 10}, ends) == {1: [], 2: []}


def test_a_record_is_read_that_is_larger_than_a_response(topic: Topic) -> None:
    writer = TopicWriter(topic)
    writer.write(1, [bytes(LARGE), b"7"])
    writer.flush()
    with PartitionsReader(topic) as reader:
        messages = list(reader.read({1: 0}, {1: 2}))
    assert [len(message.value()) for message in messages] == [LARGE, 1]


def test_inflated_records_of_all_shards_take_little_memory(kafka_broker: str) -> None:
    shards, of_each = 8, 160
    made = new_topic(kafka_broker, shards)
    writer = TopicWriter(made, compression="lz4")
    for _ in range(of_each):
        for shard in range(shards):
            writer.write(shard, [bytes(MIB // 4)])
    writer.flush()
    command = [sys.executable, "-c", _READS_ALL, made.servers, made.name]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    number, grown = map(int, printed.split())
    delete_topic(kafka_broker, made.name)
    assert number == shards * of_each
    assert grown < 240 * MIB, f"{number // 4} MiB take {grown // MIB} MiB"


def test_what_comes_later_is_read_as_it_arrives(topic: Topic) -> None:
    with PartitionsReader(topic) as reader:
        reader.begin({0: RECORDS, 1: 0})
        assert not list(reader.arrived(0.1))
        write(topic, 1, range(3))
        numbers: list[int] = []
        while len(numbers) < 3:
            numbers += [int(message.value()) for message in reader.arrived(0.1)]
        assert numbers == [0, 1, 2]


def test_brokers_that_send_nothing_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.topic.silence.SILENCE_S_MAX", 0.2)
    away = Topic("127.0.0.1:1", "away", 1)
    with (
        PartitionsReader(away) as reader,
        pytest.raises(
            TopicError, match=r"away can't be read: nothing came for 0\.2 s from 127\.0\.0\.1:1;"
        ),
    ):
        list(reader.read({0: 0}, {0: 1}))


def test_a_partition_ends_where_a_record_from_beyond_comes_and_a_fault_is_an_error() -> None:
    def message(offset: int, error: KafkaError | None = None) -> Mock:
        return Mock(
            partition=lambda: 0, offset=lambda: offset, error=lambda: error, value=lambda: b""
        )

    with PartitionsReader(Topic("127.0.0.1:1", "topic", 1, {}, "id")) as reader:
        own = reader._consumer
        reader._consumer = consumer = Mock()
        # What is in between was deleted.
        consumer.consume.side_effect = [[message(0)], [message(7)]]
        assert [each.offset() for each in reader.read({0: 0}, {0: 5})] == [0]
        fault = message(0, KafkaError(KafkaError._AUTHENTICATION))
        consumer.consume.side_effect = [[fault], []]
        with pytest.raises(TopicError, match="partition 0 of topic can't be read"):
            list(reader.read({0: 0}, {0: 5}))
        reader._consumer = own
