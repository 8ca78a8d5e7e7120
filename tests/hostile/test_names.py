"""Names that no metastore can hold: whoever sends them gets a reason, and nothing else happens."""

import json
from collections.abc import Iterator

import httpx
import pytest
from thriftpy2.thrift import TApplicationException

from metatide.stack.machine import LOOPBACK, free_port
from tests.query_api.thrift.methods import corpus, wire
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

LONG = "x" * 500_500
"""With what stands around it, more than a broker takes in one message."""
DATABASE = "/v1/databases"
UNSTORABLE = (
    f"{DATABASE}/a%00b",
    f"{DATABASE}/a%00b/tables/t",
    f"{DATABASE}/d/tables/a%00b",
    f"{DATABASE}/d/tables/t/partitions/ds=%00",
    f"{DATABASE}/d/functions/f%00",
    f"{DATABASE}/d/tables/t?catalog=a%00",
    f"{DATABASE}/d/tables/t/partition-names?name=ds%3D%00",
    f"{DATABASE}/{'d' * 129}",
    f"{DATABASE}/d/tables/{'t' * 257}",
    f"{DATABASE}/d/tables/t?catalog={'c' * 257}",
)


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[tuple[Stack, str]]:
    """A stack with one worker, and the address of its Thrift endpoint."""
    port = str(free_port())
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--workers", "1", "--thrift-port", port),
            METATIDE_KAFKA_TOPIC="hostile-names",
        ) as up,
    ):
        ports = json.loads((up.folder / "ports.json").read_text())
        yield up, f"thrift://{LOOPBACK}:{ports.get('worker-1-thrift', port)}"


def worker_url(up: Stack) -> str:
    return up.entry("worker-1").address


def assert_goes_on(up: Stack, pid: int | None) -> None:
    """No process was started again, and reads are answered."""
    assert up.entry("worker-1").pid == pid
    assert httpx.get(worker_url(up) + DATABASE, timeout=30).status_code == 200


def test_a_long_name_over_http_is_refused(running: tuple[Stack, str]) -> None:
    up, _ = running
    pid = up.entry("worker-1").pid
    url, body = f"{worker_url(up)}/v1/tables", json.dumps({"names": [f"db.{LONG}"]})
    # As a page of another origin sends it, which needs no permission.
    simple = httpx.post(url, content=body, headers={"content-type": "text/plain"}, timeout=30)
    assert simple.status_code == 415
    whole = httpx.post(url, json=json.loads(body), timeout=30)
    assert whole.status_code == 400
    assert "at most 256 characters" in whole.json()["detail"]
    assert len(whole.content) < 1000
    assert_goes_on(up, pid)


def test_a_long_name_over_thrift_is_refused(running: tuple[Stack, str]) -> None:
    up, address = running
    pid = up.entry("worker-1").pid
    call = corpus.req("get_table_req", "GetTableRequest", dbName="db", tblName=LONG)
    with wire.connect(address) as client, pytest.raises(TApplicationException):
        client.call(call.method, call.given)
    assert_goes_on(up, pid)


@pytest.mark.parametrize("path", UNSTORABLE)
def test_a_name_that_no_metastore_holds_is_a_bad_request(
    running: tuple[Stack, str], path: str
) -> None:
    up, _ = running
    answer = httpx.get(f"{worker_url(up)}{path}", timeout=30)
    assert answer.status_code == 400, answer.text
    assert len(answer.json()["detail"]) < 300
