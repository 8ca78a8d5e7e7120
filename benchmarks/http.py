"""HTTP: a table from the cache, a 304, lists of partitions; beside each an empty handler.

One server process on one core serves keep-alive clients, which a process of their own drives. The
baseline is an ASGI handler that answers with the same number of bytes and does nothing else, on
the same server, in the same run.
"""

import asyncio
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from hive.errors import UnansweredError
from hive.names import table_name
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from processors.fold import Fold
from query_api.database.fallback import FromDatabase
from query_api.http import create_app
from query_api.latest.history import History
from query_api.latest.log import LatestLog
from query_api.positions import Position as Reached
from query_api.reads import Read
from state.kv import View
from state.records import Change
from state.records import Scope as LoadScope
from state.records.actions import AnyAction, CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Identity, MemoryBudget, Position, Store
from state.store.families import SHARD_FAMILIES

CLIENTS: Final = 32
SECONDS: Final = 5.0
SMALL_PARTITIONS: Final = 10_000
LARGE_PARTITIONS: Final = 100_000
CHUNK: Final = 1000
ORDERS = table_name(None, "sales", "orders")
EVENTS = table_name(None, "sales", "events")
PATH: Final = "/v1/databases/sales/tables/orders"
ANY: Final = "consistency=any"


class OneShard:
    """A shard in a real store; nothing is folded while it is measured."""

    count = 1

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def position(self) -> Position:
        return self._store.position

    def snapshot(self) -> View:
        return self._store.snapshot()

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        return False

    def shard(self, number: int) -> "OneShard":
        return self

    def owner_url(self, number: int) -> str | None:
        return None

    def ask_for_load(self, scope: LoadScope, floor: int) -> None:
        raise AssertionError("everything is warm")


class NoDatabase:
    """Nothing that is measured asks it."""

    history = History()

    async def answer(self, read: Read[Any]) -> FromDatabase[Any]:
        raise UnansweredError("there is none", 1.0)

    async def after_now(self, reached: Reached) -> LatestLog | None:
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
        txn = store.transaction()
        fold = Fold(txn)
        fold.apply(Change(0, event - 1, event, (action,)))
        fold.flush()
        store.commit(txn, Position(0, event, event))
    store.flush()


def with_empty(app: ASGIApp, size: int) -> ASGIApp:
    """The application, and an empty handler at /empty."""
    body = b"x" * size
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % size)]

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/empty":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        else:
            await app(scope, receive, send)

    return dispatch


def serve(folder: str, port: int) -> None:
    """The server process."""
    identity = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
    with Store(
        Path(folder), identity, families=SHARD_FAMILIES, budget=MemoryBudget(128 << 20)
    ) as store:
        fill(store)
        app = with_empty(create_app(OneShard(store), NoDatabase()), 2_500)
        config = uvicorn.Config(
            app, port=port, access_log=False, log_level="warning", loop="uvloop", http="httptools"
        )
        asyncio.run(uvicorn.Server(config).serve())


@contextmanager
def server(port: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.http", "serve", f"{folder}/store", str(port)]
        process = subprocess.Popen(command)
        try:
            _await_port(port, process)
            yield
        finally:
            process.terminate()
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


class Client:
    """One keep-alive connection that asks the same again and again."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request
        self._received = 0
        self._expected = 0
        self._sent = 0.0

    def ask(self) -> None:
        self._received = self._expected = 0
        self._sent = perf_counter()
        self.socket.sendall(self._request)

    def receive(self) -> float | None:
        """The time that the answer took, when all of it is there."""
        data = self.socket.recv(1 << 20)
        if not self._expected:
            head, _, _ = data.partition(b"\r\n\r\n")
            _, found, rest = head.lower().partition(b"content-length: ")
            length = int(rest.split(b"\r\n", 1)[0]) if found else 0
            self._expected = len(head) + 4 + length
        self._received += len(data)
        return perf_counter() - self._sent if self._received >= self._expected else None


def measure(port: int, path: str, clients: int, headers: str = "") -> dict[str, float]:
    request = f"GET {path} HTTP/1.1\r\nHost: here\r\n{headers}\r\n".encode()
    opened = [Client(port, request) for _ in range(clients)]
    with selectors.DefaultSelector() as selector:
        for client in opened:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask()
        seconds: list[float] = []
        end = perf_counter() + SECONDS
        while perf_counter() < end:
            for key, _ in selector.select(1):
                took = key.data.receive()
                if took is not None:
                    seconds.append(took)
                    key.data.ask()
    for client in opened:
        client.socket.close()
    seconds.sort()
    return {
        "per_s": round(len(seconds) / SECONDS),
        "p50_ms": round(1000 * seconds[len(seconds) // 2], 3),
        "p99_ms": round(1000 * seconds[int(len(seconds) * 0.99)], 3),
    }


def etag(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port)) as asking:
        asking.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        head = asking.recv(1 << 16).decode("latin-1")
    return next(line[6:] for line in head.split("\r\n") if line.lower().startswith("etag: "))


def main() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    table = f"{PATH}?{ANY}"
    other = f"/v1/databases/sales/tables/events/partitions?{ANY}&filter=ds='d0042'&limit=1000"
    runs = [
        ("a table from the cache", table, CLIENTS, ""),
        ("a table that is known: 304", table, CLIENTS, None),
        ("10,000 partition names", f"{PATH}/partition-names?{ANY}&limit=10000", 1, ""),
        ("1,000 of 100,000 partitions by filter", other, 1, ""),
    ]
    with server(port):
        measure(port, "/empty", CLIENTS)
        for name, path, clients, headers in runs:
            if headers is None:
                headers = f"If-None-Match: {etag(port, path)}\r\n"
            figures = measure(port, path, clients, headers)
            baseline = measure(port, "/empty", clients)
            line = {"name": name, "clients": clients, **figures, "empty_handler": baseline}
            print(json.dumps({**line, "load_average": os.getloadavg()[0]}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        main()
