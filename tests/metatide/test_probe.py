"""The health check of containers."""

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from metatide import probe
from metatide.probe import fault, question
from metatide.stack.machine import free_port

INIT = ("/sbin/docker-init", "--")
PROGRAM = ("/opt/metatide/bin/python", "/opt/metatide/bin/metatide")


@pytest.fixture(autouse=True)
def _image(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METATIDE_CONNECT_HOST", "0.0.0.0")
    monkeypatch.setenv("METATIDE_CONNECT_PORT", "8080")
    monkeypatch.setenv("METATIDE_WORKER_HOST", "::")
    monkeypatch.setenv("METATIDE_WORKER_PORT", "8081")
    monkeypatch.setenv("METATIDE_HTTP_HOST", "reads.example")
    monkeypatch.setenv("METATIDE_HTTP_PORT", "8082")


@pytest.mark.parametrize(
    ("arguments", "url"),
    [
        ((*PROGRAM, "connect"), "http://127.0.0.1:8080/healthz"),
        ((*PROGRAM, "connect", "--connect-port=7"), "http://127.0.0.1:7/healthz"),
        ((*INIT, "metatide", "work"), "http://[::1]:8081/readyz"),
        ((*INIT, "metatide", "work", "--port", "9"), "http://[::1]:9/readyz"),
        ((*PROGRAM, "serve", "--from-images"), "http://reads.example:8082/readyz"),
        ((*PROGRAM, "prewarm", "--connect-name", "work"), None),
        (PROGRAM, None),
        (("sleep", "work"), None),
    ],
)
def test_each_server_is_asked_where_it_listens(arguments: tuple[str, ...], url: str | None) -> None:
    assert question(arguments) == url


@pytest.mark.parametrize(
    ("host", "asked"), [("10.1.2.3", "10.1.2.3"), ("fd00::7", "[fd00::7]"), ("::", "[::1]")]
)
def test_a_server_is_asked_at_the_address_that_it_has(
    monkeypatch: pytest.MonkeyPatch, host: str, asked: str
) -> None:
    monkeypatch.setenv("METATIDE_CONNECT_HOST", host)
    assert question((*PROGRAM, "connect")) == f"http://{asked}:8080/healthz"


@pytest.mark.parametrize(
    ("arguments", "fails"),
    [
        ("sleep\09\0", None),
        ("metatide\0connect\0--connect-port=PORT\0", "http://127.0.0.1:PORT/healthz: "),
        ("metatide\0connect\0--connect-port=x\0", "--connect-port: the value 'x' is wrong"),
    ],
)
def test_the_process_of_the_container_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, fails: str | None
) -> None:
    port = str(free_port())
    process = tmp_path / "cmdline"
    process.write_text(arguments.replace("PORT", port))
    monkeypatch.setattr(probe, "_PROCESS", process)
    if fails is None:
        probe.main()
    else:
        with pytest.raises(SystemExit) as ended:
            probe.main()
        assert str(ended.value.code).startswith(fails.replace("PORT", port))


def test_settings_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("METATIDE_CONNECT_PORT")
    path = tmp_path / "settings.toml"
    path.write_text("[connect]\nport = 4\n")
    assert question((*PROGRAM, "connect", "--config", str(path))) == "http://127.0.0.1:4/healthz"


@contextmanager
def answering(status: int, certificate: Path | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"waits for brokers")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http{'s' * (certificate is not None)}://127.0.0.1:{server.server_port}/readyz"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_server_is_well_when_it_says_so() -> None:
    with answering(200) as url:
        assert fault(url) is None
    assert "refused" in str(fault(url))
    with answering(503) as url:
        assert fault(url) == f"{url}: 503 waits for brokers"


def test_a_certificate_for_other_names_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-subj", "/CN=worker", "-days", "2"),
            *("-keyout", path, "-out", f"{path}.crt"),
        ],
        check=True,
        capture_output=True,
    )
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    with answering(200, path) as url:
        assert fault(url) is None
    monkeypatch.setenv("METATIDE_READS_TLS_CERTIFICATE", str(path))
    assert question((*PROGRAM, "work")) == "https://[::1]:8081/readyz"
    assert question((*PROGRAM, "connect")) == "http://127.0.0.1:8080/healthz"


def test_it_is_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "metatide.probe"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
