"""The Thrift server beside real metastores, asked by Hive's own Java client.

Clients run closed loops in one process of Java, each over its own connection. Both sides have 1,001
external tables of 20 columns with 110,000 partitions. Those of a metastore are copies of the rows
of one table that it created. The columns are: the server under `any` and `latest`; under
`write_ids` on transactional tables, where each call has the list and the table's id, beside the
same calls without them; a Hive 4.2 metastore on PostgreSQL with ObjectStore, and with CachedStore
in event mode. `bare` is the baseline: on the same event loop, it repeats the bytes that the server
answered to the first call of a method. `cpu_us` is the processor time of a call in the server and
in the clients: where the clients take most of it, it is their reading that is measured.

python -m benchmarks.thrift_java
    [bare] [any] [latest] [write_ids] [ObjectStore] [CachedStore] [relayed]
    [--seconds 2] [--clients 1 8] [--keys uniform|zipf] [--calls get_partition …] [--one-core]

Measures the named columns, or all of them. A column of the server takes a minute and a half, one
of a metastore another minute to fill its database. Each call asks for a table and partition drawn
from all there are: equally often, so that nearly every answer must be read and judged, or by Zipf's
law with exponent 1, where cached answers serve the frequent ones. `--one-core` keeps clients and
server on one core: on two idle ones, each waits for the other to wake up, which takes longer than a
call.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, cast

import psutil
import pyspark
import sqlalchemy as sa
import uvloop
from py4j.java_gateway import JavaGateway

from benchmarks import random_keys, thrift
from benchmarks.empty_log import make_empty_log
from benchmarks.folding import fold
from benchmarks.report import cpu_s, show
from benchmarks.thrift import DB, EVENT, MIB, TABLES, WIDE
from benchmarks.thrift_load import Server
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, metadata
from hive.thrift.binary import decode, encode
from hive.thrift.structs import TABLE
from metatide.config.values import ThriftUrl
from metatide.stack.machine import LOOPBACK
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import Ports
from query_api.thrift.java.gateway import OPENED
from query_api.thrift.protocol.scanner import Scanner
from state.records import Change
from state.records.actions import AllocateWriteIds, AnyAction, CommitTxn, CreateTable
from state.records.objects import TableImage
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES
from tests.support.databases import postgres
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.hive.java import hive_java
from tests.support.processes import open_folder, running

COLUMNS: Final = ("bare", "any", "latest", "write_ids", "ObjectStore", "CachedStore", "relayed")
OURS: Final = ("any", "latest")
CALLS: Final = (
    *("get_table_req", "get_partition", "get_partitions", "get_partitions_by_names_req"),
    *("get_partition_names", "get_partition_names of wide", "get_partitions_by_filter of wide"),
)
WITH_IDS: Final = (
    *("get_table_req", "get_partition_req", "get_partitions_req", "get_partitions_by_names_req"),
    "fetch_partition_names_req",
)
"""The calls that can carry a write-id list."""
JAVA_OPTIONS: Final = (
    *("-Xmx1g", "-Xmn600m", "-XX:+UseParallelGC", "-Dlog4j2.level=OFF"),
    *OPENED,
)
CORE: Final = 0
TRANSACTIONAL: Final = 50
FIRST_ID: Final = 10_001
IDS: Final = f":1:{2**63 - 1}::"
WARM_UP_S: Final = 8.0
"""Java compiles code that runs often; until then, the clients are far slower than the servers. And
while cached answers to random keys still grow in number, each takes new memory from the kernel.
"""
COPY_STEP: Final = 1_000_000
"""The distance between the ids of a row and those of its next copy."""
COPIED: Final = (
    *("SERDES", "SERDE_PARAMS", "CDS", "COLUMNS_V2", "SDS", "SD_PARAMS", "TBLS", "TABLE_PARAMS"),
    *("PARTITION_KEYS", "PARTITIONS", "PARTITION_PARAMS", "PARTITION_KEY_VALS"),
)
IDS_OF_ROWS: Final = ("SERDE_ID", "CD_ID", "SD_ID", "TBL_ID", "PART_ID")


# The server's process.


def transactional(number: int) -> Iterator[AnyAction]:
    """The actions that create a transactional table with one committed write."""
    table, id_, txn = table_name(None, DB, f"w{number}"), FIRST_ID + number, number + 1
    yield AllocateWriteIds(table, (txn,), (1,))
    creates, *puts = thrift.actions(table.table, id_)
    assert isinstance(creates, CreateTable)
    fields = decode(TABLE, creates.table.data)
    fields |= {"tableType": "MANAGED_TABLE", "parameters": {"transactional": "true"}, "writeId": 1}
    yield CreateTable(TableImage(table, id_, 1, True, True, encode(TABLE, fields)))
    yield from puts
    yield CommitTxn(txn, ((DB, 1),))


def fill(store: Store) -> None:
    event = 0
    for number in range(TRANSACTIONAL):
        for action in transactional(number):
            event += 1
            fold(store, Change(0, event - 1, event, (action,)))
    thrift.fill(store, event)


Kind = tuple[bytes, bool]
"""The head of a call up to its sequence number, and whether it is about the large table."""


class Bare(asyncio.Protocol):
    """Repeats the server's answer to the first call of a method for a table of the same size."""

    def __init__(self, server_port: int, replies: dict[Kind, tuple[bytes, bytes]]) -> None:
        """`replies` has the bytes before and after the sequence number, by kind of call."""
        self._server_port = server_port
        self._replies = replies
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        at = 8 + data[7]
        reply = self._replies.get(_kind(data, at))
        if reply is None:
            self._asking = asyncio.ensure_future(self._ask(data, at))
        else:
            self._write(reply, data[at : at + 4])

    def _write(self, reply: tuple[bytes, bytes], sequence: bytes) -> None:
        assert self._transport is not None
        self._transport.write(b"".join((reply[0], sequence, reply[1])))

    async def _ask(self, call: bytes, at: int) -> None:
        reader, writer = await asyncio.open_connection(LOOPBACK, self._server_port)
        writer.write(call)
        scanner, reply = Scanner(100 * MIB), b""
        while True:
            data = await reader.read(1 << 20)
            reply += data
            if not data or scanner.feed(data) >= 0:
                break
        writer.close()
        answer = reply[:at], reply[at + 4 :]
        self._replies[_kind(call, at)] = answer
        self._write(answer, call[at : at + 4])


