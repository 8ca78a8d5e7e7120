"""Topics that have lost records, and others in their place."""

from collections.abc import Iterator

import msgspec
import pytest

from processors.applier import Applier
from processors.lost_records import has_records_of, record_mark
from state.records import encode
from state.store import MemoryStore, StorePosition, metadata
from state.topic import Topic, TopicReader
from tests.support.histories import OTHERS, RECORDS
from tests.support.kafka.topics import delete_before, new_topic, write


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: OTHERS})
    return topic


@pytest.fixture
def reader(topic: Topic) -> Iterator[TopicReader]:
    with TopicReader(topic) as reader:
        yield reader


def folded(values: list[bytes]) -> MemoryStore:
    store = MemoryStore()
    applier = Applier(store)
    for offset, value in enumerate(values):
        applier.add(offset, value)
    applier.commit()
    return store


@pytest.mark.parametrize("count", [0, 1, 10, 11, 20])
def test_the_last_record_tells_histories_apart(reader: TopicReader, count: int) -> None:
    same, other = (folded([*map(encode, records[:count])]) for records in (OTHERS, RECORDS))
    assert has_records_of(reader, 0, same.position)
    assert has_records_of(reader, 0, other.position) == (count <= 10)


def test_what_is_beyond_the_end_is_lost(reader: TopicReader) -> None:
    end = len(OTHERS)
    assert has_records_of(reader, 0, StorePosition(0, 0, end))
    assert not has_records_of(reader, 0, StorePosition(0, 0, end + 1))


def test_what_was_deleted_or_is_not_known_can_be_any(topic: Topic, reader: TopicReader) -> None:
    assert has_records_of(reader, 0, StorePosition(0, 0, 12))
    delete_before(topic, 0, 12)
    for offset, fits in ((11, True), (12, True), (13, False)):
        assert has_records_of(reader, 0, StorePosition(0, 0, offset, 0, record_mark(b"x"))) == fits


def test_a_record_that_is_passed_over_is_not_known() -> None:
    store = folded([encode(RECORDS[0])])
    assert store.position.record_mark
    applier = Applier(store)
    applier.skip()
    applier.commit()
    assert store.position.record_mark == 0


def test_stores_and_images_of_before_do_not_know_their_last_record() -> None:
    before = [0, 7, 12, 99]
    assert metadata.decode_position(msgspec.msgpack.encode(before)) == StorePosition(*before)
    assert msgspec.json.decode(msgspec.json.encode(before), type=StorePosition).record_mark == 0
