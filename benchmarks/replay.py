"""Bulk replay: records per second that one core folds from a broker, and the time for a store.

The records are those of `benchmarks.fold`. The baseline consumes and counts them.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.fold import Workload
from benchmarks.report import report
from benchmarks.store import partition, table_name, values_of
from hive.thrift.binary import encode as encode_thrift
from hive.thrift.structs import PARTITION, TABLE
from processors.replay.replay import rebuild
from state.records import Change, encode
from state.records.actions import CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import MemoryBudget
from state.topic import Topic, TopicReader
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import TopicWriter, new_topic

RECORDS: Final = 200_000
PARTITIONS: Final = 100_000
REPEATS: Final = 3
BUDGET: Final = MemoryBudget(128 * 1024 * 1024)


def fill(servers: str, values: Iterator[bytes]) -> Topic:
    topic = new_topic(servers, 1)
    writer = TopicWriter(topic)
    writer.write(0, values)
    writer.flush()
    return topic


def partitions(count: int) -> Iterator[bytes]:
    """The records of one table, and of an event for each of its partitions."""
    random, name = Random(1), table_name(0)
    data = encode_thrift(TABLE, {"tableName": name.table, "dbName": name.db})
    yield encode(Change(0, 0, 1, (CreateTable(TableImage(name, 1, 0, False, True, data)),)))
    for number in range(count):
        image = PartitionImage(
            values_of(number), 0, 1, encode_thrift(PARTITION, partition(random, name, number))
        )
        action = PutPartitions(name, 0, (image,), added=True)
        yield encode(Change(0, number + 1, number + 2, (action,)))


def consume_seconds(topic: Topic) -> float:
    with TopicReader(topic) as reader:
        end = reader.bounds(0).end
        start = time.process_time()
        assert sum(map(len, reader.read(0, 0, end))) == end
        return time.process_time() - start


def replay_seconds(topic: Topic, folder: Path) -> tuple[float, float]:
    """The processor time and the elapsed time of a replay."""
    cpu, clock = time.process_time(), time.perf_counter()
    rebuild(topic, 0, folder / "shard", BUDGET)
    return time.process_time() - cpu, time.perf_counter() - clock


def process_seconds(topic: Topic, folder: Path) -> float:
    """The time in which a new process builds the store of the only shard."""
    command = [sys.executable, "-m", "metatide", "rebuild", "--engine", "replay"]
    environment = {
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
        "METATIDE_KAFKA_TOPIC": topic.name,
        "METATIDE_DATA_DIR": str(folder),
    }
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    with broker() as servers:
        topic = fill(servers, Workload(seed=1).records(RECORDS))
        cpu, clock = [], []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                single_s = replay_seconds(topic, Path(folder))
                cpu.append(RECORDS / single_s[0])
                clock.append(RECORDS / single_s[1])
        report(
            "replay_a_core",
            round(sorted(cpu)[REPEATS // 2], 2),
            "records/s",
            by_the_clock=round(sorted(clock)[REPEATS // 2]),
            consume_only=round(RECORDS / consume_seconds(topic)),
        )
        topic = fill(servers, partitions(PARTITIONS))
        with tempfile.TemporaryDirectory() as folder:
            seconds = process_seconds(topic, Path(folder))
        consume_s = consume_seconds(topic)
        report("rebuild_100000_partitions", round(seconds, 2), "s", consume_only=consume_s)


if __name__ == "__main__":
    main()
