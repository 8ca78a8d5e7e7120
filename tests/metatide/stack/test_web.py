"""Where the address that `metatide up` names leads to, and what clients may do to it."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from metatide.config import Config
from metatide.config.schema import Worker
from metatide.stack.machine import ANY, LOOPBACK, free_port
from metatide.stack.state import Phase, ProcessState, StackState, StateFile
from metatide.stack.web import worker_page
from tests.support import local_http
from tests.support.processes import die_with_parent


def request(name: str) -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "server": ("lake.example", 80),
            "path": "/",
            "query_string": b"",
            "headers": [(b"host", name.encode())],
        }
    )


REQUEST = request("lake.example")


def page(folder: Path, phase: Phase, host: str, asked: Request = REQUEST) -> str | None:
    workers = [ProcessState(f"worker-{n}", f"http://127.0.0.1:80{n}0", phase) for n in (1, 2)]
    state = StackState(1, "http://127.0.0.1:1", [ProcessState("kafka", "", "running"), *workers])
    StateFile(folder).write(state)
    return worker_page(Config(data_dir=folder, worker=Worker(host=host)))(asked)


def test_it_leads_to_a_worker_that_runs(tmp_path: Path) -> None:
    assert worker_page(Config(data_dir=tmp_path))(REQUEST) is None
    assert page(tmp_path, "running", LOOPBACK) == "http://127.0.0.1:8010/"


@pytest.mark.parametrize("phase", ["waiting", "starting", "restarting", "stopped"])
def test_while_none_runs_it_leads_nowhere(tmp_path: Path, phase: Phase) -> None:
    assert page(tmp_path, phase, LOOPBACK) is None


def test_workers_of_all_addresses_are_found_by_that_of_the_request(tmp_path: Path) -> None:
    assert page(tmp_path, "running", ANY) == "http://lake.example:8010/"


@pytest.mark.parametrize(
    ("host", "name", "address"),
    [
        ("::", "lake.example", "lake.example"),
        ("::", "[fd00::1]:8080", "[fd00::1]"),
        ("0:0:0:0:0:0:0:0", "lake.example", "lake.example"),
        # Such a server listens on addresses of its own kind alone.
        ("::", "10.1.2.3", "127.0.0.1"),
        (ANY, "[fd00::1]", "127.0.0.1"),
        ("", "10.1.2.3", "10.1.2.3"),
        ("", "[fd00::1]", "[fd00::1]"),
        ("10.1.2.3", "lake.example", "127.0.0.1"),
    ],
)
def test_all_addresses_are_those_of_one_kind(
    tmp_path: Path, host: str, name: str, address: str
) -> None:
    assert page(tmp_path, "running", host, request(name)) == f"http://{address}:8010/"


IMPATIENT = """
from query_api.http import connection
connection.REQUEST_S_MAX = 1
from metatide.stack.web import main
main()
"""


def test_a_client_that_says_nothing_is_hung_up_on(tmp_path: Path) -> None:
    port = free_port()
    settings = {
        "METATIDE_DATA_DIR": str(tmp_path),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": f"{LOOPBACK}:{free_port()}",
        "METATIDE_DATABASE_URL": f"postgresql://hive@{LOOPBACK}:{free_port()}/metastore",
        "METATIDE_HTTP_PORT": str(port),
    }
    with subprocess.Popen(
        [sys.executable, "-c", IMPATIENT],
        env=os.environ | settings,
        preexec_fn=die_with_parent(signal.SIGKILL),
    ) as process:
        try:
            while not answers(port):
                assert process.poll() is None
                time.sleep(0.05)
            with socket.create_connection((LOOPBACK, port), timeout=60) as silent:
                assert b"408 Request Timeout" in silent.recv(1 << 16)
            assert answers(port)
        finally:
            process.terminate()
        assert process.wait(60) == 0


def answers(port: int) -> bool:
    try:
        return local_http.get(f"http://{LOOPBACK}:{port}/healthz", timeout=60).is_success
    except httpx.TransportError:
        return False
