"""HTTP: a table from the cache, a 304, lists of partitions, `within` and `latest`.

One server process serves keep-alive clients, which a process of their own drives. The baseline is
an ASGI handler that answers with the same number of bytes and does nothing else, on the same
server, in the same run. Partitions are drawn from all there are: equally often, so that nearly each
is read and judged, or by Zipf's law, where cached answers serve the frequent ones. `cpu_s` is the
processor time of 10,000 requests, for the server and for the client. Unlike requests per second, it
doesn't depend on what else the machine does.

`latest` asks a PostgreSQL, to which either nobody writes, or somebody writes 200 events per second
of other tables. The shard folds up to the current event every 50 ms.
"""

import asyncio
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, Final

import psutil
import sqlalchemy as sa
import uvloop
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.empty_log import make_empty_log
from benchmarks.folding import fold
from benchmarks.load import Load, connect, measure, receive
from benchmarks.random_keys import KINDS
from benchmarks.report import cpu_s, show
from hive.errors import UnansweredError
from hive.names import table_name
from hive.schema import Version, metadata
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from metatide.process.garbage_collection import CALLS_AT_A_TIME, collect_seldom
from metatide.stack.machine import free_port
from query_api.backend import Backend
from query_api.database import Primary, bounded_engine
from query_api.database_answer import DatabaseAnswer
from query_api.http import ReadServer, create_app
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads import Read
from state.kv import View
from state.records import Change
from state.records import Scope as LoadScope
from state.records.actions import AnyAction, CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Commits, Identity, MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES
from tests.support.databases import postgres

CLIENTS: Final = 32
LATEST_CLIENTS: Final = 64
EVENTS_PER_S: Final = 200
FOLD_EVERY_S: Final = 0.05
SECONDS: Final = 2.5
ONCE: Final = 20
SMALL_PARTITIONS: Final = 10_000
LARGE_PARTITIONS: Final = 100_000
CHUNK: Final = 1000
ORDERS = table_name(None, "sales", "orders")
EVENTS = table_name(None, "sales", "events")
PATH: Final = "/v1/databases/sales/tables/orders"
ANY: Final = "consistency=any"
LATEST: Final = "consistency=latest"
WITHIN: Final = "consistency=within&max_age_ms=100"
NAMES: Final = f"{PATH}/partition-names?{ANY}"
ONE: Final = f"/v1/databases/sales/tables/events/partitions/ds=d{{:04d}}/hr={{}}?{ANY}"
FILTERED: Final = f"/v1/databases/sales/tables/events/partitions?{ANY}&filter=ds="


class OneShard:
    """The only shard, in a real store."""

    count = 1
    epoch = 0

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def position(self) -> StorePosition:
        return self._store.position

    @property
    def commits(self) -> Commits:
        return self._store.commits

    def snapshot(self) -> View:
        return self._store.snapshot()

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        return False

    def shard(self, number: int) -> "OneShard":
        return self

    def owner_url(self, number: int) -> str | None:
        return None

    def ask_for_load(self, shard: int, scope: LoadScope, floor: int) -> None:
        raise AssertionError("everything is warm")


class NoDatabase:
    """Stands in for the database, which nothing that is measured asks."""

    history = LogHistory()

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        raise UnansweredError("there is none", 1.0)

    async def after_now(self, reached: Position) -> LogEnd | None:
        return None


def columns(count: int) -> list[dict[str, str]]:
    return [{"name": f"column_{number}", "type": "decimal(18,2)"} for number in range(count)]


def descriptor(place: str, count: int) -> dict[str, Any]:
    return {
        "cols": columns(count),
        "location": f"s3a://lake/sales/{place}",
        "inputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "outputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "serdeInfo": {"serializationLib": "org.apache.hadoop.hive.ql.io.orc.OrcSerde"},
    }


