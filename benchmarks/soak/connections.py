"""Connections that ask one thing after the other."""

import asyncio
from typing import Final

from metatide.stack.machine import LOOPBACK
from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import MessageType, header
from tests.query_api.thrift.methods.wire import arguments, request

_CHUNK_BYTES: Final = 1 << 18
_REPLY_BYTES_MAX: Final = 1 << 28
_INSERT_ONLY_TABLES: Final = 2


class _Connection:
    """A connection that is opened when it is first needed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def _send(self, data: bytes) -> asyncio.StreamReader:
        """Sends bytes, and returns where the answer arrives."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(LOOPBACK, self._port)
        reader, writer = self._streams
        writer.write(data)
        return reader


class HttpConnection(_Connection):
    """A connection that is kept alive."""

    async def get(self, path: str) -> tuple[int, str, bytes]:
        """The status, the source and the body of an answer."""
        reader = await self._send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers.get("metatide-source", ""), body


class ThriftConnection(_Connection):
    """A connection as Hive's clients open it."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._scanner = Scanner(_REPLY_BYTES_MAX)

    async def reply(self, call: bytes) -> MessageType:
        """The kind of the answer to a call."""
        reader = await self._send(call)
        while self._scanner.feed(await reader.read(_CHUNK_BYTES)) < 0:
            pass
        return MessageType(self._scanner.kind)


def get_table(database: str, table: str) -> bytes:
    """The call by which engines read a table."""
    able = request("ClientCapabilities", values=[_INSERT_ONLY_TABLES])
    asked = request("GetTableRequest", dbName=database, tblName=table, capabilities=able)
    return header(MessageType.CALL, "get_table_req", bytes(4)) + arguments("get_table_req", asked)
