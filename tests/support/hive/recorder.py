"""A relay between a client of a metastore and its server, which keeps the calls that pass."""

import socket
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from thriftpy2.protocol import binary
from thriftpy2.thrift import TType

from metatide.stack.machine import LOOPBACK
from tests.support.hive import idl

_CHUNK = 65_536
_NAME_AT = 8
# Its functions have no types.
_BINARY: Any = binary


@dataclass(frozen=True)
class Call:
    """A call that a client made; without arguments if the interface here doesn't know it."""

    method: str
    arguments: Any

    @property
    def write_ids(self) -> str | None:
        """The write-id list in the request."""
        return getattr(self._request, "validWriteIdList", None)

    @property
    def table_id(self) -> int | None:
        return getattr(self._request, "id", None)

    @property
    def _request(self) -> Any:
        return getattr(self.arguments, "req", None) or getattr(self.arguments, "request", None)


class Recorder:
    """What clients have sent, by connection."""

    def __init__(self) -> None:
        self.address = ""
        self._sent: list[bytearray] = []
        self._actions: dict[bytes, Callable[[], None]] = {}

    def connection(self) -> bytearray:
        """Where to put what comes over a new connection."""
        sent = bytearray()
        self._sent.append(sent)
        return sent

    @property
    def sent(self) -> list[bytes]:
        """What has come over each connection."""
        return [bytes(data) for data in self._sent]

    def before(self, method: str, action: Callable[[], None]) -> None:
        """Does this before it passes on the next call of a method."""
        self._actions[method.encode()] = action

    def passes(self, data: bytes) -> None:
        """Called with what a client sends, one call after the other, before it is passed on."""
        length = int.from_bytes(data[4:_NAME_AT])
        action = self._actions.pop(data[_NAME_AT : _NAME_AT + length], None)
        if action is not None:
            action()

    def take(self) -> list[Call]:
        """The calls since this was last called; no client may be in the middle of one."""
        calls: list[Call] = []
        for sent in self._sent:
            calls += _calls(bytes(sent))
            sent.clear()
        return calls


def _calls(data: bytes) -> Iterator[Call]:
    stream = BytesIO(data)
    protocol = _BINARY.TBinaryProtocol(stream)
    service = idl.load().ThriftHiveMetastore
    while stream.tell() < len(data):
        method, _, _ = protocol.read_message_begin()
        kind = getattr(service, f"{method}_args", None)
        arguments = None
        if kind is None:
            _BINARY.skip(stream, TType.STRUCT)
        else:
            arguments = kind()
            protocol.read_struct(arguments)
        protocol.read_message_end()
        yield Call(method, arguments)


@contextmanager
def recording(address: str) -> Iterator[Recorder]:
    """Relays to the server at thrift://HOST:PORT for as long as the block lasts."""
    target = urlsplit(address)
    recorder = Recorder()

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            sent = recorder.connection()
            with socket.create_connection((target.hostname, target.port)) as upstream:
                back = Thread(target=_copy, args=(upstream, self.request), daemon=True)
                back.start()
                while data := _received(self.request):
                    sent += data
                    recorder.passes(data)
                    upstream.sendall(data)
                with suppress(OSError):
                    upstream.shutdown(socket.SHUT_RDWR)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server((LOOPBACK, 0), Relay) as server:
        recorder.address = f"thrift://{LOOPBACK}:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield recorder
        finally:
            server.shutdown()
            thread.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := _received(source):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)


def _received(source: socket.socket) -> bytes:
    try:
        return source.recv(_CHUNK)
    except ConnectionResetError:
        return b""