def actions(count: int, table: Any) -> Iterator[AnyAction]:
    fields = {
        "tableName": table.table,
        "dbName": table.db,
        "owner": "ann",
        "sd": descriptor(table.table, 20),
        "partitionKeys": [{"name": "ds", "type": "string"}, {"name": "hr", "type": "int"}],
        "parameters": {"EXTERNAL": "TRUE", "numRows": "1"},
        "tableType": "EXTERNAL_TABLE",
        "id": 7,
    }
    yield CreateTable(TableImage(table, 7, 0, False, True, encode(TABLE, fields)))
    for start in range(0, count, CHUNK):
        images = []
        for number in range(start, start + CHUNK):
            values = f"d{number // CHUNK:04d}", str(number % CHUNK)
            partition = {
                "values": list(values),
                "dbName": table.db,
                "tableName": table.table,
                "sd": descriptor("/".join(values), 3),
                "parameters": {"numRows": "100", "totalSize": "123456"},
            }
            images.append(PartitionImage(values, 0, 1, encode(PARTITION, partition)))
        yield PutPartitions(table, 0, tuple(images), added=True)


def fill(store: Store) -> None:
    tables = [*actions(SMALL_PARTITIONS, ORDERS), *actions(LARGE_PARTITIONS, EVENTS)]
    for event, action in enumerate(tables, 1):
        fold(store, Change(0, event - 1, event, (action,)))
    store.flush()


def fold_up_to(store: Store, event: int) -> None:
    """Moves the shard on to this event, as if none of the events concerned it."""
    before = store.position
    if event > before.applied:
        fold(store, Change(0, before.applied, event))


