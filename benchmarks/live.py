"""The live path: records per second through Faust into RocksDB, and how soon a commit is readable.

The topic is filled by another process; broker, database and connector are processes of their own,
too. The baselines are a Faust agent that counts the same records, a bare consumer, and a bare
commit.
"""

import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final, NamedTuple

import faust
import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from sqlalchemy import URL, make_url

from benchmarks.fold import Workload
from benchmarks.report import percentile, report
from hive.names import TableName
from metatide.demo.store import Store
from metatide.stack.postgres import connect
from processors.worker.worker import Worker, WorkerSettings
from state.records import Change, encode
from state.records.routing import table_shard
from state.topic import Topic
from state.topic.settings import QUIET
from tests.support.databases import postgres
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import TopicWriter, new_topic

SHARDS: Final = 4
RECORDS: Final = 100_000
TURN_RECORDS: Final = 500
LATE_EVERY_S: Final = 0.005
EVENTS_PER_S: Final = 200
EVENTS: Final = 3_000
WARM_UP: Final = 200
TABLES: Final = 50


class Rate(NamedTuple):
    """The throughput of records, by the clock and by processor time."""

    records_per_s: float
    cpu_s_per_10000: float
    loop_waits_ms_max: float


async def until(what: Callable[[], bool]) -> float:
    """Waits until a condition holds; returns the greatest delay of the event loop, in ms."""
    late = 0.0
    while not what():
        began = time.perf_counter()
        await asyncio.sleep(LATE_EVERY_S)
        late = max(late, time.perf_counter() - began - LATE_EVERY_S)
    return late * 1000


def fill(topic: Topic, ready: Event, begin: Event) -> None:
    """Writes the same records to each shard: nothing measured cares which tables a shard has."""
    writer = TopicWriter(topic)
    values = list(Workload(seed=1).records(RECORDS // SHARDS))
    ready.set()
    begin.wait()
    for start in range(0, len(values), TURN_RECORDS):
        for shard in range(SHARDS):
            writer.write(shard, values[start : start + TURN_RECORDS])
    writer.flush()


@contextmanager
def filler(topic: Topic) -> Iterator[Event]:
    """A process that fills the topic when the event is set."""
    context = multiprocessing.get_context("spawn")
    ready, begin = context.Event(), context.Event()
    process = context.Process(target=fill, args=(topic, ready, begin))
    process.start()
    ready.wait()
    yield begin
    process.join()


async def measured(begin: Event, done: Callable[[], int]) -> Rate:
    cpu, start = time.process_time(), time.perf_counter()
    begin.set()
    late_ms = await until(lambda: done() >= RECORDS)
    seconds, used = time.perf_counter() - start, time.process_time() - cpu
    return Rate(RECORDS / seconds, used / RECORDS * 10_000, late_ms)


async def live(servers: str, folder: Path) -> Rate:
    """The throughput of a worker to which records come as fast as it takes them."""
    topic = new_topic(servers, SHARDS)
    worker = Worker(
        WorkerSettings(servers=servers, topic=topic.name, group=topic.name, path=folder)
    )
    task = asyncio.create_task(worker.run())
    try:
        await until(lambda: worker.ready)
        with filler(topic) as begin:
            shards = worker.shards.values()
            rate = await measured(begin, lambda: sum(one.position.offset for one in shards))
        through = worker.metrics.registry.get_sample_value("metatide_batch_records_sum")
        assert through == RECORDS, f"only {through} records came through Faust"
    finally:
        task.cancel()
        await asyncio.wait([task])
    return rate


async def counted(servers: str, folder: Path) -> Rate:
    """The throughput of Faust alone, with an agent that counts records."""
    topic = new_topic(servers, SHARDS)
    app = faust.App(
        f"count-{topic.name}",
        broker=f"aiokafka://{servers}",
        datadir=str(folder),
        store="memory://",
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        value_serializer="raw",
    )
    events_count = 0

    async def count(stream: Any) -> None:
        nonlocal events_count
        async for _ in stream.events():
            events_count += 1

    app.agent(app.topic(topic.name, value_type=bytes, value_serializer="raw"))(count)
    await app.start()
    consumer: Any = app.consumer
    await until(lambda: bool(consumer.assignment()) and not app.rebalancing)
    with filler(topic) as begin:
        rate = await measured(begin, lambda: events_count)
    await app.stop()
    return rate


async def produced_ms(servers: str, folder: Path) -> list[float]:
    """The times from handing a record to the producer until it is readable in the worker."""
    topic = new_topic(servers, 1)
    worker = Worker(
        WorkerSettings(servers=servers, topic=topic.name, group=topic.name, path=folder)
    )
    task = asyncio.create_task(worker.run())
    latencies_ms = []
    try:
        await until(lambda: worker.ready)
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0}, logger=QUIET)
        waiting = []

        async def one(event: int, began: float) -> None:
            assert await worker.shards[0].complete_up_to(0, event, 30)
            latencies_ms.append((time.perf_counter() - began) * 1000)

        for event, value in enumerate(Workload(seed=1).records(EVENTS), 1):
            began = time.perf_counter()
            producer.produce(topic.name, value, partition=0)
            producer.poll(0)
            waiting.append(asyncio.create_task(one(event, began)))
            await asyncio.sleep(max(0.0, began + 1 / EVENTS_PER_S - time.perf_counter()))
        await asyncio.gather(*waiting)
    finally:
        task.cancel()
        await asyncio.wait([task])
    return latencies_ms[WARM_UP:]


