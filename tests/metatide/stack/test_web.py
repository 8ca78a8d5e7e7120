"""Where the address that `metatide up` names leads to."""

from pathlib import Path

import pytest
from starlette.requests import Request

from metatide.config import Config
from metatide.config.schema import Worker
from metatide.stack.machine import ANY, LOOPBACK
from metatide.stack.state import Phase, ProcessState, StackState, StateFile
from metatide.stack.web import worker_page

REQUEST = Request(
    {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "server": ("lake.example", 80),
        "path": "/",
        "query_string": b"",
        "headers": [(b"host", b"lake.example")],
    }
)


def page(folder: Path, phase: Phase, host: str) -> str | None:
    workers = [ProcessState(f"worker-{n}", f"http://127.0.0.1:80{n}0", phase) for n in (1, 2)]
    state = StackState(1, "http://127.0.0.1:1", [ProcessState("kafka", "", "running"), *workers])
    StateFile(folder).write(state)
    return worker_page(Config(data_dir=folder, worker=Worker(host=host)))(REQUEST)


def test_it_leads_to_a_worker_that_runs(tmp_path: Path) -> None:
    assert worker_page(Config(data_dir=tmp_path))(REQUEST) is None
    assert page(tmp_path, "running", LOOPBACK) == "http://127.0.0.1:8010/"


@pytest.mark.parametrize("phase", ["waiting", "starting", "restarting", "stopped"])
def test_while_none_runs_it_leads_nowhere(tmp_path: Path, phase: Phase) -> None:
    assert page(tmp_path, phase, LOOPBACK) is None


def test_workers_of_all_addresses_are_found_by_that_of_the_request(tmp_path: Path) -> None:
    assert page(tmp_path, "running", ANY) == "http://lake.example:8010/"
