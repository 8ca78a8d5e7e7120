"""The load on an idle PostgreSQL with the settings of its package, including JIT.

Measures how long the read of the current event takes, for which every `latest` request waits, by
turns with a bare SELECT of the sequence. Also measures how much of a core a connector and a worker
together cost the server while nothing happens, beside a bare connection that reads the sequence as
often.
"""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg
from sqlalchemy import URL, make_url

from benchmarks.http_fresh import figures
from benchmarks.live import connector
from connectors.settings import Pace as ConnectorPace
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.stack.postgres import connect
from query_api.database import Primary
from query_api.positions import Position
from tests.support import stock_postgres
from tests.support.kafka import broker
from tests.support.topics import new_topic
from tests.support.workers import WorkerProcess

SHARDS: Final = 4
EVENTS: Final = 3_000
READS: Final = 2_000
WARM_UP: Final = 200
PAUSE_S: Final = 0.005
SETTLE_S: Final = 5.0
REST_S: Final = 30.0
SEQUENCE: Final = 'SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE"'


def show(name: str, **more: Any) -> None:
    line = {"name": name, **more, "load_average": round(os.getloadavg()[0], 1)}
    print(json.dumps(line), flush=True)


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


def share(url: URL, seconds: float, go_on: Callable[[float], None]) -> tuple[float, int]:
    """The share of a core that a database's sessions use while `go_on` runs, and their number."""
    with connect(url) as connection:
        pids = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        ).fetchall()
    sessions = [psutil.Process(int(str(pid))) for (pid,) in pids]
    before, began = sum(map(processor_s, sessions)), time.perf_counter()
    go_on(seconds)
    used, passed = sum(map(processor_s, sessions)) - before, time.perf_counter() - began
    return used / passed, len(sessions)


def processor_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def bare_share(url: URL) -> float:
    interval_s = ConnectorPace().poll_interval_ms / 1000
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as bare:

        def look(seconds: float) -> None:
            ends = time.perf_counter() + seconds
            while time.perf_counter() < ends:
                bare.execute(SEQUENCE).fetchone()
                time.sleep(interval_s)

        return share(url, REST_S, look)[0]


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
        with connector(servers, topic, make_url(url), Path(folder) / "connector"):
            worker.start()
            try:
                worker.until(
                    lambda status: (
                        all(one["event_id"] >= current for one in status["shards"])
                        and len(status["shards"]) == SHARDS
                    )
                )
                time.sleep(SETTLE_S)
                used, sessions = share(make_url(url), REST_S, time.sleep)
            finally:
                worker.end()
        show(
            "share of a core at rest",
            percent=round(100 * used, 2),
            bare_percent=round(100 * bare, 2),
            sessions=sessions,
            seconds=REST_S,
        )


if __name__ == "__main__":
    main()