def _kind(call: bytes, at: int) -> Kind:
    return call[:at], WIDE.encode() in call


def serve(port: int, url: str, upstream: str) -> None:
    identity = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
    budget = MemoryBudget(128 * MIB)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store(path, identity, families=SHARD_FAMILIES, budget=budget) as store:
            fill(store)
            beside = partial(Bare, port, {})
            uvloop.run(thrift.run_server(store, port, url, upstream, beside))


# The clients' process.


endpoint = partial(thrift.server, module="benchmarks.thrift_java")


@contextmanager
def metastore(url: str, name: str) -> Iterator[Server]:
    with open_folder() as folder:
        cached = name == "CachedStore"
        settings = Settings(
            sa.make_url(url), folder / "warehouse", cached_store=cached, optimizes=True
        )
        service = Metastore(folder / name, Ports(folder / "ports.json"), settings)
        began = perf_counter()
        with running(service, folder / "log") as process:
            show(f"{name}: until its port is open", seconds=round(perf_counter() - began, 1))
            yield Server(ThriftUrl(service.address).address[1], psutil.Process(process.pid))


def fill_database(url: str) -> None:
    """Has a metastore write its rows for two tables, and copies the rows of the first one."""
    with ExitStack() as stack:
        service = stack.enter_context(metastore(url, "ObjectStore"))
        client = stack.enter_context(hms_client.connect(f"thrift://{LOOPBACK}:{service.port}"))
        client.create_database(DB)
        for name in ("t0", WIDE):
            keys = dict.fromkeys(thrift.keys_of(name), "string")
            wanted = objects.table(DB, name, thrift.COLUMNS, keys, transactional=False)
            table = client.create_table(wanted)
            values = list(thrift.values_of(name))
            for start in range(0, len(values), 1_000):
                client.add_partitions(table, values[start : start + 1_000])
            if name == "t0":
                copy(url, TABLES - 1)


def copy(url: str, copies: int) -> None:
    series = sa.func.generate_series(1, copies).table_valued("number").render_derived()
    engine = unpooled_engine(url)
    with engine.begin() as connection:
        # Foreign keys aren't checked: they hold in copies, too, and checks take longer than
        # copying.
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        for name in COPIED:
            table = metadata(Version.V4_1).tables[name]
            columns = [copied(one, series.c.number) for one in table.c]
            rows = sa.select(*columns).select_from(table.join(series, sa.true()))
            names = [one.name for one in table.c]
            connection.execute(sa.insert(table).from_select(names, rows))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    engine.dispose()


def copied(column: sa.Column[Any], number: Any) -> Any:
    if column.name in IDS_OF_ROWS:
        return column + COPY_STEP * number
    if column.name == "TBL_NAME":
        return sa.func.concat("t", number)
    return column


