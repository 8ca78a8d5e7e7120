"""Prewarm on Spark, until a worker serves everything, beside the local engine on the same rows.

python -m benchmarks.spark_prewarm [--tables N] [--partitions N] [--one-table] [--cores N]
"""

import argparse
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks.prewarm import LAYOUTS, PARTITIONS, TABLES, filled, prewarm, run_elsewhere
from benchmarks.report import load_average, print_line
from connectors import topic_admin
from connectors.loads.batch import find_database
from connectors.loads.plan import everything
from connectors.loads.spark import prewarm as on_spark
from connectors.loads.spark.task_messages import Reach
from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from metatide.config import Config
from metatide.config.schema import Spark
from metatide.demo.options import Size
from metatide.spark.session import session
from state.records.table_lists import TableLists
from state.topic import Topic, TopicClient
from tests.connectors.loads.partition_rows import fill
from tests.support.databases import postgres
from tests.support.kafka import broker as kafka
from tests.support.workers import WorkerProcess, workers

MIB = 1 << 20
SHARDS = 16
LOOK_S = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--one-table", action="store_true", help="All partitions are of one.")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--local", action="store_true", help="The local engine too.")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        server = stack.enter_context(postgres.server())
        broker = stack.enter_context(kafka.broker())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = server.new_database()
        filling = partial(fill, url, arguments.partitions)
        if not arguments.one_table:
            filling = partial(filled, url, Size(arguments.tables, arguments.partitions, LAYOUTS))
        run_elsewhere(filling)
        if arguments.local:
            with measured("prewarm, local engine"):
                prewarm(url, broker, 2)
        spark_prewarm(url, broker, folder, arguments.cores)


def spark_prewarm(url: str, broker: str, folder: Path, cores: int) -> None:
    events = Topic(broker, f"prewarm-{uuid.uuid4().hex[:8]}", SHARDS)
    topic_admin.create(events)
    described = TopicClient(broker, events.name).describe()
    database = find_database(unpooled_engine(url))
    with open_snapshot(*database) as snapshot:
        planned = everything(snapshot, TableLists())
    config = Config(data_dir=folder, spark=Spark(master=f"local[{cores},4]"))
    worker = WorkerProcess(described, folder, "one")
    began = time.perf_counter()
    with session(config, "benchmark") as spark, workers(worker):
        worker.until_ready()
        print_line(benchmark="session", seconds=round(time.perf_counter() - began, 2))
        progress = on_spark.Progress(spark.sparkContext)
        reach = Reach(url, database.version, events, 0, progress.counts)
        with measured("prewarm, Spark, until served") as figures:
            began = time.perf_counter()
            on_spark.prewarm(spark.sparkContext, reach, planned)
            figures["loaded_s"] = round(time.perf_counter() - began, 2)
            figures["partitions"] = progress.partitions
            worker.until_at(dict(TopicClient(broker, events.name).ends(range(SHARDS))))


@contextmanager
def measured(what: str) -> Iterator[dict[str, float]]:
    """Prints the figures along with elapsed time, and the processor time and memory of all measured
    processes.
    """
    figures: dict[str, float] = {}
    ended, most = threading.Event(), [0]

    def watch() -> None:
        while not ended.wait(LOOK_S):
            most[0] = max(most[0], sum(usage.rss for _, usage in alive()))

    thread = threading.Thread(target=watch)
    thread.start()
    began, used = time.perf_counter(), cpu_seconds()
    yield figures
    figures["seconds"] = round(time.perf_counter() - began, 2)
    figures["cpu_seconds"] = round(cpu_seconds() - used, 2)
    ended.set()
    thread.join()
    figures["rss_mib_max"] = most[0] // MIB
    print_line(benchmark=what, **figures, load=load_average())


def alive() -> list[tuple[Any, Any]]:
    """Processor times and memory of this process and its children, but not database and broker."""
    own = psutil.Process()
    measured: list[tuple[Any, Any]] = []
    for process in (own, *own.children(recursive=True)):
        try:
            line = " ".join(process.cmdline())
            if "postgres" not in line and "kafka.Kafka" not in line:
                measured.append((process.cpu_times(), process.memory_info()))
        except psutil.NoSuchProcess:
            continue
    return measured


def cpu_seconds() -> float:
    return float(sum(times.user + times.system for times, _ in alive()))


if __name__ == "__main__":
    main()
