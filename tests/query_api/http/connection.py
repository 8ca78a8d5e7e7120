"""Requests and responses as one connection has them, byte by byte."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.query_api.http.warm_shards import ANY, TABLE

NAMES = f"{TABLE}/partition-names?{ANY}"


@contextmanager
def connection(url: str) -> Iterator[socket.socket]:
    parts = httpx.URL(url)
    with socket.create_connection((parts.host, parts.port or 0), timeout=30) as opened:
        yield opened


def request(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def response(opened: socket.socket, count: int = 1) -> list[tuple[str, dict[str, str], bytes]]:
    """Status line, headers and body of so many responses; fewer where the server hangs up."""
    responses: list[tuple[str, dict[str, str], bytes]] = []
    data = b""
    while len(responses) < count:
        head, end, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}
        length = int(headers.get("content-length", 0))
        if end and len(rest) >= length:
            responses.append((lines[0], headers, rest[:length]))
            data = rest[length:]
        elif more := opened.recv(1 << 16):
            data += more
        else:
            break
    return responses
