"""The live path: records a second through Faust into RocksDB, and how soon a record is readable.

The baseline of the first is a Faust agent that counts; of the second, a bare consumer.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import faust
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.fold import Workload
from processors.topic import QUIET, Topic
from processors.worker import Worker, WorkerSettings
from state.records import Change, encode
from tests.support.kafka import broker
from tests.support.topics import TopicWriter, new_topic

SHARDS: Final = 4
RECORDS: Final = 60_000
EVENTS_PER_S: Final = 200
EVENTS: Final = 3_000
WARM_UP: Final = 200


def report(name: str, value: float, unit: str, **more: object) -> None:
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, **more}), flush=True)


async def until(what: Callable[[], bool]) -> None:
    while not what():
        await asyncio.sleep(0.005)


def fill(topic: Topic) -> None:
    """The same to each shard: what is measured doesn't look at tables' shards."""
    writer = TopicWriter(topic)
    values = list(Workload(seed=1).records(RECORDS // SHARDS))
    for shard in range(SHARDS):
        writer.write(shard, values)
    writer.flush()


async def live_per_s(servers: str, folder: Path) -> tuple[float, float]:
    """Records a second, and the longest that the event loop kept others waiting, in ms."""
    topic = new_topic(servers, SHARDS)
    worker = Worker(WorkerSettings(servers=servers, topic=topic.name, path=folder))
    task = asyncio.create_task(worker.run())
    try:
        await until(lambda: worker.ready)
        filling = asyncio.create_task(asyncio.to_thread(fill, topic))
        await until(lambda: any(one.position.offset for one in worker.shards.values()))
        start, late = time.perf_counter(), 0.0
        while sum(one.position.offset for one in worker.shards.values()) < RECORDS:
            began = time.perf_counter()
            await asyncio.sleep(0)
            late = max(late, time.perf_counter() - began)
        seconds = time.perf_counter() - start
        await filling
        live = worker.metrics.registry.get_sample_value("metatide_batch_records_sum")
        assert live == RECORDS, f"only {live} records came through Faust"
    finally:
        task.cancel()
        await asyncio.wait([task])
    return RECORDS / seconds, late * 1000


async def counted_per_s(servers: str) -> float:
    """What Faust alone can do."""
    topic = new_topic(servers, SHARDS)
    fill(topic)
    app = faust.App(
        "count",
        broker=f"aiokafka://{servers}",
        store="memory://",
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        value_serializer="raw",
    )
    seen, began = 0, 0.0

    async def count(stream: Any) -> None:
        nonlocal seen, began
        async for _ in stream.events():
            began = began or time.perf_counter()
            seen += 1

    app.agent(app.topic(topic.name, value_type=bytes, value_serializer="raw"))(count)
    await app.start()
    await until(lambda: seen >= RECORDS)
    seconds = time.perf_counter() - began
    await app.stop()
    return RECORDS / seconds


async def latencies_ms(servers: str, folder: Path) -> list[float]:
    """From handing a record to the producer to its being readable in the worker."""
    topic = new_topic(servers, 1)
    worker = Worker(WorkerSettings(servers=servers, topic=topic.name, path=folder))
    task = asyncio.create_task(worker.run())
    found = []
    try:
        await until(lambda: worker.ready)
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0}, logger=QUIET)
        waiting = []

        async def one(event: int, began: float) -> None:
            assert await worker.shards[0].complete_up_to(0, event, 30)
            found.append((time.perf_counter() - began) * 1000)

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
    return found[WARM_UP:]


def consumed_ms(servers: str) -> list[float]:
    """The same way to a bare consumer."""
    topic = new_topic(servers, 1)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "bare"}, logger=QUIET)
    consumer.assign([TopicPartition(topic.name, 0, 0)])
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0}, logger=QUIET)
    found = []
    for event in range(1, EVENTS // 4):
        began = time.perf_counter()
        producer.produce(topic.name, encode(Change(0, event - 1, event)), partition=0)
        while (message := consumer.poll(1)) is None or message.error():
            pass
        found.append((time.perf_counter() - began) * 1000)
    consumer.close()
    return found[WARM_UP:]


def percentile(values: Sequence[float], share: float) -> float:
    return round(sorted(values)[int(len(values) * share)], 2)


def main() -> None:
    with broker() as servers:
        with tempfile.TemporaryDirectory() as folder:
            rate, late_ms = asyncio.run(live_per_s(servers, Path(folder)))
        raw = asyncio.run(counted_per_s(servers))
        report(
            "live_path",
            rate,
            "records/s",
            loop_waits_ms_max=round(late_ms, 1),
            faust_counts=round(raw),
        )
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(latencies_ms(servers, Path(folder)))
        bare = consumed_ms(servers)
        report(
            "produced_to_readable_p50",
            percentile(found, 0.5),
            "ms",
            p99=percentile(found, 0.99),
            events_per_s=EVENTS_PER_S,
            consumed_p50=percentile(bare, 0.5),
            consumed_p99=percentile(bare, 0.99),
        )


if __name__ == "__main__":
    main()
