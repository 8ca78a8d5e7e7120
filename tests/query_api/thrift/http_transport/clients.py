"""Clients that speak HTTP byte by byte."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import httptools

from tests.query_api.thrift.serving import HOST, PATIENCE_S, Running, serving
from tests.query_api.thrift.structs import message

PATH = "/metastore/*"
SPNEGO: Final = "1.3.6.1.5.5.2"
HEADERS = {
    "host": "localhost",
    "content-type": "application/x-thrift",
    "x-actor-username": "ann",
}
HEAD = f"POST {PATH} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in HEADERS.items())
"""The beginning of a request."""


def post(
    body: bytes, headers: Mapping[str, str] | None = None, path: str = PATH, method: str = "POST"
) -> bytes:
    """A whole request."""
    lines = {**HEADERS, "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def call(method: str, body: bytes = b"\0", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole request with a call."""
    return post(message(method, body), headers)


def basic(user: str, password: str) -> dict[str, str]:
    text = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"authorization": f"Basic {text}"}


def negotiate(token: bytes) -> dict[str, str]:
    return {"authorization": f"Negotiate {base64.b64encode(token).decode()}"}


class Answer:
    """A response, as the parser has it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self._received = bytearray()
        self.is_whole = False
        self.keeps_open = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode().lower(), value.decode()))

    @property
    def body(self) -> bytes:
        return bytes(self._received)

    def on_body(self, body: bytes) -> None:
        self._received += body

    def on_message_complete(self) -> None:
        self.is_whole = True

    def header(self, name: str) -> str:
        return ", ".join(value for its_name, value in self.headers if its_name == name)


class HttpClient:
    """A connection as a client has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, request: bytes) -> Answer:
        self.writer.write(request)
        return await self.answer()

    async def answer(self) -> Answer:
        """The next response."""
        answer = Answer()
        parser = httptools.HttpResponseParser(answer)
        while not answer.is_whole:
            async with asyncio.timeout(PATIENCE_S):
                piece = await self.reader.read(1 << 16)
            assert piece, f"the connection ended within a response: {answer.body[:200]!r}"
            parser.feed_data(piece)
        answer.status = parser.get_status_code()
        answer.keeps_open = answer.header("connection") != "close"
        return answer

    async def is_ended(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionResetError):
                return await self.reader.read(1) == b""
            return True

    def close(self) -> None:
        self.writer.transport.abort()


class HttpRunning:
    """A server with a port for HTTP."""

    def __init__(self, running: Running, port: int) -> None:
        self.running = running
        self.port = port
        self.clients: list[HttpClient] = []

    async def connect(self, **options: Any) -> HttpClient:
        client = HttpClient(*await asyncio.open_connection(HOST, self.port, **options))
        self.clients.append(client)
        return client

    async def ask(self, request: bytes, **options: Any) -> Answer:
        """The response to a request on a connection of its own."""
        return await (await self.connect(**options)).ask(request)

    def metrics(self) -> str:
        return self.running.metrics()

    def users(self) -> list[str]:
        """Who sent each call."""
        return [call.client.user for call in self.running.methods.calls]

    @property
    def bytes_in_flight(self) -> int:
        return self.running.server._budget.bytes


@asynccontextmanager
async def serving_http(*metastores: Any, **options: Any) -> AsyncIterator[HttpRunning]:
    """A server as `serving` has it, with a port for HTTP."""
    async with serving(*metastores, **options) as running:
        here = HttpRunning(running, await running.server.start_http(HOST, 0))
        try:
            yield here
        finally:
            for client in here.clients:
                client.close()
