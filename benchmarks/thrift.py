"""The Thrift server: the metastore's calls, beside an empty prototype and a real metastore.

Clients run closed loops, each over its own connection. Each call asks for a table and partition
drawn from all there are: equally often, so that nearly every answer must be read and judged, or
with `--keys zipf` by Zipf's law, where cached answers serve the frequent ones. The server has 1,001
external tables of 20 columns and 110,000 partitions in a RocksDB store. The prototype skips through
a call and answers with the same number of bytes, on the same event loop. With `--metastore`, a Hive
4.2 metastore (ObjectStore on PostgreSQL) gets such calls too; it has 50 of those tables, and the
one of 10,000 partitions. `cpu_us` is the processor time of a call in the process that answers.
Unlike calls per second, it doesn't depend on what else the machine does.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import sample
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, cast

import psutil
import sqlalchemy as sa
import uvloop

from benchmarks import random_keys
from benchmarks.empty_log import make_empty_log
from benchmarks.folding import fold
from benchmarks.http import NoDatabase, OneShard, follow, write_events
from benchmarks.report import show
from benchmarks.thrift_load import Server, measure
from hive.names import TableName, table_name
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from metatide.config.values import ThriftUrl
from metatide.process.garbage_collection import CALLS_AT_A_TIME, collect_seldom
from metatide.stack.machine import is_free
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import RANGE, Ports
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary, bounded_engine
from query_api.requirement_defaults import Defaults
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.methods import CachedMethods
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import MessageType, header
from query_api.thrift.server import ThriftServer
from state.records import Change
from state.records.actions import AnyAction, CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES
from tests.query_api.thrift.methods.wire import arguments, request
from tests.support.databases import postgres
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.processes import open_folder
from tests.support.processes import running as running_service

DB: Final = "bench"
TABLES: Final = 1_000
PARTITIONS: Final = 100
WIDE: Final = "wide"
WIDE_DAYS: Final = 100
METASTORES_TABLES: Final = 50
CLIENTS: Final = (1, 8)
LATEST_CLIENTS: Final = 32
EVENT: Final = 5_000
"""The event up to which the server's shard is complete."""
PROTOTYPE: Final = "get_nothing"
MIB: Final = 1 << 20

Types = dict[str, str]
COLUMNS: Final[Types] = {f"column_{number}": "decimal(18,2)" for number in range(20)}


class Row(NamedTuple):
    """One row of the results: calls of a method with random keys."""

    name: str
    method: str
    call: Callable[[], bytes]
    """Makes the arguments of the next call."""


def keys_of(name: str) -> tuple[str, ...]:
    return ("ds", "hr") if name == WIDE else ("ds",)


def values_of(name: str) -> Iterator[tuple[str, ...]]:
    if name == WIDE:
        for day in range(WIDE_DAYS):
            yield from ((f"d{day:03d}", f"{hour}") for hour in range(100))
    else:
        yield from ((f"d{day:03d}",) for day in range(PARTITIONS))


def rows(tables: int, keys: str) -> Iterator[Row]:
    """The calls to measure, of so many tables."""
    draw = random_keys.drawing(keys, tables * PARTITIONS)

    def row(name: str, made: Callable[[str, int], Sequence[Any]]) -> Row:
        method = name.partition(" ")[0]

        def call() -> bytes:
            table, partition = divmod(draw(), PARTITIONS)
            return arguments(method, *made(f"t{table}", partition))

        return Row(name, method, call)

    def ten(partition: int) -> list[str]:
        first = partition % (PARTITIONS - 9)
        return [f"ds=d{day:03d}" for day in range(first, first + 10)]

    yield row(
        "get_table_req", lambda table, _: [request("GetTableRequest", dbName=DB, tblName=table)]
    )
    yield row("get_partition", lambda table, partition: [DB, table, [f"d{partition:03d}"]])
    yield row("get_partitions (100)", lambda table, _: [DB, table, -1])
    yield row("get_partitions_by_names (10)", lambda table, partition: [DB, table, ten(partition)])
    yield row("get_partition_names (100)", lambda table, _: [DB, table, -1])
    yield row("get_partition_names (10,000)", lambda *_: [DB, WIDE, -1])
    yield row(
        "get_partitions_by_filter (100 of 10,000)",
        lambda _, partition: [DB, WIDE, f"ds = 'd{partition:03d}'", -1],
    )


RELAYED: Final = "get_valid_write_ids"
"""Relayed here, because the server isn't told the metastore's settings, on which the answer
depends."""
RELAYED_BYTES: Final = 200
"""The length of a reply of an empty metastore."""


# The server process.


