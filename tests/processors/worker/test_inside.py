"""What a worker is to those who share its process."""

import asyncio
import errno
import gc
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from hive.errors import (
    ClosedStoreError,
    ColdShardError,
    InputError,
    MachineError,
    RecordFormatError,
    TopicError,
)
from processors.live_record import LiveRecord
from processors.replay.replay import replay
from processors.worker.shard import UNFLUSHED_RECORDS_MAX, Shard
from processors.worker.worker import Worker, WorkerSettings
from state import keys
from state.image import Images, Manifest
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    OpenTransactions,
    Pause,
    Rows,
    encode,
)
from state.records.actions import PutPartitions, Undecodable
from state.records.objects import PartitionImage
from state.records.signals import LoadRequest, PauseOrder, decode_signal
from state.shard_reader import ShardReader
from state.store import Store, StorePosition, set_aside
from state.topic import Topic, TopicClient
from state.topic.settings import QUIET
from tests.processors.worker.created_table import CREATED, IMAGE, SCOPE, TABLE
from tests.processors.worker.in_process import PATIENCE_S, until, working
from tests.support.kafka import topics
from tests.support.kafka.topics import new_topic
from tests.support.silent_storage import URL, SilentStorage, SilentStorageError
from tests.support.spans import Spans


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 1)


def put(event: int, value: str = "", size: int = 20) -> Change:
    image = PartitionImage((value or str(event),), 0, 1, os.urandom(size))
    return Change(0, event - 1, event, (PutPartitions(TABLE, 0, (image,), added=True),))


def write(topic: Topic, *records: AnyRecord) -> None:
    topics.write(topic, {0: records})


async def test_waiting_for_the_topic_holds_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that asks the brokers can't be ended."""
    waits_s: list[float] = []

    def describe(_: TopicClient, timeout_s: float) -> Topic:
        waits_s.append(timeout_s)
        raise TopicError("the brokers are away")

    monkeypatch.setattr(TopicClient, "describe", describe)
    worker = Worker(WorkerSettings(servers="nowhere:1", topic="t", path=tmp_path, group="g"))
    task = asyncio.create_task(worker.run())
    await until(lambda: waits_s != [])
    task.cancel()
    await asyncio.wait([task])
    assert max(waits_s) < 5


async def test_one_that_has_not_begun_says_what_is_missing(tmp_path: Path) -> None:
    settings = {"servers": "nowhere:1", "topic": "t", "path": tmp_path, "group": "g"}
    worker = Worker(WorkerSettings(**settings))  # type: ignore[arg-type]
    worker.ask(0, SCOPE, 1)
    assert worker.load_requests_waiting == 0
    with pytest.raises(TopicError, match="the topic t isn't there yet"):
        await worker.order(PauseOrder(0, 1, paused=True))
    with pytest.raises(InputError, match=r"set images\.url"):
        await worker.make_images()
    worker = Worker(WorkerSettings(**settings, images_url=URL))  # type: ignore[arg-type]
    with pytest.raises(MachineError, match="no such shard is live"):
        await worker.make_images(0)
    worker._measure()
    assert worker.metrics.registry.get_sample_value("metatide_store_memory_bytes") == 0


async def test_one_that_ends_takes_no_more_shards(topic: Topic, tmp_path: Path) -> None:
    async with working(topic, tmp_path) as worker:
        pass
    worker._assigned.assign(frozenset((0, 1)))
    assert set(worker.shards) <= {0}


