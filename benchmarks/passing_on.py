"""Reads that a worker passes on to the one that has the shard, over Thrift and over HTTP.

Two workers share the shards of 1,000 tables. Clients ask the first for tables that the second has:
over Thrift drawn equally often, over HTTP always the same one. Nobody keeps the answers of another,
because the log has no row by which its history would be known. `cpu_us` is the processor time of an
answer in the worker that is asked, and `cpu_us_behind` in the one that has the table. The baselines
are the same reads of tables that the first has, which it answers from its cache, and two processes
on the same event loop that pass on bytes of the same number without reading them.

python -m benchmarks.passing_on [--clients 1 8]
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final, cast

import psutil
import uvloop

from benchmarks.load import Load, command
from benchmarks.report import cpu_s, show
from benchmarks.scale import SHARDS, TABLES, make_log, publish, standing
from benchmarks.thrift import await_port, free_pair
from benchmarks.thrift_load import Server, measure
from hive.names import table_name
from metatide.worker.thrift_owners import PORT_PATH
from query_api.thrift.protocol.wire import MessageType, header
from state.records.routing import table_shard
from tests.query_api.thrift.methods.wire import arguments, request
from tests.support.databases import postgres
from tests.support.kafka import broker as kafka
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess

METHOD: Final = "get_table_req"
PATH: Final = "/v1/databases/bench/tables/t{0}?consistency=any"
SECONDS: Final = 4.0
PATIENCE_S: Final = 30.0


class Prototype(asyncio.Protocol):
    """Answers each call by so many bytes, or passes it on and back."""

    def __init__(self, reply_bytes: int, behind: int) -> None:
        head = header(MessageType.REPLY, METHOD, b"\0\0\0\1")
        text = max(0, reply_bytes - len(head) - 8)
        self._reply = head + b"\x0b\0\0" + text.to_bytes(4) + b"x" * text + b"\0"
        self._behind = behind
        self._passes_on: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._behind:
            self._transport.write(self._reply)
        elif self._passes_on is not None:
            self._passes_on.write(data)
        else:
            self._connecting = asyncio.create_task(self._connect(data))

    async def _connect(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        back = PassBack(self._transport)
        self._passes_on, _ = await loop.create_connection(lambda: back, "127.0.0.1", self._behind)
        self._passes_on.write(data)


class PassBack(asyncio.Protocol):
    """Passes bytes back to a client."""

    def __init__(self, client: asyncio.WriteTransport) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        if not self._client.is_closing():
            self._client.write(data)


async def serve(port: int, reply_bytes: int, behind: int) -> None:
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: Prototype(reply_bytes, behind), "127.0.0.1", port)
    await asyncio.Event().wait()


@contextmanager
def prototypes(reply_bytes: int) -> Iterator[Server]:
    """Two processes, of which the first passes on to the second."""
    port = free_pair()
    command_line = [sys.executable, "-m", "benchmarks.passing_on", "serve"]
    running = [
        subprocess.Popen([*command_line, str(own), str(reply_bytes), str(behind)])
        for own, behind in ((port + 1, 0), (port, port + 1))
    ]
    try:
        for process, own in zip(running, (port + 1, port), strict=True):
            await_port(process, own)
        behind, before = (psutil.Process(process.pid) for process in running)
        yield Server(port, before, behind)
    finally:
        for process in running:
            process.terminate()
            process.wait(PATIENCE_S)


def tables_of(member: WorkerProcess) -> list[int]:
    """The numbers of the tables whose shards a worker has."""
    status = member.status()
    assert status is not None
    shards = {each["shard"] for each in status["shards"]}
    names = ((number, table_name(None, "bench", f"t{number}")) for number in range(TABLES))
    return [number for number, name in names if table_shard(name, SHARDS) in shards]


def calls_of(numbers: list[int]) -> Callable[[], bytes]:
    """Makes calls for tables drawn of these."""
    random = Random(1)
    calls = {
        number: arguments(METHOD, request("GetTableRequest", dbName="bench", tblName=f"t{number}"))
        for number in numbers
    }
    return lambda: calls[random.choice(numbers)]


def over_http(servers: Server, port: int, number: int, clients: int) -> dict[str, Any]:
    """Figures of reads of one table over HTTP."""
    assert servers.behind is not None
    processes = (servers.process, servers.behind)
    before = [cpu_s(process) for process in processes]
    load = command(Load(port, PATH.format(number), clients, SECONDS))
    figures = json.loads(subprocess.check_output(load, timeout=SECONDS + PATIENCE_S))
    spent = [cpu_s(process) - start for process, start in zip(processes, before, strict=True)]
    of_first, of_second = (round(1e6 * each / figures["count"], 1) for each in spent)
    return {
        "per_s": figures["per_s"],
        "p50_ms": figures["p50_ms"],
        "cpu_us": of_first,
        "cpu_us_behind": of_second,
    }


def compare(members: list[WorkerProcess], clients: list[int]) -> None:
    first, second = members
    assert first.process is not None
    assert second.process is not None
    process, behind = psutil.Process(first.process.pid), psutil.Process(second.process.pid)
    answer = first.get(PORT_PATH)
    assert answer is not None
    servers = Server(answer.json()["port"], process, behind)
    own, others = tables_of(first), tables_of(second)
    for count in clients:
        figures = measure(servers, METHOD, calls_of(others), count)
        show("Thrift, passed on", clients=count, **figures)
        with prototypes(figures["reply_bytes"]) as prototype:
            raw = measure(prototype, METHOD, calls_of(others), count)
            show("bytes, passed on", clients=count, **raw)
        cached = measure(servers, METHOD, calls_of(own), count)
        show("Thrift, from the cache", clients=count, **cached)
        show("HTTP, passed on", clients=count, **over_http(servers, first.port, others[0], count))
        show("HTTP, from the cache", clients=count, **over_http(servers, first.port, own[0], count))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    arguments_given = parser.parse_args()
    with postgres.server() as database, kafka.broker() as broker:
        topic, url = new_topic(broker, SHARDS), database.new_database()
        publish(topic, 0)
        make_log(url)
        with standing(topic, url, 2, METATIDE_READS_CONSISTENCY="any") as members:
            compare(members, arguments_given.clients)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        uvloop.run(serve(*map(int, sys.argv[2:])))
    else:
        main()
