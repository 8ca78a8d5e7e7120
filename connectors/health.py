"""The state of a connector over HTTP: /metrics for Prometheus, /healthz for liveness probes."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from connectors.connector import Status
from hive.errors import MachineError

STUCK_S = 60.0
"""A connector that makes no step for this long hangs; reading and waiting take far less."""


@contextmanager
def serving(
    host: str, port: int, status: Status, registry: CollectorRegistry
) -> Iterator[tuple[str, int]]:
    """Serves until the block ends, and gives the address: port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path == "/healthz":
                fault = _fault(status)
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
        server = ThreadingHTTPServer((host, port), Handler)
    except OSError as error:
        raise MachineError(
            f"can't listen on {host}:{port}: {error.strerror}; choose another connect.port"
        ) from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield server.server_address[0], server.server_address[1]  # type: ignore[misc]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _fault(status: Status) -> str | None:
    still_s = time.monotonic() - status.turned_at
    if still_s > STUCK_S and status.waits_for is None:
        return f"no step for {still_s:.0f} s"
    return status.waits_for
