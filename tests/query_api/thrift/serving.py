"""A server over methods made for the test, clients that speak bytes, and metastores that listen."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from prometheus_client import generate_latest

from query_api.backend import Backend
from query_api.in_flight import Budget
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift.call import Call, CallAnswer, Relay, Substitute
from query_api.thrift.metastore.link import Address
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.server import ThriftServer
from query_api.thrift.settings import ThriftSettings
from state.tracing import Tracing
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.query_api.thrift.structs import message, text

HOST = "127.0.0.1"
PATIENCE_S = 60.0


def result(value: str) -> bytes:
    """The result struct of a method that gives a text."""
    return text(0, value) + b"\0"


def answer(value: str | Iterable[bytes], event: int = 1, **more: Any) -> CallAnswer:
    found = result(value) if isinstance(value, str) else value
    return CallAnswer(found, Source.CACHE, Reason.FRESH, Position(0, event), **more)


class ScriptedMethods:
    """Methods as a test gives them: functions of the call, the asynchronous ones awaited."""

    def __init__(self, **methods: Callable[[Call], Any]) -> None:
        self._methods = methods
        self.calls: list[Call] = []
        self.substitutes: dict[str, Substitute] = {}

    @property
    def names(self) -> set[str]:
        return set(self._methods)

    def answer_now(self, call: Call) -> CallAnswer | Relay | None:
        self.calls.append(call)
        outcome = self._methods[call.method](call)
        if asyncio.iscoroutine(outcome):
            outcome.close()
            return None
        assert isinstance(outcome, CallAnswer | Relay)
        return outcome

    async def answer(self, call: Call) -> CallAnswer | Relay:
        found = self._methods[call.method](call)
        answered: CallAnswer | Relay = await found if asyncio.iscoroutine(found) else found
        return answered

    def may_be_dropped(self, method: str) -> bool:
        return method in self.substitutes

    async def instead(self, call: Call) -> Substitute | None:
        return self.substitutes.get(call.method)


class Reply(NamedTuple):
    """A whole message that a client got."""

    method: str
    kind: int
    sequence: int
    body: bytes
    data: bytes


class Client:
    """A connection as a client has it; None for a reply means that it was ended."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_framed: bool = False
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._scanner = Scanner(1 << 30)
        self._frames = Frames() if is_framed else None
        self._rest = b""
        self._sequence = 0

    def send(self, data: bytes) -> None:
        self.writer.write(data if self._frames is None else self._frames.framed(data))

    async def call(self, method: str, body: bytes = b"\0", **more: Any) -> Reply | None:
        self._sequence += 1
        self.send(message(method, body, sequence=self._sequence, **more))
        return await self.reply()

    async def reply(self) -> Reply | None:
        data = bytearray()
        while True:
            piece, self._rest = self._rest, b""
            if not piece:
                async with asyncio.timeout(PATIENCE_S):
                    piece = await self.reader.read(1 << 16)
                if not piece:
                    return None
                if self._frames is not None:
                    piece = self._frames.feed(piece)
            end = self._scanner.feed(piece)
            data += piece if end < 0 else piece[:end]
            if end >= 0:
                self._rest = piece[end:]
                scanner = self._scanner
                sequence = struct.unpack("!i", scanner.sequence)[0]
                whole = bytes(data)
                body = whole[scanner.body_at :]
                return Reply(scanner.method, scanner.kind, sequence, body, whole)

    async def close(self) -> None:
        """Ends the connection; TLS would wait for the other end, which may be gone."""
        self.writer.transport.abort()


class Metastore:
    """Listens where a metastore would, and says what it heard in its answers.

    Enough of one to see who calls it when; what a real one says is seen in `test_metastore`.
    """

    def __init__(self, name: str = "m") -> None:
        self.name = name
        self.heard: list[str] = []
        self.calls: list[bytes] = []
        """What arrived, in pieces."""
        self.replies: dict[str, bytes | None] = {}
        """By method; None ends the connection."""
        self.kinds: dict[str, int] = {}
        """The types of messages by method, if they are no replies."""
        self.delay_s = 0.0
        """How long it waits before it answers."""
        self.connections = 0
        self.address: Address = HOST, 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, *self.address)
        self.address = self._server.sockets[0].getsockname()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0.001)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        scanner = Scanner(1 << 30)
        try:
            while piece := await reader.read(1 << 16):
                self.calls.append(piece)
                await asyncio.sleep(self.delay_s)
                if writer.is_closing():
                    return
                at = 0
                while at < len(piece) and (at := scanner.feed(piece, at)) >= 0:
                    if not self._reply(scanner, writer):
                        return
        except ConnectionResetError:
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        method = scanner.method
        self.heard.append(method)
        reply = self.replies.get(method, result(f"{self.name}:{method}"))
        if reply is None:
            return False
        (sequence,) = struct.unpack("!i", scanner.sequence)
        kind = self.kinds.get(method, 2)
        writer.write(message(method, reply, kind=kind, sequence=sequence))
        return True


class ConfiguredMetastore(Metastore):
    """Tells these settings; all others are unset."""

    def __init__(self, **settings: str) -> None:
        super().__init__()
        self._settings = {
            name.replace("_", ".").encode(): value for name, value in settings.items()
        }

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        values = [value for name, value in self._settings.items() if name in self.calls[-1]]
        self.replies[scanner.method] = result(values[0] if values else "")
        return super()._reply(scanner, writer)


class Running(NamedTuple):
    """A server, and what it stands on."""

    server: ThriftServer
    port: int
    methods: ScriptedMethods
    source: MemoryShards
    database: EmptyDatabase
    metastores: tuple[Metastore, ...]
    clients: list[Client]

    async def connect(self, *, is_framed: bool = False, **options: Any) -> Client:
        reader, writer = await asyncio.open_connection(HOST, self.port, **options)
        client = Client(reader, writer, is_framed)
        self.clients.append(client)
        return client

    def metrics(self) -> str:
        return generate_latest(self.server.metrics).decode()


@asynccontextmanager
async def serving(
    *metastores: Metastore,
    log: LogEnd | None = None,
    more: dict[str, Any] | None = None,
    upstream: UpstreamSettings | None = None,
    settings: ThriftSettings | None = None,
    in_flight: Budget | None = None,
    tracing: Tracing | None = None,
    **methods: Callable[[Call], Any],
) -> AsyncIterator[Running]:
    """A server with these metastores behind it, and these methods."""
    scripted = ScriptedMethods(**methods)
    source = MemoryShards(MemoryShard())
    database = EmptyDatabase(log or LogEnd(0, 5, []))
    for metastore in metastores:
        await metastore.start()
    upstream = upstream or UpstreamSettings(tuple(one.address for one in metastores))
    settings = settings or ThriftSettings()
    backend = Backend(source, database, in_flight, tracing)
    server = ThriftServer(scripted, backend, settings, upstream, **(more or {}))
    port = await server.start(HOST, 0)
    running = Running(server, port, scripted, source, database, metastores, [])
    try:
        yield running
    finally:
        for client in running.clients:
            await client.close()
        await server.close()
        await backend.close()
        for metastore in metastores:
            await metastore.stop()


async def until(what: Callable[[], bool]) -> None:
    """Waits for something that comes about by itself."""
    async with asyncio.timeout(PATIENCE_S):
        while not what():
            await asyncio.sleep(0.005)


def why(reply: Reply | None) -> str:
    """Of an exception of the server's own."""
    assert reply is not None
    assert reply.kind == 3
    length = struct.unpack_from("!i", reply.body, 3)[0]
    return reply.body[7 : 7 + length].decode()
