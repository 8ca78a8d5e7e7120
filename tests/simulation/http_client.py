"""A client of workers over HTTP."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import httptools

from hive.names import partition_name
from hive.write_ids.text import print_write_id_list
from query_api.http.endpoints import ENDPOINTS, Endpoint
from query_api.reads.databases import GetDatabase
from query_api.reads.partitions import GetPartition, ListPartitions
from query_api.reads.read import Read
from query_api.reads.tables import GetTable, ListTables
from query_api.requirement import Requirement
from tests.simulation.network import Address

ANSWER_S_MAX: Final = 90.0
_TABLE: Final = "/v1/databases/{db}/tables/{table}"
_PATHS: Final[Mapping[type[Read[Any]], str]] = {
    GetTable: _TABLE,
    ListPartitions: f"{_TABLE}/partitions",
    GetPartition: f"{_TABLE}/partitions/{{name:path}}",
    ListTables: "/v1/databases/{db}/tables",
    GetDatabase: "/v1/databases/{db}",
}
_ENDPOINTS: Final = {endpoint.path: endpoint for endpoint in ENDPOINTS}


def endpoint_of(read: Read[Any]) -> Endpoint:
    return _ENDPOINTS[_PATHS[type(read)]]


def request(worker: Address, read: Read[Any], requirement: Requirement) -> bytes:
    """The request for a read."""
    lines = [
        f"GET {_path(read)} HTTP/1.1",
        f"host: {worker[0]}:{worker[1]}",
        *(f"metatide-{name}: {value}" for name, value in _conditions(requirement)),
    ]
    return "\r\n".join((*lines, "", "")).encode()


def _path(read: Read[Any]) -> str:
    path = _PATHS[type(read)]
    match read:
        case GetTable(name) | ListPartitions(name):
            return path.format(db=name.db, table=name.table)
        case GetPartition(name, keys, values):
            of_table = _TABLE.format(db=name.db, table=name.table)
            return f"{of_table}/partitions/{partition_name(keys, values)}"
        case ListTables(db) | GetDatabase(db):
            return path.format(db=db.db)
        case _:
            raise AssertionError(f"no path for {read}")


def _conditions(requirement: Requirement) -> Iterator[tuple[str, object]]:
    yield "consistency", requirement.consistency
    if requirement.write_ids is not None:
        yield "write-ids", print_write_id_list(requirement.write_ids)
        yield "table-id", requirement.table_id
        yield "accept-newer", str(requirement.accept_newer).lower()
    if requirement.min_position is not None:
        yield "min-position", requirement.min_position
    if requirement.max_wait_ms is not None:
        yield "max-wait-ms", requirement.max_wait_ms
    if requirement.max_age_ms:
        yield "max-age-ms", requirement.max_age_ms


class HttpAnswer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient:
    """Keeps connections to workers open, as many as there are requests at a time."""

    def __init__(self) -> None:
        self._idle: dict[Address, list[_Connection]] = {}

    async def ask(self, worker: Address, message: bytes) -> HttpAnswer:
        """Raises OSError if the worker can't be reached or ends meanwhile, or TimeoutError."""
        async with asyncio.timeout(ANSWER_S_MAX):
            connection = await self._connection(worker)
            try:
                answer = await connection.ask(message)
            except BaseException:
                connection.close()
                raise
        self._idle.setdefault(worker, []).append(connection)
        return answer

    async def _connection(self, worker: Address) -> "_Connection":
        idle = self._idle.get(worker, [])
        while idle:
            connection = idle.pop()
            if connection.is_open:
                return connection
        _, connection = await asyncio.get_running_loop().create_connection(_Connection, *worker)
        return connection


class _Connection(asyncio.Protocol):
    """A connection that carries one request at a time; httptools calls its methods."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._answer: asyncio.Future[HttpAnswer]
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    async def ask(self, message: bytes) -> HttpAnswer:
        self._answer = asyncio.get_running_loop().create_future()
        self._headers, self._body = {}, []
        self._transport.write(message)
        return await self._answer

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        answer = getattr(self, "_answer", None)
        if answer is not None and not answer.done():
            answer.set_exception(exc or ConnectionResetError("the worker has hung up"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if not self._answer.done():
            status, body = self._parser.get_status_code(), b"".join(self._body)
            self._answer.set_result(HttpAnswer(status, self._headers, body))
