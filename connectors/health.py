"""The state of a connector over HTTP: /metrics for Prometheus, /healthz and /livez for probes."""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from connectors.connector import Status
from hive.errors import MachineError

STUCK_S = 60.0
"""A connector that makes no step for this long hangs; reading and waiting take far less."""
CONNECTIONS_MAX: Final = 64
"""Beyond this number, the connection that has been open for longest is ended."""
EXCHANGE_S: Final = 10.0
"""The time limit of a connection, for the request and the response together."""
HEAD_BYTES_MAX: Final = 16 * 1024


@contextmanager
def serving(
    host: str, port: int, status: Status, registry: CollectorRegistry
) -> Iterator[tuple[str, int]]:
    """Serves until the block ends, and gives the address: port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            super().setup()
            self.rfile = _Head(cast(RawIOBase, self.connection.makefile("rb", buffering=0)))

        def do_GET(self) -> None:
            if self.path == "/metrics":
                encode, media_type = choose_encoder(self.headers.get("Accept", ""))
                self._answer(HTTPStatus.OK, media_type, encode(registry))
            elif self.path in ("/healthz", "/livez"):
                fault = _hangs(status)
                if self.path == "/healthz":
                    fault = fault or status.waits_for
                code = HTTPStatus.OK if fault is None else HTTPStatus.SERVICE_UNAVAILABLE
                body = json.dumps({"ok": fault is None, "waits_for": fault}).encode()
                self._answer(code, "application/json", body)
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _answer(self, code: HTTPStatus, type_: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", type_)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Logs nothing: probes come every few seconds."""

    try:
        server = _Server((host, port), Handler)
    except OSError as error:
        raise MachineError(
            f"can't listen on {host}:{port}: {error.strerror}; choose another connect.port"
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield server.server_address[0], server.server_address[1]  # type: ignore[misc]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Serves a limited number of connections, each for a limited time."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: dict[socket.socket, float] = {}
        """When each connection must have ended; the oldest is the first."""
        self._lock = threading.Lock()
        [(self.address_family, *_), *_] = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= CONNECTIONS_MAX:
                self._hang_up(next(iter(self._open)))
            self._open[request] = time.monotonic() + EXCHANGE_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        now = time.monotonic()
        with self._lock:
            for request in [request for request, end in self._open.items() if end <= now]:
                self._hang_up(request)

    def _hang_up(self, request: socket.socket) -> None:
        """Ends a connection, whatever its thread waits for."""
        del self._open[request]
        with suppress(OSError):
            request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients hang up, and are hung up on.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Head(BufferedReader):
    """The lines before a request's body, which together have a limit."""

    _left = HEAD_BYTES_MAX

    def readline(self, size: int | None = -1, /) -> bytes:
        if not self._left:
            raise LineTooLong("head")
        line = super().readline(self._left)
        self._left -= len(line)
        return line


def _hangs(status: Status) -> str | None:
    """What only a restart ends; waiting for others isn't."""
    still_s = time.monotonic() - status.turned_at
    if still_s > STUCK_S and status.waits_for is None:
        return f"no step for {still_s:.0f} s"
    return None
