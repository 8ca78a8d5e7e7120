"""Calls of a metastore as bytes, and results by Hive's own definition of them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from thriftpy2.thrift import TApplicationException
from thriftpy2.utils import deserialize, serialize

from query_api.thrift.protocol.scanner import Scanner
from query_api.thrift.protocol.wire import MessageType, header
from tests.support.hive import idl

_REPLY_BYTES_MAX: Final = 1 << 28


def struct_of(name: str) -> Any:
    """A class of the interface; `METHOD_args` and `METHOD_result` too."""
    module = idl.load()
    service = module.ThriftHiveMetastore
    return getattr(module, name, None) or getattr(service, name)


def arguments(method: str, *given: Any, **named: Any) -> bytes:
    """The arguments of a call, in their order or by name."""
    class_ = struct_of(f"{method}_args")
    names = [class_.thrift_spec[id_][1] for id_ in sorted(class_.thrift_spec)]
    return serialize(class_(**dict(zip(names, given, strict=False)), **named))


def request(name: str, /, **fields: Any) -> Any:
    return struct_of(name)(**fields)


def result(method: str, data: bytes) -> Any:
    """The value of a result, or its exception as (its type, its message)."""
    class_ = struct_of(f"{method}_result")
    struct = deserialize(class_(), data)
    for id_, spec in sorted(class_.thrift_spec.items()):
        value = getattr(struct, spec[1])
        if value is not None:
            plain = idl.plain(value)
            return plain if id_ == 0 else (type(value).__name__, plain.get("message"))
    return None


class RawClient:
    """A connection that passes on bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._scanner = Scanner(_REPLY_BYTES_MAX)

    def call(self, method: str, arguments: bytes) -> bytes:
        """The result struct; a TApplicationException is raised."""
        self._connection.sendall(header(MessageType.CALL, method, bytes(4)) + arguments)
        parts = [self._receive()]
        while self._scanner.feed(parts[-1]) < 0:
            parts.append(self._receive())
        assert self._scanner.method == method
        data = b"".join(parts)[self._scanner.body_at :]
        if self._scanner.kind == MessageType.EXCEPTION:
            raise deserialize(TApplicationException(), data)
        return data

    def _receive(self) -> bytes:
        data = self._connection.recv(1 << 18)
        assert data, "the metastore closed the connection"
        return data


@contextmanager
def connect(address: str) -> Iterator[RawClient]:
    """A connection to thrift://HOST:PORT."""
    parts = urlsplit(address)
    assert parts.hostname, f"{address} is not thrift://HOST:PORT"
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield RawClient(connection)
