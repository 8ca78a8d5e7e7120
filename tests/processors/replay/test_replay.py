"""Replays of a real broker's topic into real stores."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from hive.errors import TopicError, TrimmedTopicError, UnreadableRecordError
from processors.lost_records import record_mark
from processors.replay.replay import Progress, rebuild, replay
from processors.replay.skips import Skips
from state import digest
from state.records import AnyRecord, Change, encode
from state.shard_reader import ShardReader
from state.store import MemoryBudget, MemoryStore, Store, StorePosition
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicClient, TopicReader
from state.topic.reader import StoredRecord
from tests.support.folding import folded_into
from tests.support.kafka.topics import (
    TopicWriter,
    delete_before,
    log_records,
    new_topic,
    write,
)

SHARDS = 3
BUDGET = MemoryBudget(64 << 20)


def folded(records: list[AnyRecord]) -> MemoryStore:
    """What the fold alone makes of them, all in one batch."""
    store = MemoryStore()
    txn = store.transaction()
    fold = folded_into(txn, records)
    last = record_mark(encode(records[-1]))
    store.commit(txn, StorePosition(fold.epoch, fold.applied, len(records), record_mark=last))
    return store


@pytest.fixture(scope="module")
def records() -> dict[int, list[AnyRecord]]:
    return log_records("one-writer", SHARDS)


@pytest.fixture(scope="module")
def topic(kafka_broker: str, records: dict[int, list[AnyRecord]]) -> Topic:
    topic = new_topic(kafka_broker, SHARDS)
    write(topic, records)
    return topic


@pytest.fixture
def store(topic: Topic, tmp_path: Path) -> Iterator[Store]:
    path = tmp_path / "0"
    with Store(path, shard_identity(topic, 0), families=SHARD_FAMILIES, budget=BUDGET) as store:
        yield store


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_replay_is_what_the_fold_alone_makes(
    topic: Topic, records: dict[int, list[AnyRecord]], shard: int, tmp_path: Path
) -> None:
    position = rebuild(topic, shard, tmp_path / "new", BUDGET)
    assert position.offset == len(records[shard])
    expected = folded(records[shard]).snapshot()
    path = tmp_path / "new"
    with Store(path, shard_identity(topic, shard), families=SHARD_FAMILIES, budget=BUDGET) as store:
        assert store.position == position == expected.position
        assert digest.exact(store.snapshot()) == digest.exact(expected)


def test_it_goes_on_where_it_stopped(
    topic: Topic, records: dict[int, list[AnyRecord]], store: Store
) -> None:
    with TopicReader(topic) as reader:
        for end in (1, 7, 8, 200):
            assert replay(store, reader, end=end).offset == end
        assert replay(store, reader).offset == len(records[0])
        assert replay(store, reader).offset == len(records[0])
    assert digest.exact(store.snapshot()) == digest.exact(folded(records[0]).snapshot())


def test_it_stops_when_it_is_told(topic: Topic, store: Store) -> None:
    stop = Event()
    stop.set()
    with TopicReader(topic) as reader:
        assert replay(store, reader, stop=stop) == StorePosition()


def test_it_reports_how_far_it_is(topic: Topic, store: Store) -> None:
    reports: list[Progress] = []
    with TopicReader(topic) as reader:
        end = replay(store, reader, report=reports.append).offset
    assert reports[-1] == Progress(0, 0, end, end)
    assert [one.done for one in reports] == sorted(one.done for one in reports)


def test_a_store_that_lacks_what_the_topic_lost_begins_anew(
    kafka_broker: str, records: dict[int, list[AnyRecord]], tmp_path: Path
) -> None:
    topic, record = new_topic(kafka_broker, 1), records[1]
    write(topic, {0: record})
    identity = shard_identity(topic, 0)
    with (
        Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store,
        Store(tmp_path / "new", identity, families=SHARD_FAMILIES, budget=BUDGET) as new,
        TopicReader(topic) as reader,
    ):
        first = len(record) - 20
        replay(store, reader, end=first - 20)
        names = set(ShardReader(store.snapshot()).table_names())
        delete_before(topic, 0, first)
        assert replay(store, reader).offset == replay(new, reader).offset == len(record)
        shard = ShardReader(store.snapshot())
        next_record = record[first]
        assert isinstance(next_record, Change)
        assert shard.head.floor == next_record.after
        assert names - set(shard.table_names())
        assert digest.content(store.snapshot()) == digest.content(new.snapshot())


@pytest.mark.parametrize("is_last", [False, True])
def test_what_the_topic_lost_is_forgotten_though_no_record_tells_it(
    kafka_broker: str, records: dict[int, list[AnyRecord]], tmp_path: Path, is_last: bool
) -> None:
    """The next one can't be read, or there is none."""
    topic, end = new_topic(kafka_broker, 1), 200
    write(topic, {0: records[1][:end]})
    identity = shard_identity(topic, 0)
    with (
        Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store,
        TopicReader(topic) as reader,
    ):
        replay(store, reader, end=end - 1)
        assert list(ShardReader(store.snapshot()).table_names())
        delete_before(topic, 0, end)
        if is_last:
            replay(store, reader)
        else:
            writer = TopicWriter(topic)
            writer.write(0, [b"garbage"])
            writer.flush()
            with pytest.raises(UnreadableRecordError):
                replay(store, reader)
        assert store.position.offset == end
        assert not list(ShardReader(store.snapshot()).table_names())


@pytest.mark.parametrize("first", [5, -1], ids=["start", "everything"])
def test_a_trim_ends_a_rebuild(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """It comes between the look at the topic's bounds and the first read."""
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: [Change(0, event, event + 1) for event in range(10)]})
    read = TopicReader.read

    def trimmed(reader: TopicReader, *place: int) -> Iterator[list[StoredRecord]]:
        delete_before(topic, 0, first)
        return read(reader, *place)

    monkeypatch.setattr(TopicReader, "read", trimmed)
    with pytest.raises(TrimmedTopicError, match="shard 0 from offset 0 on"):
        rebuild(topic, 0, tmp_path / "new", BUDGET)


def test_a_store_ahead_of_the_topic_is_refused(topic: Topic, store: Store) -> None:
    with TopicReader(topic) as reader:
        end = replay(store, reader).offset
        txn = store.transaction()
        store.commit(txn, StorePosition(0, store.position.applied, end + 10))
        with pytest.raises(TopicError, match="was read before"):
            replay(store, reader, end=end + 20)


def test_a_topic_that_is_missing_is_named(kafka_broker: str) -> None:
    with pytest.raises(TopicError, match="there is no topic nowhere"):
        TopicClient(kafka_broker, "nowhere").describe()


def test_a_topic_made_anew_is_another(kafka_broker: str) -> None:
    assert new_topic(kafka_broker, 1).id != new_topic(kafka_broker, 1).id


def test_a_stop_ends_the_search_for_an_order(kafka_broker: str, tmp_path: Path) -> None:
    topic, stop = new_topic(kafka_broker, 1), Event()
    writer = TopicWriter(topic)
    writer.write(0, [encode(Change(0, 0, 1)), b"garbage"])
    writer.flush()

    class Stopped(Skips):
        def search(self, *_: object) -> bool:
            stop.set()
            return False

    identity = shard_identity(topic, 0)
    with (
        Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store,
        TopicReader(topic) as reader,
    ):
        assert replay(store, reader, stop=stop, skips=Stopped()).offset == 1
