"""Loads the design document's catalog into a topic. Two baselines read the same rows: the bare
driver, and the prewarm of Hive's own CachedStore, which logs its time.

python -m benchmarks.prewarm [--tables N] [--partitions N] [--threads N]
"""

import argparse
import multiprocessing
import re
import resource
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from benchmarks.report import print_line
from connectors import topic_admin
from connectors.loads.loader import WORKERS, Loader
from hive.reader.engines import unpooled_engine
from metatide.demo.options import Size
from metatide.process.garbage_collection import collect_seldom
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from state.topic import Topic
from tests.metatide.demo.workload_runs import filled_store
from tests.support.databases import postgres
from tests.support.kafka import broker as kafka
from tests.support.processes import open_folder, running

TABLES, PARTITIONS, LAYOUTS = 895, 97_863, 412
READ = (
    *("TBLS", "TABLE_PARAMS", "PARTITION_KEYS", "PARTITIONS", "PARTITION_KEY_VALS"),
    *("PARTITION_PARAMS", "SDS", "SD_PARAMS", "SERDES", "SERDE_PARAMS", "COLUMNS_V2"),
    *("BUCKETING_COLS", "SORT_COLS", "SKEWED_COL_NAMES", "TAB_COL_STATS", "PART_COL_STATS"),
)
"""The tables whose rows a load turns into records."""
TOLD = re.compile(r"Time taken in prewarming = (\d+)")
LOOK_S = 0.01
FETCHED_ROWS = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--threads", type=int, default=WORKERS)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        server = stack.enter_context(postgres.server())
        broker = stack.enter_context(kafka.broker())
        url = server.new_database()
        size = Size(arguments.tables, arguments.partitions, LAYOUTS)
        run_elsewhere(partial(filled, url, size))
        with measured("select the same rows") as figures:
            figures["rows"] = bare(url)
        collect_seldom()
        with measured("prewarm") as figures:
            loader = prewarm(url, broker, arguments.threads)
            figures["partitions"] = loader.progress.partitions
            sent = loader.metrics.registry.get_sample_value("metatide_loads_bytes_total")
            figures["record_bytes"] = sent or 0
        theirs = cached_store_s(url)
        ratio = round(theirs / figures["seconds"], 2)
        print_line(benchmark="CachedStore", seconds=round(theirs, 2), times_prewarm=ratio)


def run_elsewhere(fill: Callable[[], None]) -> None:
    """Fills a database from another process, whose memory isn't measured."""
    filling = multiprocessing.get_context("spawn").Process(target=fill)
    filling.start()
    filling.join()
    assert filling.exitcode == 0


def filled(url: str, size: Size) -> None:
    store = filled_store(url, size)
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("ANALYZE"))
    store.engine.dispose()


def table_names(url: sa.URL) -> list[tuple[str, str]]:
    """All tables, each with its database."""
    statement = 'SELECT d."NAME", t."TBL_NAME" FROM "TBLS" t JOIN "DBS" d ON t."DB_ID" = d."DB_ID"'
    with unpooled_engine(url).connect() as connection:
        return [(db, table) for db, table in connection.execute(sa.text(statement))]


def bare(url: str) -> int:
    """Reads the rows by one statement per table and ignores them; returns their number."""
    rows = 0
    engine = unpooled_engine(url)
    with engine.connect() as connection:
        for table in READ:
            statement = sa.text(f'SELECT * FROM "{table}"').execution_options(stream_results=True)
            with connection.execute(statement) as result:
                while result.returns_rows and (fetched := result.fetchmany(FETCHED_ROWS)):
                    rows += len(fetched)
    return rows


def prewarm(url: str, broker: str, threads: int) -> Loader:
    """Loads everything: from the first look at the database until the broker has acknowledged it
    all.
    """
    events = Topic(broker, f"prewarm-{uuid.uuid4().hex[:8]}", 16)
    topic_admin.create(events)
    loader = Loader(unpooled_engine(url), events, workers=threads)
    loader.plan()
    loader.start(0, listens=False)
    while not loader.idle:
        assert loader.fault is None, loader.fault
        time.sleep(LOOK_S)
    loader.stop()
    return loader


class LoggingMetastore(Metastore):
    """A metastore with CachedStore that logs how long its prewarm took."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder / "metastore", Ports(folder / "ports.json"), settings)
        self._logging = folder / "metastore" / "log4j2.properties"

    def prepare(self) -> Launch:
        launch = super().prepare()
        with self._logging.open("a") as file:
            file.write("logger.cache.name = org.apache.hadoop.hive.metastore.cache\n")
            file.write("logger.cache.level = info\n")
        return launch


def cached_store_s(url: str) -> float:
    """The time that CachedStore logs for its prewarm, which excludes the start of Java."""
    with open_folder() as folder:
        settings = Settings(
            sa.make_url(url), folder / "warehouse", cached_store=True, optimizes=True
        )
        log = folder / "log"
        with running(LoggingMetastore(folder, settings), log):
            while (
                prewarmed := re.search(r"Time taken in prewarming = (\d+)", log.read_text())
            ) is None:
                time.sleep(LOOK_S)
    return int(prewarmed[1]) / 1000


@contextmanager
def measured(what: str) -> Iterator[dict[str, float]]:
    """Prints the figures along with elapsed time, processor time and memory."""
    figures: dict[str, float] = {}
    began, used = time.perf_counter(), time.process_time()
    yield figures
    figures["seconds"] = round(time.perf_counter() - began, 2)
    figures["cpu_seconds"] = round(time.process_time() - used, 2)
    figures["rss_mib_max"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print_line(benchmark=what, **figures)


if __name__ == "__main__":
    main()
