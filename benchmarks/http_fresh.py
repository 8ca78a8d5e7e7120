"""How soon a commit shows over HTTP, all the way from database to connector, topic and worker.

Another process writes events of the demo's mix, while one table is changed again and again.
`served` is the time from the return of a commit to the first answer of the cache under `any` that
shows it. `latest` is the time that a request takes if it is sent as soon as the commit has
returned; its answer must show the change. Beside it is the time of the same read by the metastore's
database. It is measured in other rounds, but also right after a change, which keeps all processes
busy. The worker has a core to itself; broker, database, connector, writers and clients share the
others.

python -m benchmarks.http_fresh [--events N] [--delay MS]

With a delay, a round trip of worker and connector to the database takes that much longer, as to a
cloud.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import psutil
from sqlalchemy import make_url

from benchmarks.delay import delayed_database
from benchmarks.live import connector
from benchmarks.report import percentile, show
from hive.names import TableName, table_name
from metatide.demo import tables
from metatide.demo.actor import Actor
from metatide.demo.objects import Table, TableKind
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.process.garbage_collection import collect_seldom
from query_api.database import Primary
from query_api.database.objects import DatabaseObjects
from query_api.reads import GetTable
from tests.support.databases import postgres
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess

CORE: Final = 0
"""The core of the worker."""
SHARDS: Final = 4
EVENTS_PER_S: Final = 200
ROUNDS: Final = 300
WARM_UP: Final = 30
PAUSE_S: Final = 0.03
PATIENCE_S: Final = 30.0
POLL_S: Final = 0.001


class Changing:
    """A table that is changed, and read over HTTP and from the database."""

    def __init__(self, actor: Actor, table: Table, client: httpx.Client, primary: Primary) -> None:
        self._actor = actor
        self._table = table
        self._client = client
        self._primary = primary
        self._etag = ""

    @property
    def name(self) -> TableName:
        return table_name(None, self._table.database.name, self._table.name)

    def get(self, consistency: str) -> httpx.Response:
        path = f"/v1/databases/{self.name.db}/tables/{self.name.table}"
        return self._client.get(path, params={"consistency": consistency})

    def change(self) -> float:
        """Changes the table; returns when the commit had returned."""
        before = self._table.parameters
        while self._table.parameters == before:
            tables.set_parameter(self._actor, self._table, None)
        return time.perf_counter()

    def latest(self) -> httpx.Response:
        """Reads the table under `latest`; exits if the answer doesn't show the last change."""
        latest = self.get("latest").raise_for_status()
        etag = latest.headers["etag"]
        if etag == self._etag:
            raise SystemExit("`latest` did not show what was committed before")
        self._etag = etag
        return latest

    def await_cache(self) -> None:
        """Waits until the cache shows what `latest` did."""
        deadline = time.perf_counter() + PATIENCE_S
        # At first, the cache may still answer that a new table doesn't exist.
        while self.get("any").headers.get("etag") != self._etag:
            if time.perf_counter() > deadline:
                raise SystemExit("the cache never showed what was committed")
            time.sleep(POLL_S)

    def read(self) -> None:
        """Reads the table from the database."""
        with self._primary.snapshot() as snapshot:
            GetTable(self.name).answer(DatabaseObjects(snapshot))


@contextmanager
def others(url: str, events_per_s: int) -> Iterator[None]:
    """A process that writes events on other tables, as soon as it has created them."""
    command = [sys.executable, "-m", "metatide", "demo", "run", "--tables", "50"]
    command += ["--partitions", "500", "--writers", "2", "--events-per-s", str(events_per_s)]
    environment = {**os.environ, "METATIDE_DATABASE_URL": url}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def changing_table(store: Store) -> tuple[Actor, Table]:
    workload = Workload(store.ids, store.session, store.schema, Size(8, 8, 4), Style())
    workload.prepare(Pace(Limits()))
    actor = workload.actor(1)
    database = workload.catalog.databases[0]
    table = actor.make.table(database, "changing", TableKind.EXTERNAL)
    tables.create(actor, table)
    return actor, table


def figures(values_s: list[float]) -> dict[str, float]:
    values_ms = [1000 * value for value in values_s]
    return {"p50_ms": percentile(values_ms, 0.5), "p99_ms": percentile(values_ms, 0.99)}


def give_a_core(worker: WorkerProcess) -> None:
    assert worker.process is not None
    for thread in psutil.Process(worker.process.pid).threads():
        os.sched_setaffinity(thread.id, {CORE})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS_PER_S, help="per second")
    parser.add_argument("--delay", type=float, default=0.0, help="milliseconds")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {CORE})
    with (
        broker() as servers,
        postgres.server() as server,
        tempfile.TemporaryDirectory() as folder,
        delayed_database(make_url(url := server.new_database()), arguments.delay) as way,
    ):
        far = way.render_as_string(hide_password=False)
        store, topic = Store(url), new_topic(servers, SHARDS)
        worker = WorkerProcess(topic, Path(folder), "worker-1", METATIDE_DATABASE_URL=far)
        with connector(servers, topic, way, Path(folder) / "connector"):
            worker.start()
            try:
                worker.until_ready(SHARDS)
                give_a_core(worker)
                with others(url, arguments.events):
                    measure(store, worker.port, far, arguments)
            finally:
                worker.end()


def measure(store: Store, port: int, url: str, arguments: argparse.Namespace) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
        changing = Changing(*changing_table(store), client, Primary(url))
        # A garbage collection would take longer than most of the measured requests.
        collect_seldom()
        latest_s, served_s, read_s = [], [], []
        sources: Counter[str] = Counter()
        for number in range(ROUNDS + WARM_UP):
            committed, counts = changing.change(), number >= WARM_UP
            latest = changing.latest()
            took_s = time.perf_counter() - committed
            changing.await_cache()
            if counts:
                latest_s.append(took_s)
                served_s.append(time.perf_counter() - committed)
                sources[latest.headers["metatide-source"]] += 1
            time.sleep(PAUSE_S)
            committed = changing.change()
            changing.read()
            if counts:
                read_s.append(time.perf_counter() - committed)
            changing.latest()
            changing.await_cache()
            time.sleep(PAUSE_S)
    show(
        "committed to served over HTTP",
        **figures(served_s),
        events_per_s=arguments.events,
        delay_ms=arguments.delay,
    )
    show(
        "latest of a table just changed",
        **figures(latest_s),
        database=figures(read_s),
        answered=sources,
    )


if __name__ == "__main__":
    main()