class Clients:
    """Loops of Hive's generated client, in Clients.java, which Janino compiles."""

    def __init__(self, java: JavaGateway, seconds: float, keys: str) -> None:
        compiler = java.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(Path(__file__).with_name("Clients.java").read_text())
        self._clients = compiler.getClassLoader().loadClass("Clients").newInstance()
        self.process = psutil.Process(java.jvm.java.lang.ProcessHandle.current().pid())
        self._seconds = seconds
        self._keys = keys

    def run(
        self, side: Server, call: str, clients: int, prefix: str = "t", ids: str = ""
    ) -> dict[str, Any]:
        tables = TABLES if prefix == "t" else TRANSACTIONAL
        what = (side.port, call, DB, prefix, tables, ids, self._keys)
        processes = {"server": side.process, "clients": self.process}
        before = {name: cpu_s(one) for name, one in processes.items()}
        output = self._clients.run(*what, clients, WARM_UP_S, self._seconds)
        per_s, half_us, most_us, count = map(float, output.split())
        cpu_us = {
            name: round(1e6 * (cpu_s(one) - before[name]) / count, 1)
            for name, one in processes.items()
        }
        figures = {"p50_us": round(half_us, 1), "p99_us": round(most_us, 1)}
        return {"per_s": round(per_s), **figures, "cpu_us": cpu_us}


class Figures:
    """Calls per second, by call, number of clients and column."""

    def __init__(self, calls: Sequence[str], clients: Sequence[int]) -> None:
        self.calls = calls
        self.clients = clients
        self._per_s: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)

    def add(self, column: str, asking: Clients, side: Server) -> None:
        for call in self.calls:
            for count in self.clients:
                found = asking.run(side, call, count)
                self._per_s[call, count][column] = found["per_s"]
                show(f"{column}: {call}", clients=count, **found)

    def show_ratios(self) -> None:
        for (call, count), rate in self._per_s.items():
            theirs = {name: per_s for name, per_s in rate.items() if name not in OURS}
            for ours in (one for one in OURS if one in rate):
                ratios = {name: round(rate[ours] / one, 2) for name, one in theirs.items()}
                if ratios:
                    show(f"{ours}, times as many: {call}", clients=count, **ratios)


def with_lists(asking: Clients, side: Server, clients: Sequence[int]) -> None:
    for call in WITH_IDS:
        for count in clients:
            without = asking.run(side, call, count, "w")
            rates = asking.run(side, call, count, "w", IDS)
            ratio = round(rates["per_s"] / without["per_s"], 2)
            show(f"write_ids: {call}", clients=count, **rates, any=without, of_any=ratio)


def relayed(asking: Clients, direct: Server, through: Server, clients: Sequence[int]) -> None:
    for count in clients:
        theirs = asking.run(direct, "get_valid_write_ids", count)
        ours = asking.run(through, "get_valid_write_ids", count)
        extra_ms = round((ours["p50_us"] - theirs["p50_us"]) / 1000, 3)
        extra = {"direct": theirs, "extra_ms": extra_ms}
        show("relayed: get_valid_write_ids", clients=count, **ours, **extra)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("columns", nargs="*", metavar="COLUMN", help=" ".join(COLUMNS))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--keys", choices=random_keys.KINDS, default="uniform")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=CALLS, metavar="CALL")
    options = parser.parse_args()
    columns = options.columns or COLUMNS
    if set(columns) - set(COLUMNS):
        parser.error(f"columns are {', '.join(COLUMNS)}")
    figures = Figures(options.calls, options.clients)
    libraries = Path(pyspark.__file__).parent / "jars"
    janino = [next(libraries.glob(f"{name}-[0-9]*.jar")) for name in ("janino", "commons-compiler")]
    if options.one_core:
        os.sched_setaffinity(0, {CORE})
    with ExitStack() as stack:
        java = stack.enter_context(hive_java(JAVA_OPTIONS, janino))
        asking = Clients(java, options.seconds, options.keys)
        database = stack.enter_context(postgres.server())
        measure_server(columns, figures, asking, database)
        if {"ObjectStore", "CachedStore", "relayed"} & set(columns):
            measure_metastores(columns, figures, asking, database)
    figures.show_ratios()


def measure_server(
    columns: Sequence[str], figures: Figures, asking: Clients, database: postgres.Server
) -> None:
    if {"bare", "any", "write_ids"} & set(columns):
        with endpoint() as side:
            if "any" in columns:
                figures.add("any", asking, side)
            if "bare" in columns:
                figures.add("bare", asking, side._replace(port=side.port + 1))
            if "write_ids" in columns:
                with_lists(asking, side, figures.clients)
    if "latest" in columns:
        make_empty_log(url := database.new_database(), EVENT)
        with endpoint(url) as side:
            figures.add("latest", asking, side)


def measure_metastores(
    columns: Sequence[str], figures: Figures, asking: Clients, database: postgres.Server
) -> None:
    url, began = database.new_database(), perf_counter()
    fill_database(url)
    show("filling the metastores' database", seconds=round(perf_counter() - began, 1))
    if {"ObjectStore", "relayed"} & set(columns):
        with metastore(url, "ObjectStore") as side:
            if "ObjectStore" in columns:
                figures.add("ObjectStore", asking, side)
            if "relayed" in columns:
                with endpoint(upstream=f"thrift://{LOOPBACK}:{side.port}") as through:
                    relayed(asking, side, through, figures.clients)
    if "CachedStore" in columns:
        with metastore(url, "CachedStore") as side:
            figures.add("CachedStore", asking, side)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        main()
