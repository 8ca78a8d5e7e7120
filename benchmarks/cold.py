"""How long a table is cold: from the first read, which the database answers, to the first that the
cache answers, when the database is near and when it is far away.

Beside it is a bare login with one statement, by the same way as the connector's.

python -m benchmarks.cold [--delays MS …] [--tables COUNT]
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
import psutil
import psycopg
import sqlalchemy as sa

from benchmarks.delay import delayed_database
from benchmarks.live import connector
from benchmarks.prewarm import LAYOUTS, filled, run_elsewhere, table_names
from benchmarks.report import cpu_s, load_average, percentile, print_line
from hive.reader.engines import unpooled_engine
from metatide.demo.options import Size
from metatide.stack.machine import LOOPBACK
from tests.support.databases import postgres
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess

SIZE: Final = Size(400, 4_000, LAYOUTS)
SHARDS: Final = 4
DELAYS_MS: Final = (0.0, 20.0)
TABLES: Final = 60
WARM_UP: Final = 10
PAUSE_S: Final = 0.1
POLL_S: Final = 0.001
PATIENCE_S: Final = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delays", type=float, nargs="+", default=DELAYS_MS)
    parser.add_argument("--tables", type=int, default=TABLES)
    arguments = parser.parse_args()
    with postgres.server() as server, broker() as servers:
        url = sa.make_url(server.new_database())
        run_elsewhere(partial(filled, url.render_as_string(hide_password=False), SIZE))
        for delay_ms in arguments.delays:
            with delayed_database(url, delay_ms) as way:
                print_line(**measured(servers, url, way, delay_ms, arguments.tables))


def measured(
    servers: str, url: sa.URL, way: sa.URL, delay_ms: float, tables: int
) -> dict[str, Any]:
    """Only the connector's way takes longer: what readers wait for is another benchmark's."""
    topic = new_topic(servers, SHARDS)
    paths = drawn_paths(url, tables + WARM_UP)
    near = url.render_as_string(hide_password=False)
    with tempfile.TemporaryDirectory() as folder:
        worker = WorkerProcess(topic, Path(folder), "worker-1", METATIDE_DATABASE_URL=near)
        with connector(servers, topic, way, Path(folder) / "connector") as process:
            worker.start()
            try:
                worker.until_ready(SHARDS)
                with httpx.Client(base_url=f"http://{LOOPBACK}:{worker.port}") as client:
                    for path in paths[:WARM_UP]:
                        cold_ms(client, path)
                    server = psutil.Process(process.pid)
                    logins, spent_s = sessions(url), cpu_s(server)
                    took_ms = [cold_ms(client, path) for path in paths[WARM_UP:]]
                    logins, spent_s = sessions(url) - logins, cpu_s(server) - spent_s
            finally:
                worker.end()
    bare_ms = [login_ms(way.render_as_string(hide_password=False)) for _ in range(tables)]
    return {
        "delay_ms": delay_ms,
        "cold_p50_ms": percentile(took_ms, 0.5),
        "cold_p99_ms": percentile(took_ms, 0.99),
        "sessions_a_table": round(logins / tables, 2),
        "connector_cpu_ms_a_table": round(1000 * spent_s / tables, 1),
        "bare_login_p50_ms": percentile(bare_ms, 0.5),
        "bare_login_p99_ms": percentile(bare_ms, 0.99),
        "tables": tables,
        "load_average": load_average(),
    }


def drawn_paths(url: sa.URL, count: int) -> list[str]:
    """The paths of different tables, drawn from all there are."""
    names = Random(1).sample(table_names(url), count)
    return [f"/v1/databases/{db}/tables/{table}" for db, table in names]


def cold_ms(client: httpx.Client, path: str) -> float:
    """From the answer of the database to the first of the cache."""
    first = client.get(path).raise_for_status()
    assert first.headers["metatide-source"] == "database", path
    began = time.perf_counter()
    while client.get(path).headers["metatide-source"] != "cache":
        assert time.perf_counter() - began < PATIENCE_S, path
        time.sleep(POLL_S)
    took_ms = 1000 * (time.perf_counter() - began)
    time.sleep(PAUSE_S)
    return took_ms


def sessions(url: sa.URL) -> int:
    """The logins to the database since its start, the one that asks left out."""
    engine = unpooled_engine(url)
    statement = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()"
    with engine.connect() as connection:
        return int(connection.execute(sa.text(statement)).scalar_one())


def login_ms(url: str) -> float:
    began = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT 1").fetchall()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