def descriptor(location: str, count: int) -> dict[str, Any]:
    return {
        "cols": [{"name": name, "type": type_} for name, type_ in list(COLUMNS.items())[:count]],
        "location": f"file:/lake/{DB}/{location}",
        "inputFormat": objects.ORC[0],
        "outputFormat": objects.ORC[1],
        "serdeInfo": {"serializationLib": objects.ORC[2]},
    }


def actions(name: str, id_: int) -> Iterator[AnyAction]:
    table: TableName = table_name(None, DB, name)
    fields = {
        "tableName": name,
        "dbName": DB,
        "owner": "hive",
        "sd": descriptor(name, 20),
        "partitionKeys": [{"name": key, "type": "string"} for key in keys_of(name)],
        "parameters": {"EXTERNAL": "TRUE"},
        "tableType": "EXTERNAL_TABLE",
        "id": id_,
    }
    yield CreateTable(TableImage(table, id_, 0, False, True, encode(TABLE, fields)))
    images = []
    for values in values_of(name):
        partition = {
            "values": list(values),
            "dbName": DB,
            "tableName": name,
            "sd": descriptor("/".join((name, *values)), 20),
            "parameters": {"numRows": "100", "totalSize": "123456"},
        }
        images.append(PartitionImage(values, 0, 1, encode(PARTITION, partition)))
    for start in range(0, len(images), 1_000):
        yield PutPartitions(table, 0, tuple(images[start : start + 1_000]), added=True)


def fill(store: Store, event: int = 0) -> None:
    """Fills the store by events after this one."""
    for id_, name in enumerate([*(f"t{number}" for number in range(TABLES)), WIDE], 1):
        for action in actions(name, id_):
            event += 1
            fold(store, Change(0, event - 1, event, (action,)))
    fold(store, Change(0, event, EVENT))
    store.flush()


class Prototype(asyncio.Protocol):
    """Skips through each call, and answers with as many bytes as its argument says."""

    def __init__(self) -> None:
        self._scanner = Scanner(100 * MIB)
        self._transport: asyncio.Transport | None = None
        self._bodies: dict[bytes, bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        scanner = self._scanner
        if scanner.feed(data) < 0:
            return
        assert self._transport is not None
        size = data[-5:-1]
        body = self._bodies.get(size)
        if body is None:
            length = int.from_bytes(size, "big")
            body = b"\x0b\0\0" + length.to_bytes(4, "big") + b"x" * length + b"\0"
            self._bodies[size] = body
        self._transport.write(header(MessageType.REPLY, scanner.method, scanner.sequence) + body)


async def run_server(
    store: Store,
    port: int,
    url: str,
    upstream: str,
    beside: Callable[[], asyncio.Protocol] = Prototype,
) -> None:
    """Runs the server as a worker does, and what it is compared with on the next port."""
    primary = Primary(url) if url else None
    backend = Backend(OneShard(store), primary or NoDatabase())
    consistency = Consistency.LATEST if url else Consistency.ANY
    methods = CachedMethods(backend, Defaults(consistency))
    addresses = (ThriftUrl(upstream).address,) if upstream else ()
    server = ThriftServer(methods, backend, upstream=UpstreamSettings(addresses))
    await server.start("127.0.0.1", port)
    await asyncio.get_running_loop().create_server(beside, "127.0.0.1", port + 1)
    collect_seldom(CALLS_AT_A_TIME)
    if url:
        await follow(store, bounded_engine(url, connections=1, statement_timeout_ms=1000))
    await asyncio.Event().wait()


def serve(port: int, url: str, upstream: str) -> None:
    identity = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(
            Path(folder) / "store",
            identity,
            families=SHARD_FAMILIES,
            budget=MemoryBudget(128 * MIB),
        ) as store,
    ):
        fill(store)
        uvloop.run(run_server(store, port, url, upstream))


# The clients' process.


def free_pair() -> int:
    """A free port whose successor is free, too. Both lie outside the range of outgoing connections:
    a client that waits for a port within it may connect to itself.
    """
    return next(
        port for port in sample(RANGE[:-1], len(RANGE) - 1) if is_free(port) and is_free(port + 1)
    )


def await_port(process: "subprocess.Popen[bytes]", port: int) -> None:
    """Waits until a process listens."""
    deadline = monotonic() + 240
    while monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            sleep(0.1)
    raise SystemExit("the server did not start")


