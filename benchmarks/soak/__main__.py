"""One worker, a connector, a broker, a metastore and its database under a steady load.

python -m benchmarks.soak --minutes 60 --events 200 --reads 2000

Prints a line of JSON every few seconds: memory, open files, threads and connections of each
process, the size of each folder, how late the cache is, and what the readers saw; at the end a
summary with slopes per hour. `benchmarks.soak.plot` draws these lines.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
import sqlalchemy as sa

from benchmarks.report import load_average, print_line
from benchmarks.soak import sample
from benchmarks.soak.growth import summary
from benchmarks.ten_million.catalog import Catalog
from benchmarks.ten_million.live import Lateness
from benchmarks.ten_million.repetition import repeating
from benchmarks.ten_million.stand import Stand, standing
from hive.reader.engines import unpooled_engine
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import Ports
from tests.support.processes import running
from tests.support.workers import WorkerProcess, workers

SAMPLE_S: Final = 5.0
NAME: Final = "soak"
DATABASE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
LOG_S: Final = 600
"""Rows of the log are deleted after so long, as the metastore's cleaner does after days."""
CLEANED_S: Final = 30.0
PATIENCE_S: Final = 120.0


class Cleaner:
    """Deletes old rows of the log."""

    def __init__(self, url: str) -> None:
        self._engine = unpooled_engine(url)

    def clean(self) -> None:
        statement = sa.text('DELETE FROM "NOTIFICATION_LOG" WHERE "EVENT_TIME" < :before')
        with self._engine.begin() as connection:
            connection.execute(statement, {"before": int(time.time()) - LOG_S})


class Reports:
    """The last line that the readers printed."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {}

    def follow(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.last = json.loads(line)


@contextmanager
def reading(
    worker: WorkerProcess, thrift_port: int, reads: float, reports: Reports
) -> Iterator[psutil.Process]:
    ports = str(worker.port), str(thrift_port)
    command = [sys.executable, "-m", "benchmarks.soak.readers", *ports, str(reads)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    following = threading.Thread(target=reports.follow, args=(process,))
    following.start()
    try:
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()
        following.join()


@contextmanager
def started(process: "subprocess.Popen[str]") -> Iterator[psutil.Process]:
    """A command of the stand, whose output nobody reads."""
    assert process.stdout is not None
    draining = threading.Thread(target=process.stdout.read)
    draining.start()
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        draining.join()


def own_child(program: str) -> psutil.Process:
    """The process of a program or main class that this one has started."""
    [process] = (
        child
        for child in psutil.Process().children()
        if any(argument.endswith(program) for argument in child.cmdline())
    )
    return process


def soak(stand: Stand, seconds: float, events: float, reads: float) -> Iterator[dict[str, Any]]:
    topic, reports = stand.topic(NAME), Reports()
    ports = Ports(stand.folder / "ports.json")
    metastore = Metastore(
        stand.folder / "metastore",
        ports,
        Settings(sa.make_url(stand.url), stand.folder / "warehouse"),
    )
    thrift_port = ports.take("thrift")
    worker = stand.worker(
        topic,
        NAME,
        METATIDE_THRIFT_PORT=str(thrift_port),
        METATIDE_UPSTREAM_URL=metastore.address,
    )
    size = ("--tables", "2000", "--partitions", "20000", "--events-per-s", str(events))
    with ExitStack() as stack:
        stack.enter_context(running(metastore, stand.folder / "metastore.log"))
        connector = stack.enter_context(started(stand.start(topic, NAME, "connect")))
        stack.enter_context(workers(worker))
        worker.until_ready()
        assert worker.process is not None
        writers = stack.enter_context(started(stand.start(topic, "writers", "demo", "run", *size)))
        late = Lateness(stand, worker)
        while late.last_event() < 100:
            time.sleep(0.1)
        processes = {
            "broker": own_child("kafka.Kafka"),
            "database": own_child("postgres"),
            "metastore": own_child("HiveMetaStore"),
            "connector": connector,
            "worker": psutil.Process(worker.process.pid),
            "writers": writers,
            "readers": stack.enter_context(reading(worker, thrift_port, reads, reports)),
        }
        paths = {
            "stores": stand.stores(NAME),
            "topics": stand.disk(""),
            "database": stand.folder / "postgres" / "data",
        }
        stack.enter_context(repeating(Cleaner(stand.url).clean, CLEANED_S))
        for since in sample.Clock(SAMPLE_S, seconds).looks():
            yield {
                "s": round(since, 1),
                "load": load_average(),
                "events": late.last_event(),
                "events_late": late.look(),
                "folders_mib": sample.folders(paths),
                "processes": sample.processes(processes),
                **sample.of_worker(worker),
                "reads": reports.last,
            }
            for name, process in processes.items():
                assert process.status() != psutil.STATUS_ZOMBIE, f"{name} has ended"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--events", type=float, default=200, help="written in a second")
    parser.add_argument("--reads", type=float, default=2_000, help="in a second")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="metatide-soak-") as name,
        standing(Path(name), Catalog(1), DATABASE) as stand,
    ):
        samples = []
        for line in soak(stand, 60 * options.minutes, options.events, options.reads):
            samples.append(line)
            print_line(**line)
        print_line(**summary(samples))


if __name__ == "__main__":
    main()
