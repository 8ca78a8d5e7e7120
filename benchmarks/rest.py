"""What a stack at rest costs, on a PostgreSQL with the settings of its package, including JIT.

Measures how long the read of the current event takes, for which every `latest` request waits, by
turns with a bare SELECT of the sequence. Also measures how much of a core a connector and a worker
take while nothing happens: in all processes of the server, beside a bare connection that reads the
sequence as often, and themselves, beside that bare reader and a bare consumer of the topic.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil
import psycopg
from sqlalchemy import URL, make_url

from benchmarks.http_fresh import figures
from benchmarks.live import connector
from benchmarks.report import cpu_s, show
from connectors.settings import Pace as ConnectorPace
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.stack.postgres import connect
from query_api.database import Primary
from query_api.positions import Position
from tests.support.databases import stock_postgres
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess

SHARDS: Final = 16
"""As docs/operate.md advises: what a worker does for each shard must not show."""
EVENTS: Final = 3_000
READS: Final = 2_000
WARM_UP: Final = 200
PAUSE_S: Final = 0.005
SETTLE_S: Final = 35.0
"""Two flushes: the first writes what was caught up, which makes stores compact and be listed."""
REST_S: Final = 60.0
_CONSUMES: Final = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer

async def main(servers: str, topic: str) -> None:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, group_id="bare")
    await consumer.start()
    async for _ in consumer:
        pass

asyncio.run(main(*sys.argv[1:]))
"""
SEQUENCE: Final = 'SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE"'


def write(url: str) -> int:
    """Writes a history of the demo's mix; returns its last event."""
    store = Store(url)
    workload = Workload(store.ids, store.session, store.schema, Size(50, 1_000, 16), Style())
    pace = Pace(Limits(events=EVENTS))
    workload.prepare(pace)
    pace.begin(workload.events)
    workload.run(1, pace)
    with connect(make_url(url)) as connection:
        [(following,)] = connection.execute(SEQUENCE).fetchall()
    assert isinstance(following, int)
    return following - 1


async def read(url: str, current: int) -> tuple[list[float], list[float]]:
    """The times of reads for `latest`, from an event on that most shards have, by turns with bare
    ones.
    """
    primary, latest_s, bare_s = Primary(url), [], []
    try:
        with connect(make_url(url)) as connection:
            for number in range(READS + WARM_UP):
                # The pause makes each read that of a lone request.
                await asyncio.sleep(PAUSE_S)
                began = time.perf_counter()
                log = await primary.after_now(Position(0, current - 2))
                between = time.perf_counter()
                time.sleep(PAUSE_S)
                bare_began = time.perf_counter()
                connection.execute(SEQUENCE).fetchone()
                ended = time.perf_counter()
                assert log is not None
                assert log.current == current
                if number >= WARM_UP:
                    latest_s.append(between - began)
                    bare_s.append(ended - bare_began)
    finally:
        await primary.close()
    return latest_s, bare_s


class Rest(NamedTuple):
    """The share of a core that each takes."""

    database: float
    """All processes of the database's server together."""
    sessions_count: int
    processes: list[float]


def share(
    url: URL, seconds: float, go_on: Callable[[float], None], pids_of: Sequence[int] = ()
) -> Rest:
    """What the database's server and these processes take while `go_on` runs."""
    with connect(url) as connection:
        [(own, sessions_count)] = connection.execute(
            "SELECT pg_backend_pid(), count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
        server = psutil.Process(int(str(own))).parent()
        assert server is not None
        watched = list(map(psutil.Process, pids_of))
        before, began = [server_s(server), *map(cpu_s, watched)], time.perf_counter()
        go_on(seconds)
        passed = time.perf_counter() - began
        after = [server_s(server), *map(cpu_s, watched)]
    database, *processes = [(now - used) / passed for now, used in zip(after, before, strict=True)]
    return Rest(database, int(str(sessions_count)), processes)


def server_s(server: psutil.Process) -> float:
    """The processor time of a server and its children, those that have ended included."""
    times = server.cpu_times()
    total = cpu_s(server) + float(times.children_user + times.children_system)
    for child in server.children():
        with suppress(psutil.NoSuchProcess):
            total += cpu_s(child)
    return total


def bare_share(url: URL) -> Rest:
    interval_s = ConnectorPace().poll_interval_ms / 1000
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as bare:

        def look(seconds: float) -> None:
            ends = time.perf_counter() + seconds
            while time.perf_counter() < ends:
                bare.execute(SEQUENCE).fetchone()
                time.sleep(interval_s)

        return share(url, REST_S, look, [os.getpid()])


@contextmanager
def bare_consumer(servers: str, topic: str) -> Iterator[int]:
    """A process that only waits for records; yields its id."""
    process = subprocess.Popen([sys.executable, "-c", _CONSUMES, servers, topic])
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    with (
        stock_postgres.new_databases() as new_database,
        broker() as servers,
        tempfile.TemporaryDirectory() as folder,
    ):
        url = new_database()
        current = write(url)
        latest_s, bare_s = asyncio.run(read(url, current))
        show("read of the current event", **figures(latest_s), bare=figures(bare_s))
        bare = bare_share(make_url(url))
        topic = new_topic(servers, SHARDS)
        worker = WorkerProcess(topic, Path(folder), "worker-1", METATIDE_DATABASE_URL=url)
        with (
            connector(servers, topic, make_url(url), Path(folder) / "connector") as connecting,
            bare_consumer(servers, topic.name) as consumer_pid,
        ):
            worker.start()
            try:
                worker.until(
                    lambda status: (
                        all(one["event_id"] >= current for one in status["shards"])
                        and len(status["shards"]) == SHARDS
                    )
                )
                time.sleep(SETTLE_S)
                assert worker.process is not None
                pids = [connecting.pid, worker.process.pid, consumer_pid]
                rest = share(make_url(url), REST_S, time.sleep, pids)
            finally:
                worker.end()
        of_connector, of_worker, of_consumer = rest.processes
        for name, used, of_bare in (
            ("the database", rest.database, bare.database),
            ("the connector", of_connector, bare.processes[0]),
            ("the worker", of_worker, of_consumer),
        ):
            show(
                f"share of a core at rest: {name}",
                percent=round(100 * used, 2),
                bare_percent=round(100 * of_bare, 2),
                sessions=rest.sessions_count,
                seconds=REST_S,
            )


if __name__ == "__main__":
    main()
