"""The Thrift server of a simulated metastore."""

import asyncio
from typing import Any, Final

from hive.errors import SourceError
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import Fault, MessageType, header, refusal
from tests.simulation.content import ContentObjects
from tests.simulation.database import Database
from tests.simulation.metastore import Metastore
from tests.simulation.thrift_calls import WRITE, ThriftCall, result_of, write_of, written

_BYTES_MAX: Final = 1 << 20
_STATEMENTS_S: Final = (0.000_3, 0.004)


class MetastoreServer(asyncio.Protocol):
    """One connection: calls are answered in turn."""

    def __init__(self, metastore: Metastore, database: Database, cache_s: float) -> None:
        """Reads are answered from a cache that is up to `cache_s` old."""
        self._cache_s = cache_s
        self._metastore = metastore
        self._database = database
        self._scanner = Scanner(_BYTES_MAX)
        self._partial = b""
        self._transport: asyncio.Transport
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._partial += data
        end = self._scanner.feed(data)
        if end < 0:
            return
        assert end == len(data), "a worker sends one call at a time"
        message, self._partial = self._partial, b""
        scanner = self._scanner
        call = ThriftCall(scanner.method, message[scanner.body_at :])
        self._answering = asyncio.get_running_loop().create_task(
            self._answer(call, scanner.sequence)
        )

    async def _answer(self, call: ThriftCall, sequence: bytes) -> None:
        try:
            result = await self._result(call)
        except SourceError as error:
            reply = refusal(call.method, sequence, Fault.INTERNAL_ERROR, str(error))
        else:
            reply = header(MessageType.REPLY, call.method, sequence) + result
        self._transport.write(reply)

    async def _result(self, call: ThriftCall) -> bytes:
        loop = asyncio.get_running_loop()
        if call.method == WRITE:
            return await loop.run_in_executor(None, self._write, *write_of(call.arguments))
        database = self._database
        await asyncio.sleep(database.delay_s(*_STATEMENTS_S))
        database.check()
        now = database.at(self._metastore.random.uniform(0.0, self._cache_s))
        await asyncio.sleep(database.delay_s(*_STATEMENTS_S))
        objects: Any = ContentObjects(now.content, now.event)
        return result_of(call, objects)

    def _write(self, kind: str, picks: tuple[int, ...]) -> bytes:
        event = self._metastore.write(kind, picks)
        return written(None if event is None else self._database.now.number)
