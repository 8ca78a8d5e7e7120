"""Calls of a metastore as bytes, and results by Hive's own definition of them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack, unpack
from typing import Any
from urllib.parse import urlsplit

from thriftpy2.thrift import TApplicationException, TType
from thriftpy2.utils import deserialize, serialize

from tests.support import idl

_VERSION_1, _CALL, _EXCEPTION = 0x80010000, 1, 3


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
        self._stream = connection.makefile("rb")

    def close(self) -> None:
        """What reads holds the socket open, too."""
        self._stream.close()

    def call(self, method: str, arguments: bytes) -> bytes:
        """The result struct; a TApplicationException is raised."""
        name = method.encode()
        head = pack("!Ii", _VERSION_1 | _CALL, len(name)) + name + pack("!i", 0)
        self._connection.sendall(head + arguments)
        version, length = unpack("!Ii", self._read(8))
        assert self._read(length) == name
        self._read(4)
        data = self._struct()
        if version & 0xFF == _EXCEPTION:
            raise deserialize(TApplicationException(), data)
        return data

    def _struct(self) -> bytes:
        parts = []
        while True:
            kind = self._read(1)
            parts.append(kind)
            if kind == b"\0":
                return b"".join(parts)
            parts.append(self._read(2))
            parts.append(self._value(kind[0]))

    def _value(self, kind: int) -> bytes:
        sizes = {TType.BOOL: 1, TType.BYTE: 1, TType.I16: 2, TType.I32: 4, TType.I64: 8}
        size = sizes.get(kind, 8 if kind == TType.DOUBLE else 0)
        if size:
            return self._read(size)
        if kind == TType.STRUCT:
            return self._struct()
        if kind == TType.STRING:
            length = self._read(4)
            return length + self._read(unpack("!i", length)[0])
        if kind == TType.MAP:
            head = self._read(6)
            key, value, count = unpack("!bbi", head)
            pairs = (self._value(key) + self._value(value) for _ in range(count))
            return head + b"".join(pairs)
        head = self._read(5)
        item, count = unpack("!bi", head)
        return head + b"".join(self._value(item) for _ in range(count))

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        assert len(data) == size, "the metastore closed the connection"
        return data


@contextmanager
def connect(address: str) -> Iterator[RawClient]:
    """A connection to thrift://HOST:PORT."""
    parts = urlsplit(address)
    assert parts.hostname, f"{address} is not thrift://HOST:PORT"
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = RawClient(connection)
        try:
            yield client
        finally:
            client.close()