@contextmanager
def server(
    url: str = "", upstream: str = "", module: str = "benchmarks.thrift"
) -> Iterator[Server]:
    """Starts the process of a server, and of what it is compared with on the next port."""
    port = free_pair()
    command = [sys.executable, "-m", module, "serve", str(port), url, upstream]
    process = subprocess.Popen(command)
    try:
        await_port(process, port + 1)
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def metastore() -> Iterator[Server]:
    """A real metastore with some of the tables."""
    with ExitStack() as stack:
        database = stack.enter_context(postgres.server())
        folder = stack.enter_context(open_folder())
        url = sa.make_url(database.new_database())
        settings = Settings(url, folder / "warehouse", optimizes=True)
        service = Metastore(folder / "metastore", Ports(folder / "ports.json"), settings)
        process = stack.enter_context(running_service(service, folder / "log"))
        with hms_client.connect(service.address) as client:
            client.create_database(DB)
            for name in [*(f"t{number}" for number in range(METASTORES_TABLES)), WIDE]:
                keys = dict.fromkeys(keys_of(name), "string")
                table = client.create_table(
                    objects.table(DB, name, COLUMNS, keys, transactional=False)
                )
                values = list(values_of(name))
                for start in range(0, len(values), 1_000):
                    client.add_partitions(table, values[start : start + 1_000])
        yield Server(ThriftUrl(service.address).address[1], psutil.Process(process.pid))


def nothing(size: int) -> bytes:
    """The arguments of a call that the prototype answers with so many bytes."""
    return b"\x08\0\1" + size.to_bytes(4, "big") + b"\0"


def prototype(where: Server, clients: int, size: int) -> dict[str, Any]:
    """Measures the prototype with answers of this size."""
    beside = where._replace(port=where.port + 1)
    return measure(beside, PROTOTYPE, partial(nothing, size), clients)


def measure_any(real: Server | None, keys: str) -> None:
    upstream = "" if real is None else f"thrift://127.0.0.1:{real.port}"
    with server(upstream=upstream) as here:
        for row, small in zip(rows(TABLES, keys), rows(METASTORES_TABLES, keys), strict=True):
            for clients in CLIENTS:
                ours = measure(here, row.method, row.call, clients)
                bare = prototype(here, clients, ours["reply_bytes"])
                more = {}
                if real is not None:
                    theirs = measure(real, small.method, small.call, clients)
                    more = {"metastore": theirs, "ratio": round(ours["per_s"] / theirs["per_s"], 1)}
                show(f"any: {row.name}", clients=clients, endpoint=ours, prototype=bare, **more)
        if real is not None:
            call = partial(
                arguments, RELAYED, request("GetValidWriteIdsRequest", fullTableNames=[f"{DB}.t0"])
            )
            for clients in CLIENTS:
                direct = measure(real, RELAYED, call, clients)
                through = measure(here, RELAYED, call, clients)
                extra = round(through["p50_ms"] - direct["p50_ms"], 3)
                show(
                    f"relayed: {RELAYED}",
                    clients=clients,
                    endpoint=through,
                    metastore=direct,
                    extra_ms=extra,
                )


def measure_latest(keys: str) -> None:
    with postgres.server() as database:
        url = database.new_database()
        make_empty_log(url, EVENT)
        with server(url) as here:
            row = next(rows(TABLES, keys))
            for name in ("nothing happens", "200 events/s on other tables"):
                stop = threading.Event()
                writer = threading.Thread(target=write_events, args=(url, stop))
                if "200" in name:
                    writer.start()
                ours = measure(here, row.method, row.call, LATEST_CLIENTS)
                stop.set()
                bare = prototype(here, LATEST_CLIENTS, ours["reply_bytes"])
                what = f"latest: {row.name}, {name}"
                show(what, clients=LATEST_CLIENTS, endpoint=ours, prototype=bare)
                if writer.ident is not None:
                    writer.join()


def measure_relayed() -> None:
    """Measures how much longer a relayed call takes if the metastore behind the server takes no
    time.
    """
    with (
        server() as behind,
        server(upstream=f"thrift://127.0.0.1:{behind.port + 1}") as here,
    ):
        for clients in CLIENTS:
            direct = prototype(behind, clients, RELAYED_BYTES)
            through = measure(here, PROTOTYPE, partial(nothing, RELAYED_BYTES), clients)
            extra = round(through["p50_ms"] - direct["p50_ms"], 3)
            show("relayed", clients=clients, endpoint=through, prototype=direct, extra_ms=extra)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metastore", action="store_true")
    parser.add_argument("--keys", choices=random_keys.KINDS, default="uniform")
    options = parser.parse_args()
    with ExitStack() as stack:
        real = stack.enter_context(metastore()) if options.metastore else None
        measure_any(real, options.keys)
    measure_relayed()
    measure_latest(options.keys)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        main()
