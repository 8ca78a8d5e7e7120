"""How traces leave a process."""

import gzip
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from hive.errors import InputError
from metatide.config import Config
from metatide.config.schema import Tracing
from metatide.config.values import HttpUrl
from metatide.process.tracing import traced


@contextmanager
def collector() -> Iterator[tuple[Config, list[bytes]]]:
    """A configuration that names a collector, and what that one gets."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            bodies.append(gzip.decompress(body) if is_packed else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        endpoint = HttpUrl(f"http://127.0.0.1:{server.server_port}/v1/traces")
        yield Config(tracing=Tracing(endpoint, 1_000)), bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_spans_reach_the_collector_before_the_process_ends() -> None:
    with collector() as (config, bodies):
        with traced(config, "metatide-work") as tracing:
            assert tracing is not None
            with tracing.request("GET", "/v1/catalogs", []):
                pass
        [request] = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    [resource] = request.resource_spans
    names = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert names["service.name"] == "metatide-work"
    [scope] = resource.scope_spans
    assert [span.name for span in scope.spans] == ["request"]


def test_a_collector_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with (
        collector() as (config, _),
        pytest.raises(InputError, match="extra otel"),
        traced(config, "metatide-work"),
    ):
        pass


def test_by_default_there_are_none() -> None:
    with traced(Config(), "metatide-work") as tracing:
        assert tracing is None
