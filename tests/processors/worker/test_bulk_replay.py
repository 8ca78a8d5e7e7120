"""What a worker's threads for catching up do while there is nothing to catch up with."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from hive.errors import OtherStoreError
from hive.names import DatabaseName
from processors.replay.bulk_replay import THREADS, Bulk
from processors.replay.replay import replay
from processors.replay.skips import Skips
from state.records import Change, encode
from state.records.actions import PutFunction
from state.records.objects import FunctionImage
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic, TopicReader
from state.topic.reader import StoredRecord
from tests.processors.worker.in_process import PATIENCE_S, until
from tests.support.histories import OTHERS, RECORDS, fold
from tests.support.kafka.topics import TopicWriter, delete_before, delete_topic, new_topic, write

BUDGET = MemoryBudget(64 << 20)


async def test_its_readers_fetch_nothing_between_two_stretches(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    writer = TopicWriter(topic)
    writer.write(0, [b"1", b"2"])
    writer.flush()
    bulk = Bulk(topic)
    readers: list[TopicReader] = []

    def read() -> list[bytes]:
        readers.append(reader := bulk.reader())
        values: list[bytes] = []
        for batch in reader.read(0, 0, 2):
            values += [record.value for record in batch]
            assert reader._consumer.assignment()
        return values

    for _ in range(2):
        assert await bulk.run(read, Event()) == [b"1", b"2"]
        assert not any(reader._consumer.assignment() for reader in readers)
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_what_no_thread_has_begun_ends_at_once_when_it_is_stopped() -> None:
    bulk, may_end, begun = Bulk(Topic("127.0.0.1:1", "topic", 1, {}, "id")), Event(), list[int]()

    def work(number: int) -> None:
        begun.append(number)
        may_end.wait()

    stops = [Event() for _ in range(THREADS + 1)]
    tasks = [
        asyncio.create_task(bulk.run(partial(work, number), stop))
        for number, stop in enumerate(stops)
    ]
    await until(lambda: len(begun) == THREADS)
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert done == {tasks[-1]}
    assert all(stop.is_set() for stop in stops)
    may_end.set()
    await asyncio.wait(tasks)
    assert sorted(begun) == list(range(THREADS))
    bulk.close()


async def test_a_stretch_ends_after_a_while(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of its records."""
    monkeypatch.setattr("processors.replay.bulk_replay.STRETCH_S", 0.0)
    count = 250
    topic = new_topic(kafka_broker, 1)
    writer = TopicWriter(topic)
    writer.write(0, [encode(Change(0, event, event + 1)) for event in range(count)])
    writer.flush()
    bulk, identity, offsets = Bulk(topic), shard_identity(topic, 0), [0]
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        while not await bulk.catch_up(store, Skips(), Event(), lambda: None):
            offsets.append(store.position.offset)
        assert store.position.offset == count
    assert len(offsets) > 1
    assert offsets == sorted(set(offsets)), "each brings some records"
    bulk.close()
    delete_topic(kafka_broker, topic.name)


def _put_function(event: int, data: bytes) -> bytes:
    db = DatabaseName("hive", "db")
    action = PutFunction(db, FunctionImage(f"function_{event}", data))
    return encode(Change(0, event, event + 1, actions=(action,)))


