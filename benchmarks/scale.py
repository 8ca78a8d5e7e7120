"""How reads grow with workers on one machine: the same clients ask one, two and four of them.

Two processes of clients ask workers over HTTP for a table drawn from 1,000, equally often or by
Zipf's law. Clients know nothing of shards: each asks one worker, which passes on what it doesn't
have, and keeps the owner's answer for a while. Under `latest`, workers ask a PostgreSQL to which
nobody writes. The baseline is `/healthz` of the same workers, which reads nothing: it shows how far
the machine itself lets workers and clients grow.

python -m benchmarks.scale [--workers 1 2 4] [--seconds 5]
"""

import argparse
import json
import secrets
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil
import sqlalchemy as sa

from benchmarks.empty_log import make_empty_log
from benchmarks.http import actions
from benchmarks.load import Load, command
from benchmarks.random_keys import KINDS
from benchmarks.report import cpu_s, show
from hive.events.row import NotificationRow, row_mark
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, metadata
from metatide.stack.ports import Ports
from state.records import Change, encode
from state.records.routing import table_shard
from state.topic import Topic
from tests.support.databases import postgres
from tests.support.kafka import broker as kafka
from tests.support.kafka.topics import TopicWriter, new_topic
from tests.support.processes import open_folder
from tests.support.workers import WorkerProcess, workers

SHARDS: Final = 12
TABLES: Final = 1_000
LAST: Final = NotificationRow(TABLES + 1, 1, "OPEN_TXN", None, None, None, "{}", None)
"""The last event of the log, which touches no table."""
PROCESSES: Final = 2
CLIENTS: Final = 8
"""The number of clients of each process, a multiple of the number of workers."""
PATIENCE_S: Final = 60
PATH: Final = "/v1/databases/bench/tables/t{0}?consistency="


def publish(topic: Topic, mark: int) -> None:
    """Writes the tables, one with each event, to the shards that have them. `mark` is that of the
    last event's row.
    """
    writer, tails = TopicWriter(topic), [0] * SHARDS
    for number in range(TABLES):
        name, event = table_name(None, "bench", f"t{number}"), number + 1
        shard = table_shard(name, SHARDS)
        change = Change(0, tails[shard], event, tuple(actions(0, name)))
        writer.write(shard, [encode(change)])
        tails[shard] = event
    for shard, tail in enumerate(tails):
        writer.write(shard, [encode(Change(0, tail, LAST.event_id, mark=mark))])
    writer.flush()


def make_log(url: str) -> None:
    """Makes a log that has nothing but its last event. By that, workers know the history of the
    database: they keep no answer of each other in another one."""
    make_empty_log(url, LAST.event_id)
    log = metadata(Version.V4_1).tables["NOTIFICATION_LOG"]
    engine = unpooled_engine(url)
    with engine.begin() as connection:
        columns = {name.upper(): value for name, value in msgspec.structs.asdict(LAST).items()}
        connection.execute(sa.insert(log).values(NL_ID=1, **columns))
    engine.dispose()


@contextmanager
def standing(topic: Topic, url: str, count: int, **more: str) -> Iterator[list[WorkerProcess]]:
    """So many workers, which share the shards, with more settings."""
    with open_folder() as folder:
        secret = folder / "secret"
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
        settings = {
            "METATIDE_DATABASE_URL": url,
            "METATIDE_WORKER_SECRET_FILE": str(secret),
            "METATIDE_WORKER_GROUP": uuid.uuid4().hex,
            **more,
        }
        members = [member(topic, folder, number, settings) for number in range(count)]
        with workers(*members):
            for worker in members:
                worker.until_ready(SHARDS // count)
            yield members


def member(topic: Topic, folder: Path, number: int, settings: dict[str, str]) -> WorkerProcess:
    name = f"worker-{number}"
    port = Ports(folder / "ports.json").take(f"{name} thrift")
    return WorkerProcess(topic, folder, name, METATIDE_THRIFT_PORT=str(port), **settings)


def measured(members: list[WorkerProcess], path: str, keys: str, seconds: float) -> dict[str, Any]:
    """Answers per second of all clients together, and the processor time of 10,000 answers."""
    processes = [psutil.Process(worker.process.pid) for worker in members if worker.process]
    loads = [
        Load(
            members[number % len(members)].port,
            path,
            CLIENTS // max(1, len(members) // PROCESSES),
            seconds,
            keys=keys,
            keys_count=TABLES if keys else 1,
            seed=number + 1,
        )
        for number in range(max(PROCESSES, len(members)))
    ]
    before = sum(map(cpu_s, processes))
    running = [subprocess.Popen(command(load), stdout=subprocess.PIPE) for load in loads]
    outputs = [process.communicate(timeout=seconds + PATIENCE_S)[0] for process in running]
    spent = sum(map(cpu_s, processes)) - before
    figures = [json.loads(output) for output in outputs]
    count = sum(each["count"] for each in figures)
    return {
        "per_s": round(count / seconds),
        "p50_ms": max(each["p50_ms"] for each in figures),
        "p99_ms": max(each["p99_ms"] for each in figures),
        "workers_cpu_s": round(10_000 * spent / count, 3),
        "clients_cpu_s": round(10_000 * sum(each["cpu_s"] for each in figures) / count, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    questions = [("healthz", "/healthz", "")] + [
        (f"{consistency}, {keys}", PATH + consistency, keys)
        for consistency in ("any", "latest", "within&max_age_ms=100")
        for keys in KINDS
    ]
    alone: dict[str, int] = {}
    with postgres.server() as server, kafka.broker() as broker:
        topic, url = new_topic(broker, SHARDS), server.new_database()
        publish(topic, row_mark(LAST))
        make_log(url)
        for count in arguments.workers:
            with standing(topic, url, count) as members:
                for name, path, keys in questions:
                    figures = measured(members, path, keys, arguments.seconds)
                    alone.setdefault(name, figures["per_s"])
                    growth = round(figures["per_s"] / alone[name], 2)
                    show(name, workers=count, **figures, growth=growth)


if __name__ == "__main__":
    main()
