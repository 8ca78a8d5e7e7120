"""Trino's statements through Metatide and directly at the metastore, by turns.

A Trino 476 has a catalog by each way to a Hive 4.2 metastore on PostgreSQL. Everything asks the
database through a proxy, once with no delay and once with one of 20 ms a round trip, as a database
in a cloud has. Planning is `EXPLAIN`: nothing reads files but the dashboard, twenty sessions that
each ask for one partition of a table of their own at the same time. Trino's own caches are off.
The direct way is the baseline. `calls` are the calls over Thrift in one run through Metatide,
`worker_ms` is the time in which the worker answered them, `cached` is the share that the cache
answered, and `others` are those that it didn't.

python -m benchmarks.engines [--delays 0 20] [--seconds 40] [--runs 15]
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from benchmarks.delay import DelayedPort
from benchmarks.live import connector
from benchmarks.report import load_average, print_line
from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import Ports
from query_api.reasons import Source
from tests.engines.both_ways import WAYS
from tests.engines.trino.catalogs import creation
from tests.support import thrift_answers
from tests.support.databases import stock_postgres
from tests.support.engines.trino import Trino
from tests.support.engines.trino_client import TrinoSession, trino_client
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import new_topic
from tests.support.processes import open_folder, running
from tests.support.workers import WorkerProcess, workers

SHARDS: Final = 16
COLUMNS: Final = {"id": "bigint", "name": "string", "price": "double"}
KEYS: Final = {"ds": "string", "hr": "string"}
PARTITIONS: Final = (5_000, 50_000)
BATCH: Final = 1_000
LISTED, DESCRIBED, SHOWN = 2_000, 1_000, 20
"""The number of tables in the schemas for lists, for information_schema and for the dashboard."""
WARM_UP_RUNS: Final = 2
"""So many runs are left out, if enough others remain."""
PREWARM_TIMEOUT_S: Final = 600

_DAY: Final = "ds = '{}'"
_HOUR: Final = "ds = '{}' AND hr = '{}'"

_SECONDS: Final = re.compile(r"^metatide_thrift_seconds_sum\S* (\S+)$", re.MULTILINE)

Ask = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """What a user waits for: `ask` runs it once, in a catalog."""

    name: str
    ask: Ask


def values(number: int) -> tuple[str, str]:
    """The values of a partition."""
    day, hour = divmod(number, 24)
    return f"2020-{1 + day // 28 % 12:02}-{1 + day % 28:02}-{day // 336}", f"{hour:02}"


def fill(metastore: str) -> None:
    """Creates what the questions are about."""
    with hms_client.connect(metastore) as hms:
        for schema, count in (("listed", LISTED), ("described", DESCRIBED)):
            hms.create_database(schema)
            for number in range(count):
                hms.create_table(objects.table(schema, f"t{number}", COLUMNS, transactional=False))
        hms.create_database("parted")
        for count in PARTITIONS:
            table = hms.create_table(
                objects.table("parted", f"p{count}", COLUMNS, KEYS, transactional=False)
            )
            for first in range(0, count, BATCH):
                hms.add_partitions(table, [values(first + number) for number in range(BATCH)])


def fill_dashboard(session: TrinoSession, warehouse: Path) -> None:
    """Creates the tables of the dashboard, with files."""
    session.rows(f"CREATE SCHEMA shown WITH (location = 'file://{warehouse}/shown')")
    for number in range(SHOWN):
        session.rows(
            f"CREATE TABLE shown.d{number} WITH (partitioned_by = ARRAY['day']) AS "
            "SELECT n AS id, 'day' || CAST(n % 8 AS varchar) AS day FROM UNNEST(sequence(1, 80)) "
            "AS t(n)"
        )


class Questions:
    """The questions to one Trino."""

    def __init__(self, session: Callable[[str], TrinoSession], pool: ThreadPoolExecutor) -> None:
        self._session = session
        self._pool = pool
        self._random = Random(1)

    def __iter__(self) -> Iterator[Question]:
        for count in PARTITIONS:
            of = f"{count:,} partitions"
            whole = f"EXPLAIN SELECT count(*) FROM parted.p{count}"
            yield self._question(f"plan of all {of}", partial(str, whole))
            yield self._question(f"plan of a day of {of}", partial(self._plan, count, _DAY))
            yield self._question(f"plan of one of {of}", partial(self._plan, count, _HOUR))
        yield self._question(f"SHOW TABLES of {LISTED:,}", lambda: "SHOW TABLES FROM listed")
        yield Question(f"dashboard of {SHOWN} queries at once", self._dashboard)
        yield self._question(
            f"information_schema of {DESCRIBED:,} tables",
            lambda: (
                "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'described'"
            ),
        )

    def _question(self, name: str, statement: Callable[[], str]) -> Question:
        def ask(catalog: str) -> None:
            self._session(catalog).rows(statement())

        return Question(name, ask)

    def _plan(self, count: int, where: str) -> str:
        drawn = values(self._random.randrange(count))
        return f"EXPLAIN SELECT * FROM parted.p{count} WHERE {where.format(*drawn)}"

    def _dashboard(self, catalog: str) -> None:
        def ask(number: int) -> None:
            day = self._random.randrange(8)
            query = f"SELECT count(*), max(id) FROM shown.d{number} WHERE day = 'day{day}'"
            self._session(catalog).rows(query)

        list(self._pool.map(ask, range(SHOWN)))


class Counters(NamedTuple):
    """Calls over Thrift, and the time in which they were answered."""

    answers: thrift_answers.ThriftAnswers
    seconds: float


@dataclass(frozen=True)
class Ways:
    """The metastore's addresses by way, and the worker of one of them."""

    addresses: dict[str, str]
    worker: WorkerProcess

    def counters(self) -> Counters:
        """What the worker has counted of calls over Thrift so far."""
        page = self.worker.get("/metrics")
        assert page is not None, "the worker doesn't answer"
        seconds = sum(map(float, _SECONDS.findall(page.text)))
        return Counters(thrift_answers.on_page(page.text), seconds)