async def test_a_store_serves_nothing_before_it_has_the_orders_that_came_meanwhile(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(topic, tmp_path) as worker:
        write(topic, CREATED)
        await until(lambda: worker.shards[0].position.applied == 1)
        assert worker.snapshot(0) is not None
    write(topic, Pause(0, 1, paused=True))
    at_opening = []

    async def look(shard: Shard, *arguments: Any) -> None:
        at_opening.append((shard.position.applied, shard.snapshot(), shard.commits))
        await catch_up(shard, *arguments)

    catch_up = Shard._catch_up
    monkeypatch.setattr(Shard, "_catch_up", look)
    async with working(topic, tmp_path) as worker:
        snapshot = worker.snapshot(0)
        assert snapshot is not None
        assert ShardReader(snapshot).head.paused
    assert at_opening[0] == (1, None, None)


def count(worker: Worker) -> int:
    snapshot = worker.snapshot(0)
    assert snapshot is not None
    prefix = keys.of_table(keys.PARTITION, TABLE)
    return sum(1 for _ in snapshot.scan(prefix, prefix + b"\xff"))


def load_requests(topic: Topic) -> list[int]:
    """The floors of all requests for loads so far."""
    settings = {"bootstrap.servers": topic.servers, "group.id": "unused"}
    consumer = Consumer(settings, logger=QUIET)
    events = []
    signals = consumer.list_topics(timeout=30).topics.get(topic.signals)
    for number in signals.partitions if signals else ():
        partition = TopicPartition(topic.signals, number, 0)
        _, end = consumer.get_watermark_offsets(partition, timeout=30)
        consumer.assign([partition])
        for message in consumer.consume(end, 30) if end else ():
            value = message.value()
            assert isinstance(value, bytes)
            ask = decode_signal(value)
            assert isinstance(ask, LoadRequest)
            events.append(ask.floor)
    consumer.close()
    return events


async def test_one_that_ends_is_not_ready(topic: Topic, tmp_path: Path) -> None:
    async with working(topic, tmp_path) as worker:
        assert worker.ready
    assert not worker.ready


async def test_waiting_for_a_position(topic: Topic, tmp_path: Path) -> None:
    async with working(topic, tmp_path) as worker:
        shard = worker.shards[0]
        assert await shard.complete_up_to(0, 0, 1)
        assert not await shard.complete_up_to(0, 1, 0.05)
        waiting = [asyncio.create_task(shard.complete_up_to(0, at, 30)) for at in (2, 1, 1)]
        write(topic, CREATED, put(2))
        assert await asyncio.gather(*waiting) == [True] * 3
        assert count(worker) == 1
        another = asyncio.create_task(shard.complete_up_to(1, 5, 30))
        old = asyncio.create_task(shard.complete_up_to(0, 9, 30))
        write(topic, Change(1, 5, 6))
        assert await another
        assert not await old, "another history began"
        assert not await shard.complete_up_to(0, 1, 1)


async def test_a_damaged_store_that_is_being_scanned_gives_up_its_folder_at_once(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever garbage the failure leaves: workers seldom collect it."""
    write(topic, CREATED, *(put(event) for event in range(2, 10)))
    async with working(topic, tmp_path) as worker:
        assert count(worker) == 8
    prefix = keys.of_table(keys.PARTITION, TABLE)
    stores: list[Path] = []

    def meet_damage(store: Store, *places: Any, **options: Any) -> StorePosition:
        if stores:
            return replay(store, *places, **options)
        stores.append(store.path)
        scan = store.transaction().scan(prefix, prefix + b"\xff")
        raise ColdShardError(f"{store.path} is damaged behind {next(scan)}")

    monkeypatch.setattr("processors.replay.bulk_replay.replay", meet_damage)
    gc.disable()
    try:
        async with working(topic, tmp_path) as worker:
            assert count(worker) == 8
            assert worker.metrics.registry.get_sample_value("metatide_shard_faults_total") == 1
    finally:
        gc.enable()


async def test_a_damaged_store_that_cannot_be_set_aside_at_once_is_built_again_later(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(topic, CREATED, put(2))
    async with working(topic, tmp_path) as worker:
        [store] = (shard_store for shard_store in (tmp_path / "shards").iterdir())
        assert count(worker) == 1
    (store / "CURRENT").unlink()
    failures = iter([OSError(errno.EROFS, "Read-only file system")])

    def set_aside_later(path: Path) -> Path:
        for failure in failures:
            raise failure
        return set_aside(path)

    monkeypatch.setattr("processors.worker.shard.set_aside", set_aside_later)
    async with working(topic, tmp_path) as worker:
        assert count(worker) == 1
    assert next(failures, None) is None


async def test_a_snapshot_stays_as_it_is(topic: Topic, tmp_path: Path) -> None:
    async with working(topic, tmp_path) as worker:
        write(topic, CREATED, put(2))
        assert await worker.shards[0].complete_up_to(0, 2, 30)
        snapshot = worker.snapshot(0)
        assert snapshot is not None
        write(topic, put(3))
        assert await worker.shards[0].complete_up_to(0, 3, 30)
        prefix = keys.of_table(keys.PARTITION, TABLE)
        assert len(list(snapshot.scan(prefix, prefix + b"\xff"))) == 1
        assert snapshot.position.applied == 2
        assert count(worker) == 2


async def test_live_records_pass_through_the_agent(topic: Topic, tmp_path: Path) -> None:
    """Where Faust's agent stands still, so does the shard; what it missed is folded then."""
    async with working(topic, tmp_path) as worker:
        write(topic, CREATED)
        shard = worker.shards[0]
        assert await shard.complete_up_to(0, 1, 30)
        assert worker._group is not None
        assert worker._group._app is not None
        agent = next(iter(worker._group._app.agents.values()))
        await agent.stop()
        write(topic, put(2))
        assert not await shard.complete_up_to(0, 2, 1.5)
        assert shard.live
        worker._unsettle()
        assert await shard.complete_up_to(0, 2, 30), "without Faust it reads the topic itself"


async def test_what_the_live_consumer_loses_is_read_from_the_topic_or_fetched_again(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read where something follows that shows the hole, and fetched again where nothing does."""
    monkeypatch.setattr("processors.worker.arrival_watch.WATCH_S", 0.05)
    monkeypatch.setattr("processors.worker.arrival_watch.STUCK_S", 0.1)
    async with working(topic, tmp_path) as worker:
        shard = worker.shards[0]
        offer, lost = shard.offer, [3, 7, 8]

        def lossy(records: Sequence[LiveRecord]) -> None:
            for record in records:
                if lost and record.offset == lost[0]:
                    del lost[0]
                else:
                    offer([record])

        shard.offer = lossy  # type: ignore[method-assign]
        write(topic, CREATED, *map(put, range(2, 50)))
        assert await shard.complete_up_to(0, 49, 30)
        assert count(worker) == 48
        await until(lambda: shard.live)
        lost[:] = [shard.position.offset]
        monkeypatch.setattr(shard, "unfollow", lambda: lost.append(-1))
        write(topic, put(50))
        assert await shard.complete_up_to(0, 50, 10)
        assert lost == [], "or it was read from the topic"


async def test_the_loop_stays_responsive_while_folding(topic: Topic, tmp_path: Path) -> None:
    async with working(topic, tmp_path) as worker:
        late = 0.0
        write(topic, CREATED, *map(put, range(2, 20_000)))
        task = asyncio.create_task(worker.shards[0].complete_up_to(0, 19_999, 60))
        turns = 0
        while not task.done():
            began = time.monotonic()
            await asyncio.sleep(0)
            late = max(late, time.monotonic() - began)
            turns += 1
        assert await task
        assert turns > 50, f"others had {turns} turns, and waited {late:.3f} s at most"


async def test_only_live_doubts_are_asked_about(topic: Topic, tmp_path: Path) -> None:
    write(topic, CREATED, Change(0, 1, 2, (Undecodable(TABLE),)))
    async with (
        working(topic, tmp_path / "a"),
        working(topic, tmp_path / "b", group=f"{topic.name}-b"),
    ):
        # Time for an ask that should not be.
        await asyncio.sleep(1)
        assert await asyncio.to_thread(load_requests, topic) == []
    async with working(topic, tmp_path / "a") as worker:
        write(topic, Change(0, 2, 3, (Undecodable(TABLE),)))
        assert await worker.shards[0].complete_up_to(0, 3, 30)
        async with asyncio.timeout(PATIENCE_S):
            while not (requests := await asyncio.to_thread(load_requests, topic)):
                await asyncio.sleep(0.05)
        assert requests == [3]
        assert worker.load_requests_waiting == 1
        write(
            topic,
            LoadBegin(0, "load", SCOPE),
            LoadRows(0, "load", SCOPE, 3, 0, Rows(tables=(IMAGE,))),
            LoadEnd(0, "load", SCOPE, 3, 3, 1),
        )
        await until(lambda: worker.shards[0].position.offset == 6)
        assert worker._load_requests is not None
        for waiting in worker._load_requests._waiting.values():
            waiting.due_s = 0
        await until(lambda: worker.load_requests_waiting == 0)
        await asyncio.sleep(1)
        assert await asyncio.to_thread(load_requests, topic) == [3]


def test_encoded_requests_are_told_from_others() -> None:
    for value in (b"", encode(CREATED), b"\x01\x00", b"\x02"):
        with pytest.raises(RecordFormatError):
            decode_signal(value)


async def test_only_events_and_many_other_records_make_a_flush_due(
    topic: Topic, tmp_path: Path
) -> None:
    """At rest a record comes each minute for ever, and each flush writes a file."""

    async def writes_files(shard: Shard, *records: AnyRecord) -> bool:
        before, end = tables(shard), shard.position.offset + len(records)
        await asyncio.to_thread(write, topic, *records)
        await until(lambda: shard.position.offset == end)
        await shard.flush()
        return tables(shard) != before

    def tables(shard: Shard) -> set[Path]:
        return set(tmp_path.rglob(f"{shard.number}/**/*.sst"))

    opened = OpenTransactions(0, 1, ())
    async with working(topic, tmp_path, flush_s=3600) as worker:
        shard = worker.shards[0]
        assert await writes_files(shard, CREATED)
        for _ in range(UNFLUSHED_RECORDS_MAX - 1):
            assert not await writes_files(shard, opened)
        assert await writes_files(shard, opened)
        assert await writes_files(shard, put(2))


async def test_an_image_that_is_being_uploaded_holds_up_no_flush(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def create(images: Images, store: Store, scratch: Path) -> Manifest:
        begun.set()
        may_end.wait()
        return make(images, store, scratch)

    make = Images.create
    monkeypatch.setattr(Images, "create", create)
    place = str(tmp_path / "images")
    async with working(topic, tmp_path, images_url=place, flush_s=3600) as worker:
        await asyncio.to_thread(write, topic, CREATED)
        shard = worker.shards[0]
        await until(lambda: shard.position.offset == 1)
        making = asyncio.create_task(worker.make_images())
        try:
            await until(begun.is_set)
            async with asyncio.timeout(5):
                await shard.flush()
            assert shard._flushed.offset == 0, "it waits for the next turn"
        finally:
            may_end.set()
            await making
        await shard.flush()
        assert shard._flushed.offset == 1


async def test_storage_of_images_that_does_not_answer_ends_nothing(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic is whole, so the shard begins from it; images are tried again and again."""
    attempts = []

    def fail(*_: object, **__: object) -> None:
        attempts.append(1)
        raise SilentStorageError("nothing answers")

    monkeypatch.setattr(SilentStorage, "makedirs", fail)
    await asyncio.to_thread(write, topic, CREATED, put(2))
    async with working(topic, tmp_path, images_url=URL, images_every_s=0.1) as worker:
        assert worker.shards[0].position.offset == 2
        value = worker.metrics.registry.get_sample_value
        assert value("metatide_image_every_seconds") == 0.1
        assert value("metatide_image_made_seconds", {"shard": "0"}), "since when none was made"
        await until(lambda: len(attempts) >= 3)
        assert worker.ready
        with pytest.raises(MachineError, match="nothing answers"):
            await worker.make_images()


async def test_a_worker_that_ends_while_an_image_is_made_is_told_nothing_of_its_fault(
    topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_fail, has_failed = (threading.Event() for _ in range(3))

    def fail(*_: object) -> None:
        has_begun.set()
        assert may_fail.wait(PATIENCE_S)
        has_failed.set()
        raise ClosedStoreError("the store is closed")

    monkeypatch.setattr(Images, "create", fail)
    logged: list[dict[str, Any]] = []
    async with working(topic, tmp_path, images_url=f"file://{tmp_path}/images") as worker:
        making = asyncio.create_task(worker.shards[0].make_image())
        await until(has_begun.is_set)
        making.cancel()
        await asyncio.wait([making])
        assert making.cancelled()
        asyncio.get_running_loop().set_exception_handler(lambda _, what: logged.append(what))
        may_fail.set()
        await until(has_failed.is_set)
        del making
    gc.collect()
    assert logged == []


async def test_one_that_traces_tells_what_its_shards_fold(topic: Topic, tmp_path: Path) -> None:
    spans = Spans()
    async with working(topic, tmp_path, tracing=spans.tracing) as worker:
        write(topic, CREATED)
        assert await worker.shards[0].complete_up_to(0, 1, 30)
        await until(lambda: "fold" in [span.name for span in spans.take()])
