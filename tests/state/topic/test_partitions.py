"""Several partitions read at once, from a real broker."""

from collections.abc import Iterator

import pytest

from hive.errors import TopicError
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader
from tests.support.topics import TopicWriter, delete_topic, new_topic

SHARDS = 3
RECORDS = 2_500
"""More than one batch brings."""


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
        pytest.raises(TopicError, match=r"away can't be read: nothing came for 0\.2 s"),
    ):
        list(reader.read({0: 0}, {0: 1}))