def with_empty(app: ASGIApp, size: int, primary: Primary | None) -> ASGIApp:
    """Adds to the application an empty handler at /empty, and the number of database reads at
    /reads.
    """
    body = b"x" * size

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in ("/empty", "/reads"):
            await app(scope, receive, send)
            return
        response_body = body
        if scope["path"] == "/reads":
            response_body = b"%d" % (0 if primary is None else primary.index.reads)
        headers = [(b"content-length", b"%d" % len(response_body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": response_body})

    return dispatch


async def follow(store: Store, engine: sa.Engine) -> None:
    """Folds up to the current event periodically, as a worker would."""
    sequence = metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID

    def current() -> int:
        with engine.connect() as connection:
            return int(connection.scalar(sa.select(sequence)) or 1) - 1

    while True:
        fold_up_to(store, await asyncio.to_thread(current))
        await asyncio.sleep(FOLD_EVERY_S)


async def run_server(store: Store, port: int, url: str) -> None:
    """Runs the server as a worker does."""
    primary = Primary(url) if url else None
    app = create_app(Backend(OneShard(store), primary or NoDatabase()))
    if url:
        engine = bounded_engine(url, connections=1, statement_timeout_ms=1000)
        following = asyncio.create_task(follow(store, engine))
    collect_seldom(CALLS_AT_A_TIME)
    await ReadServer(with_empty(app, 2_500, primary), "127.0.0.1", port).serve()
    if url:
        following.cancel()


def serve(folder: str, port: int, url: str) -> None:
    """The server process."""
    identity = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
    with Store(
        Path(folder), identity, families=SHARD_FAMILIES, budget=MemoryBudget(128 << 20)
    ) as store:
        fill(store)
        uvloop.run(run_server(store, port, url))


@contextmanager
def server(port: int, url: str = "") -> Iterator[psutil.Process]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["serve", f"{folder}/store", str(port), url]
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.http", *arguments])
        try:
            _await_port(port, process)
            yield psutil.Process(process.pid)
        finally:
            process.kill()
            process.wait(30)


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = monotonic() + 120
    while monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.1)
    raise SystemExit("the server did not start")


def measured(
    server: psutil.Process, port: int, path: str, clients: int, headers: str = ""
) -> dict[str, Any]:
    return measure(Load(port, path, clients, SECONDS, headers), server)


def get(port: int, path: str) -> tuple[bytes, bytes]:
    """GETs a path; returns head and body."""
    with connect(port) as connected:
        connected.sendall(Load(port, path, 1, 0).requests()())
        head, _, body = receive(connected).partition(b"\r\n\r\n")
    return head, body


def etag(port: int, path: str) -> str:
    head, _ = get(port, path)
    return next(line[6:].decode() for line in head.split(b"\r\n") if line.startswith(b"etag: "))


def measure_any() -> None:
    port, table = free_port(), f"{PATH}?{ANY}"
    with server(port) as running:
        measured(running, port, "/empty", CLIENTS)
        for name, path, clients, headers in (
            ("a table from the cache", table, CLIENTS, ""),
            (
                "a table that is known: 304",
                table,
                CLIENTS,
                f"If-None-Match: {etag(port, table)}\r\n",
            ),
            ("10,000 partition names, kept", f"{NAMES}&limit=10000", 1, ""),
            ("1,000 of 100,000 partitions by filter, kept", f"{FILTERED}'d0099'", 1, ""),
        ):
            figures = measured(running, port, path, clients, headers)
            empty = measured(running, port, "/empty", clients)
            show(name, clients=clients, **figures, empty_handler=empty)
        for keys in KINDS:
            drawn = Load(port, ONE, CLIENTS, SECONDS, "", keys, CHUNK, LARGE_PARTITIONS)
            figures = measure(drawn, running)
            empty = measured(running, port, "/empty", CLIENTS)
            what = f"one of 100,000 partitions, {keys}"
            show(what, clients=CLIENTS, **figures, empty_handler=empty)
        show_once(running, port, "10,000 partition names", f"{NAMES}&limit=1{{:04d}}")
        show_once(running, port, "1,000 of 100,000 partitions by filter", f"{FILTERED}'d{{:04d}}'")


def show_once(server: psutil.Process, port: int, name: str, path: str) -> None:
    """Measures requests each of which is new, beside as many requests to the empty handler."""
    rates = {}
    for kind, target in ((name, path), ("empty_handler", "/empty")):
        took, before = [], cpu_s(server)
        for number in range(ONCE):
            began = perf_counter()
            get(port, target.format(number))
            took.append(1000 * (perf_counter() - began))
        took.sort()
        rates[kind] = {
            "p50_ms": round(took[ONCE // 2], 1),
            "max_ms": round(took[-1], 1),
            "cpu_ms": round(1000 * (cpu_s(server) - before) / ONCE, 1),
        }
    what, empty = f"{name}, asked for the first time", rates["empty_handler"]
    show(what, clients=1, **rates[name], empty_handler=empty)


def write_events(url: str, stop: threading.Event | ProcessEvent) -> None:
    """Writes events on other tables, each in a transaction of its own, as a metastore does."""
    engine = bounded_engine(url, connections=1, statement_timeout_ms=1000)
    tables = metadata(Version.V4_1).tables
    sequence, log = tables["NOTIFICATION_SEQUENCE"], tables["NOTIFICATION_LOG"]
    number = 0
    began = perf_counter()
    while not stop.is_set():
        number += 1
        with engine.begin() as connection:
            statement = sa.update(sequence).values(NEXT_EVENT_ID=sequence.c.NEXT_EVENT_ID + 1)
            event = connection.scalar(statement.returning(sequence.c.NEXT_EVENT_ID)) - 1
            row = {"NL_ID": event, "EVENT_ID": event, "EVENT_TIME": 1, "EVENT_TYPE": "INSERT"}
            named = {"DB_NAME": "other", "TBL_NAME": f"t{event % 100}", "MESSAGE": "{}" * 500}
            connection.execute(log.insert().values(**row, **named))
        sleep(max(0.0, began + number / EVENTS_PER_S - perf_counter()))
    engine.dispose()


@contextmanager
def writer(url: str) -> Iterator[None]:
    """Runs `write_events` in another process."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    process = context.Process(target=write_events, args=(url, stop))
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join(30)


def measure_latest() -> None:
    port = free_port()
    with postgres.server() as database:
        url = database.new_database()
        # The events of the benchmark's own tables count as past.
        make_empty_log(url, 999)
        with server(port, url) as running:
            for consistency in (ANY, WITHIN, LATEST):
                show_current(running, port, consistency, "nothing happens")
            with writer(url):
                for consistency in (ANY, WITHIN, LATEST):
                    happens = f"{EVENTS_PER_S} events/s on other tables"
                    show_current(running, port, consistency, happens)


def show_current(server: psutil.Process, port: int, consistency: str, happens: str) -> None:
    measure(Load(port, f"{PATH}?{consistency}", LATEST_CLIENTS, 1), server)
    before, began = int(get(port, "/reads")[1]), perf_counter()
    figures = measured(server, port, f"{PATH}?{consistency}", LATEST_CLIENTS)
    statements = (int(get(port, "/reads")[1]) - before) / (perf_counter() - began)
    empty = measured(server, port, "/empty", LATEST_CLIENTS)
    name = f"{consistency}, {happens}"
    beside = {"statements_per_s": round(statements), "empty_handler": empty}
    show(name, clients=LATEST_CLIENTS, **figures, **beside)


def main() -> None:
    measure_any()
    measure_latest()


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