@contextmanager
def standing(servers: str, url: sa.URL, delay_ms: float, folder: Path) -> Iterator[Ways]:
    """A metastore, a connector and a worker, as far from the database."""
    assert url.port is not None
    with ExitStack() as stack:
        port = DelayedPort(url.port, delay_ms)
        stack.enter_context(running(port, folder / "delay.log"))
        url = url.set(port=port.port)
        metastore = made_metastore(url, folder)
        stack.enter_context(running(metastore, folder / "metastore.log"))
        topic, thrift_port = new_topic(servers, SHARDS), free_port()
        environment = {
            "METATIDE_DATABASE_URL": url.render_as_string(hide_password=False),
            "METATIDE_THRIFT_PORT": str(thrift_port),
            "METATIDE_UPSTREAM_URL": metastore.address,
        }
        worker = WorkerProcess(topic, folder, "worker-1", **environment)
        stack.enter_context(connector(servers, topic, url, folder / "connector"))
        stack.enter_context(workers(worker))
        worker.until_ready(SHARDS)
        prewarm(topic.servers, topic.name, environment, folder)
        through = f"thrift://{LOOPBACK}:{thrift_port}"
        yield Ways({"through": through, "without": metastore.address}, worker)


def made_metastore(url: sa.URL, folder: Path) -> Metastore:
    warehouse = folder.parent / "warehouse"
    return Metastore(folder, Ports(folder / "ports.json"), Settings(url, warehouse, optimizes=True))


def prewarm(servers: str, topic: str, environment: dict[str, str], folder: Path) -> None:
    """Loads all tables into the topic."""
    subprocess.run(
        [sys.executable, "-m", "metatide", "prewarm", "--engine", "local"],
        env={
            **os.environ,
            **environment,
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": servers,
            "METATIDE_KAFKA_TOPIC": topic,
            "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
            "METATIDE_DATA_DIR": str(folder),
        },
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=PREWARM_TIMEOUT_S,
    )


def measure(question: Question, ways: Ways, budget_s: float, runs_max: int) -> dict[str, Any]:
    """The times of a question by each way; by turns, so that both see the same machine."""
    times_s: dict[str, list[float]] = {way: [] for way in WAYS}
    before, began = ways.counters(), time.monotonic()
    runs = 0
    while runs < runs_max and (not runs or time.monotonic() - began < budget_s):
        for way in WAYS:
            started = time.perf_counter()
            question.ask(f"hive_{way}")
            times_s[way].append(time.perf_counter() - started)
        runs += 1
    if runs > 2 * WARM_UP_RUNS:
        times_s = {way: of_way[WARM_UP_RUNS:] for way, of_way in times_s.items()}
    after = ways.counters()
    answers = after.answers.since(before.answers)
    medians = {way: median(of_way) for way, of_way in times_s.items()}
    return {
        "question": question.name,
        **{f"{way}_ms": round(1_000 * medians[way], 1) for way in WAYS},
        **{f"{way}_ms_max": round(1_000 * max(times_s[way]), 1) for way in WAYS},
        "times_faster": round(medians["without"] / medians["through"], 2),
        "runs": len(times_s["through"]),
        "worker_ms": round(1_000 * (after.seconds - before.seconds) / runs, 1),
        "calls": round(answers.total() / runs, 1),
        "cached": round(answers.share(), 3),
        "others": others(answers),
    }


def others(answers: thrift_answers.ThriftAnswers) -> dict[str, int]:
    """The calls that something else answered, with who and why."""
    return {
        f"{method}: {source}, {reason}": count
        for (method, source, reason), count in answers.items()
        if source != Source.CACHE
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--delays", type=float, nargs="+", default=[0.0, 20.0])
    parser.add_argument("--seconds", type=float, default=40.0, help="for each question")
    parser.add_argument("--runs", type=int, default=15, help="of each question at most")
    options = parser.parse_args()
    with (
        stock_postgres.new_databases() as new_database,
        broker() as servers,
        open_folder() as folder,
        ThreadPoolExecutor(SHOWN) as pool,
    ):
        url = sa.make_url(new_database())
        (folder / "filling").mkdir()
        filling = made_metastore(url, folder / "filling")
        with running(filling, folder / "filling.log"):
            fill(filling.address)
        trino = Trino(folder / "trino")
        with running(trino, folder / "trino.log"), trino_client(trino.address) as client:
            for number, delay_ms in enumerate(options.delays):
                stage = folder / f"stage-{number}"
                stage.mkdir()
                with standing(servers, url, delay_ms, stage) as ways:
                    system = TrinoSession(client, "system", "runtime")
                    for way in WAYS:
                        if number:
                            system.rows(f"DROP CATALOG hive_{way}")
                        system.rows(creation(f"hive_{way}", ways.addresses))
                    if not number:
                        direct = TrinoSession(client, "hive_without", "default")
                        fill_dashboard(direct, folder / "warehouse")

                    def session(catalog: str) -> TrinoSession:
                        return TrinoSession(client, catalog, "default")

                    for question in Questions(session, pool):
                        figures = measure(question, ways, options.seconds, options.runs)
                        print_line(delay_ms=delay_ms, **figures, load_average=load_average())


if __name__ == "__main__":
    main()