def consumed_ms(servers: str) -> list[float]:
    """The times from handing a record to the producer until a bare consumer has it."""
    topic = new_topic(servers, 1)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bare"}, logger=QUIET)
    consumer.assign([TopicPartition(topic.name, 0, 0)])
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0}, logger=QUIET)
    latencies_ms = []
    for event in range(1, EVENTS // 4):
        began = time.perf_counter()
        producer.produce(topic.name, encode(Change(0, event - 1, event)), partition=0)
        while (message := consumer.poll(1)) is None or message.error():
            pass
        latencies_ms.append((time.perf_counter() - began) * 1000)
    consumer.close()
    return latencies_ms[WARM_UP:]


class Commits:
    """Allocations of write ids, each committed in a transaction of its own."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self.durations_ms: list[float] = []

    def run(self, committed: Callable[[int, TableName, float], None]) -> None:
        """Commits at an even pace, and calls `committed` after each commit."""
        with connect(self._url) as connection:
            connection.autocommit = False
            cursor = connection.cursor()
            begin = time.perf_counter()
            for event in range(1, EVENTS + 1):
                time.sleep(max(0.0, begin + event / EVENTS_PER_S - time.perf_counter()))
                table = TableName("hive", "db", f"t{event % TABLES}")
                insert(cursor, event, table)
                at = time.perf_counter()
                connection.commit()
                self.durations_ms.append((time.perf_counter() - at) * 1000)
                committed(event, table, time.perf_counter())


def insert(cursor: psycopg.Cursor[Any], event: int, table: TableName) -> None:
    write_id = (event - 1) // TABLES + 1
    message = {"txnIdList": [event], "writeIdList": [write_id]}
    cursor.execute('SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE" FOR UPDATE')
    cursor.execute(
        'INSERT INTO "NOTIFICATION_LOG" ("NL_ID", "EVENT_ID", "EVENT_TIME", "EVENT_TYPE",'
        ' "DB_NAME", "TBL_NAME", "MESSAGE", "MESSAGE_FORMAT")'
        " VALUES (%s, %s, 0, 'ALLOC_WRITE_ID_EVENT', %s, %s, %s, 'json-0.2')",
        (
            event,
            event,
            table.db,
            table.table,
            json.dumps({"dbName": table.db, "tableName": table.table, **message}),
        ),
    )
    cursor.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s', (event + 1,))


async def committed_ms(servers: str, url: URL, folder: Path) -> tuple[list[float], list[float]]:
    """The times from the return of a commit until it is readable in the worker, and those of the
    commits alone.
    """
    topic = new_topic(servers, SHARDS)
    worker = Worker(
        WorkerSettings(servers=servers, topic=topic.name, group=topic.name, path=folder / "worker")
    )
    task = asyncio.create_task(worker.run())
    loop, latencies_ms = asyncio.get_running_loop(), []
    waiting: list[asyncio.Task[None]] = []

    async def one(event: int, table: TableName, at: float) -> None:
        shard = worker.shards[table_shard(table, SHARDS)]
        assert await shard.complete_up_to(shard.position.epoch, event, 60)
        latencies_ms.append((time.perf_counter() - at) * 1000)

    def wait(event: int, table: TableName, at: float) -> None:
        waiting.append(asyncio.create_task(one(event, table, at)))

    def committed(event: int, table: TableName, at: float) -> None:
        loop.call_soon_threadsafe(wait, event, table, at)

    commits = Commits(url)
    try:
        with connector(servers, topic, url, folder):
            await until(lambda: worker.ready)
            await until(lambda: any(one.position.offset for one in worker.shards.values()))
            await asyncio.to_thread(commits.run, committed)
            await asyncio.gather(*waiting)
    finally:
        task.cancel()
        await asyncio.wait([task])
    return latencies_ms[WARM_UP:], commits.durations_ms[WARM_UP:]


@contextmanager
def connector(
    servers: str, topic: Topic, url: URL, folder: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    environment = {
        **os.environ,
        "METATIDE_DATABASE_URL": url.render_as_string(hide_password=False),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": servers,
        "METATIDE_KAFKA_TOPIC": topic.name,
        "METATIDE_KAFKA_PARTITIONS": str(topic.shards),
        "METATIDE_DATA_DIR": str(folder),
    }
    command = [sys.executable, "-m", "metatide", "connect"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def show_rates(servers: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours = asyncio.run(live(servers, Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        bare = asyncio.run(counted(servers, Path(folder)))
    report(
        "live_path",
        round(ours.records_per_s, 3),
        "records/s",
        cpu_s_per_10000=round(ours.cpu_s_per_10000, 3),
        loop_waits_ms_max=round(ours.loop_waits_ms_max, 1),
        faust_counts=round(bare.records_per_s),
        faust_cpu_s_per_10000=round(bare.cpu_s_per_10000, 3),
        load=os.getloadavg()[0],
    )


def show_latencies(servers: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        latencies_ms = asyncio.run(produced_ms(servers, Path(folder)))
    bare = consumed_ms(servers)
    report(
        "produced_to_readable_p50",
        percentile(latencies_ms, 0.5),
        "ms",
        p99=percentile(latencies_ms, 0.99),
        events_per_s=EVENTS_PER_S,
        consumed_p50=percentile(bare, 0.5),
        consumed_p99=percentile(bare, 0.99),
        load=os.getloadavg()[0],
    )
    with postgres.server() as server, tempfile.TemporaryDirectory() as folder:
        url = make_url(server.new_database())
        Store(url.render_as_string(hide_password=False)).engine.dispose()
        latencies_ms, commits = asyncio.run(committed_ms(servers, url, Path(folder)))
    report(
        "committed_to_readable_p50",
        percentile(latencies_ms, 0.5),
        "ms",
        p99=percentile(latencies_ms, 0.99),
        events_per_s=EVENTS_PER_S,
        commit_p50=percentile(commits, 0.5),
        commit_p99=percentile(commits, 0.99),
        load=os.getloadavg()[0],
    )


def main() -> None:
    with broker() as servers:
        show_rates(servers)
        show_latencies(servers)


if __name__ == "__main__":
    main()