async def test_a_store_keeps_little_in_memory_after_a_stretch(
    kafka_broker: str, tmp_path: Path
) -> None:
    """Or the others would lack it."""
    count, data = 100, bytes(20_000)
    topic = new_topic(kafka_broker, 1)
    writer = TopicWriter(topic)
    bulk, identity, sizes = Bulk(topic), shard_identity(topic, 0), list[int]()
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        for first, last in ((0, count), (count, count + 1)):
            writer.write(0, [_put_function(event, data) for event in range(first, last)])
            writer.flush()
            while not await bulk.catch_up(store, Skips(), Event(), lambda: None):
                pass
            sizes.append(store.unflushed_bytes)
        assert store.position.offset == count + 1
    flushed, small = sizes
    assert flushed < len(data) < small, "a flush costs more than to keep a little"
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_a_shard_for_which_nothing_comes_lets_another_fold(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, waits, may_come = new_topic(kafka_broker, 2), Event(), Event()
    write(topic, {shard: [Change(0, 0, 1)] for shard in range(2)})
    bulk, whole = Bulk(topic), TopicReader.read

    def read(reader: TopicReader, shard: int, start: int, end: int) -> Iterator[list[StoredRecord]]:
        while shard == 0 and not may_come.wait(0.01):
            yield []
            waits.set()
        yield from whole(reader, shard, start, end)

    async def catch_up(shard: int) -> int:
        path, identity = tmp_path / str(shard), shard_identity(topic, shard)
        with Store(path, identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
            assert await bulk.catch_up(store, Skips(), Event(), lambda: None)
            return store.position.offset

    monkeypatch.setattr(TopicReader, "read", read)
    waiting = asyncio.create_task(catch_up(0))
    await until(waits.is_set)
    async with asyncio.timeout(PATIENCE_S):
        assert await catch_up(1) == 1
    may_come.set()
    assert await waiting == 1
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_freed_memory_is_given_back_between_stretches(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While other shards catch up, too, for which it would grow."""
    given_back: list[None] = []
    monkeypatch.setattr("processors.replay.bulk_replay.STRETCH_S", 0.0)
    monkeypatch.setattr(
        "processors.replay.bulk_replay.give_back_freed_memory", lambda: given_back.append(None)
    )
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: [Change(0, event, event + 1) for event in range(250)]})
    bulk, identity, other = Bulk(topic), shard_identity(topic, 0), Event()
    other_shard = asyncio.create_task(bulk.run(other.wait, Event()))
    stretches = 1
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        while not await bulk.catch_up(store, Skips(), Event(), lambda: None):
            assert len(given_back) == stretches
            stretches += 1
    assert len(given_back) == stretches - 1 > 0, "the last is followed by the end of all"
    other.set()
    await other_shard
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_images_that_are_fetched_leave_threads_to_the_others() -> None:
    bulk, may_end, begun = Bulk(Topic("127.0.0.1:1", "topic", 1, {}, "id")), Event(), list[int]()

    def fetch() -> None:
        begun.append(1)
        may_end.wait()

    fetching = [asyncio.create_task(bulk.restore(fetch, Event())) for _ in range(THREADS)]
    await until(lambda: len(begun) == THREADS)
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert await bulk.run(lambda: "caught up", Event()) == "caught up"
    finally:
        may_end.set()
        await asyncio.gather(*fetching)
    bulk.close()


async def test_closing_ends_what_is_under_way() -> None:
    bulk, stop, begun = Bulk(Topic("127.0.0.1:1", "topic", 1, {}, "id")), Event(), Event()

    def prune() -> bool:
        begun.set()
        return stop.wait(PATIENCE_S / 4)

    pruning = asyncio.create_task(bulk.restore(prune, stop))
    await until(begun.is_set)
    await asyncio.to_thread(bulk.close)
    assert await pruning


async def test_a_topic_without_records_has_nothing_to_catch_up_with(
    kafka_broker: str, tmp_path: Path
) -> None:
    topic = new_topic(kafka_broker, 1)
    writer = TopicWriter(topic)
    writer.write(0, [b"1", b"2"])
    writer.flush()
    delete_before(topic, 0, -1)
    bulk, identity = Bulk(topic), shard_identity(topic, 0)
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        assert await bulk.catch_up(store, Skips(), Event(), lambda: None)
        assert store.position.offset == 2
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_a_store_of_records_that_the_topic_has_lost_is_refused(
    kafka_broker: str, tmp_path: Path
) -> None:
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: OTHERS})
    bulk, identity = Bulk(topic), shard_identity(topic, 0)
    for name, records in (("same", OTHERS[:20]), ("other", RECORDS)):
        fold(topic, tmp_path / name, records)
        with Store(tmp_path / name, identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
            catch_up = partial(bulk.catch_up, store, Skips(), Event(), lambda: None)
            if name == "same":
                assert await catch_up()
            else:
                with pytest.raises(OtherStoreError, match="others stand there now"):
                    await catch_up()
    bulk.close()
    delete_topic(kafka_broker, topic.name)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("is_newer", [True, False])
async def test_a_store_that_lacks_deleted_records_gives_way_to_a_newer_image(
    kafka_broker: str, tmp_path: Path, is_newer: bool, offset: int
) -> None:
    """A store that had nothing when the topic was trimmed lacks them, too."""
    topic = new_topic(kafka_broker, 1)
    writer = TopicWriter(topic)
    writer.write(0, [encode(Change(0, event, event + 1)) for event in range(3)])
    writer.flush()
    questions: list[tuple[int, int]] = []

    def has_newer_image(*question: int) -> bool:
        questions.append((question[0], question[1]))
        return is_newer

    bulk, identity = Bulk(topic), shard_identity(topic, 0)
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        with TopicReader(topic) as reader:
            replay(store, reader, end=offset)
        delete_before(topic, 0, 2)
        catch_up = partial(bulk.catch_up, store, Skips(), Event(), lambda: None, has_newer_image)
        if is_newer:
            with pytest.raises(OtherStoreError, match=f"from offset {offset} to 2"):
                await catch_up()
        else:
            assert await catch_up()
            assert store.position.offset == 3
    assert questions == [(offset, 3)]
    bulk.close()
    delete_topic(kafka_broker, topic.name)


async def test_a_store_gives_way_to_a_newer_image_when_a_trim_overtakes_it(
    kafka_broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trim comes between the look at the topic's bounds and the first read."""
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: [Change(0, event, event + 1) for event in range(3)]})
    read = TopicReader.read

    def trimmed(reader: TopicReader, *place: int) -> Iterator[list[StoredRecord]]:
        delete_before(topic, 0, 2)
        return read(reader, *place)

    monkeypatch.setattr(TopicReader, "read", trimmed)
    bulk, identity = Bulk(topic), shard_identity(topic, 0)
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        with pytest.raises(OtherStoreError, match="from offset 0 to 2"):
            await bulk.catch_up(store, Skips(), Event(), lambda: None, lambda *_: True)
        assert store.position.offset == 0
    bulk.close()
    delete_topic(kafka_broker, topic.name)
