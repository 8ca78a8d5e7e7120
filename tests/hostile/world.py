"""A worker and a connector as processes, with what they stand on, and clients that measure."""

import http.client
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from thriftpy2.thrift import TApplicationException

from metatide.config.schema import State
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from state.topic import Topic
from tests.hostile import seeds
from tests.hostile.exchange import ThriftPort
from tests.hostile.probes import Probes, probing
from tests.query_api.sales import ORDERS, sales
from tests.query_api.thrift.http_transport.clients import HEADERS
from tests.query_api.thrift.methods import wire
from tests.query_api.thrift.methods.corpus import Call
from tests.query_api.thrift.structs import message
from tests.support.kafka.topics import new_topic
from tests.support.workers import PATIENCE_S, WorkerProcess, workers

SHARDS: Final = 4
WAIT_S_MAX: Final = 1.0
TRIES: Final = 3
MEMORY_MIB_MAX: Final = State().memory_mib + 256


class World(NamedTuple):
    """The processes, and how well they are."""

    topic: Topic
    worker: WorkerProcess
    connector: WorkerProcess
    thrift: ThriftPort
    thrift_over_http: int
    """The port."""
    probes: Probes

    def fault(self, exchange: Callable[[], str | None]) -> str | None:
        """What is wrong with an exchange, or with what others saw meanwhile.

        A wait counts only if it repeats, because the machine has other work as well.
        """
        for _ in range(TRIES):
            self.probes.longest_s()
            fault = exchange() or self._fault_of_processes() or self.probes.fault()
            if fault is not None:
                return fault
            waited_s = self.probes.longest_s()
            if waited_s <= WAIT_S_MAX:
                return None
        return f"others wait for {waited_s:.1f} s"

    def until_folded(self) -> None:
        """Waits until each shard has folded what the topic holds, or says why it can't."""
        self.worker.until(
            lambda status: all(
                shard["fault"] or not shard["lag_records"] for shard in status["shards"]
            )
        )

    def _fault_of_processes(self) -> str | None:
        for process in (self.worker, self.connector):
            if not process.running:
                return f"{process.name} ended:\n{process.log.read_text()[-4000:]}"
            assert process.process is not None
            mib = psutil.Process(process.process.pid).memory_info().rss >> 20
            if mib > MEMORY_MIB_MAX:
                return f"{process.name} has {mib} MiB"
        return None


@contextmanager
def standing(folder: Path, servers: str, database_url: str) -> Iterator[World]:
    """The world of `sales`, served by one worker that has loaded it."""
    sales(database_url)
    topic = new_topic(servers, SHARDS)
    ports = Ports(folder / "ports.json")
    thrift_port, connect_port = ports.take("thrift"), ports.take("connector")
    thrift_http_port = ports.take("thrift over HTTP")
    database = {"METATIDE_DATABASE_URL": database_url}
    worker = WorkerProcess(
        topic,
        folder,
        "worker",
        METATIDE_THRIFT_PORT=str(thrift_port),
        METATIDE_THRIFT_HTTP_PORT=str(thrift_http_port),
        **database,
    )
    connector = WorkerProcess(
        topic,
        folder,
        "connector",
        "metatide connect",
        METATIDE_CONNECT_PORT=str(connect_port),
        METATIDE_KAFKA_PARTITIONS=str(SHARDS),
        **database,
    )
    connector.port = connect_port
    with workers(connector, worker), ExitStack() as stack:
        worker.until_ready(SHARDS)
        connected = wire.connect(f"thrift://{LOOPBACK}:{thrift_port}")
        client, well_behaved = stack.enter_context(connected), seeds.well_behaved()
        http_client = http.client.HTTPConnection(LOOPBACK, worker.port, timeout=60)
        stack.callback(http_client.close)
        call = message(well_behaved.method, well_behaved.given)
        posts = http.client.HTTPConnection(LOOPBACK, thrift_http_port, timeout=60)
        stack.callback(posts.close)

        def ask_thrift() -> None:
            # After some orders the cache doesn't answer, and there is no metastore behind it.
            with suppress(TApplicationException):
                answer = wire.result(well_behaved.method, client.call(*well_behaved))
                assert answer["table"]["tableName"] == ORDERS.table

        def ask_thrift_over_http() -> None:
            posts.request("POST", "/metastore", call, HEADERS)
            assert _status(posts) == 200

        def ask_http() -> None:
            http_client.request("GET", f"{seeds.TABLE}?consistency=any")
            assert _status(http_client) == 200

        def ask_connector() -> None:
            connection = http.client.HTTPConnection(LOOPBACK, connect_port, timeout=60)
            with closing(connection):
                connection.request("GET", "/healthz")
                assert _status(connection) in (200, 503)

        until_cached(client, well_behaved)
        probes = stack.enter_context(
            probing(
                thrift=ask_thrift,
                thrift_over_http=ask_thrift_over_http,
                http=ask_http,
                connector=ask_connector,
            )
        )
        thrift = ThriftPort(thrift_port, lambda: refused_connections(worker).total())
        yield World(topic, worker, connector, thrift, thrift_http_port, probes)


def refused_connections(worker: WorkerProcess) -> Counter[str]:
    """How many connections the worker ended, by reason. Where no metastore answers, most clients
    are told so, and their connections go on, so these aren't among them.
    """
    with closing(http.client.HTTPConnection(LOOPBACK, worker.port, timeout=60)) as connection:
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
    refused = re.findall(r'thrift_refused_total\{reason="(\w+)"\} (\S+)', page)
    return Counter({reason: int(float(n)) for reason, n in refused if reason != "upstream"})


def until_cached(client: wire.RawClient, call: Call) -> None:
    """Asks until the cache answers."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with suppress(TApplicationException):
            client.call(*call)
            return
        assert time.monotonic() < deadline, "the table isn't loaded"
        time.sleep(0.1)


def _status(connection: http.client.HTTPConnection) -> int:
    response = connection.getresponse()
    response.read()
    return response.status
