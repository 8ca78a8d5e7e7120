"""Names that no metastore can hold: whoever sends them gets a reason, and nothing else happens."""

import json
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from thriftpy2.thrift import TApplicationException

from hive.names import TableName
from metatide.stack.machine import LOOPBACK, free_port
from query_api.audit.scopes import known_scopes
from query_api.shards import Views
from state.records import LoadBegin, Scope, ScopeKind, names_scope
from tests.hostile import seeds
from tests.hostile.exchange import thrift_messages
from tests.query_api.sales import ORDERS
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.query_api.thrift.methods import corpus, wire
from tests.support import local_http
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]

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
    assert local_http.get(worker_url(up) + DATABASE, timeout=30).status_code == 200


def test_a_long_name_over_http_is_refused(running: tuple[Stack, str]) -> None:
    up, _ = running
    pid = up.entry("worker-1").pid
    url, body = f"{worker_url(up)}/v1/tables", json.dumps({"names": [f"db.{LONG}"]})
    # As a page of another origin sends it, which needs no permission.
    simple = local_http.post(url, content=body, headers={"content-type": "text/plain"}, timeout=30)
    assert simple.status_code == 415
    whole = local_http.post(url, json=json.loads(body), timeout=30)
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
    answer = local_http.get(f"{worker_url(up)}{path}", timeout=30)
    assert answer.status_code == 400, answer.text
    assert len(answer.json()["detail"]) < 300


BAD = {
    "long": "x" * 300,
    "endless": "x" * 30_000,
    "nul": "a\0b",
}
TEXTS = (b"/v1/admin/lists", b"write_ids=", b"pattern=")
"""What takes patterns or lists of ids, which name no table."""


def http_requests(name: str) -> Iterator[tuple[str, str, bytes]]:
    """Method, path and body of each request that names the table, with another name."""
    for request in seeds.http_requests():
        head, _, body = request.partition(b"\r\n\r\n")
        method, path, _ = head.partition(b"\r\n")[0].split(b" ")
        if ORDERS.table.encode() in path + body and not any(text in path for text in TEXTS):
            other_path = path.decode().replace(ORDERS.table, _quoted(name))
            other_body = body.decode().replace(ORDERS.table, json.dumps(name)[1:-1])
            yield method.decode(), other_path, other_body.encode()


def _quoted(name: str) -> str:
    return str(httpx.QueryParams({"n": name}))[2:]


@pytest.mark.parametrize("kind", BAD)
def test_each_operation_refuses_names_that_no_metastore_holds(
    running: tuple[Stack, str], kind: str
) -> None:
    up, _ = running
    pid, url = up.entry("worker-1").pid, httpx.URL(worker_url(up))
    answers = {}
    with httpx.Client(timeout=60) as client:
        for method, path, body in http_requests(BAD[kind]):
            headers = {"content-type": "application/json"} if body else {}
            answer = client.request(method, url.join(path), content=body, headers=headers)
            if answer.status_code != 400 or len(answer.content) > 1000:
                answers[method, path[:120]] = answer.status_code, answer.text[:300]
    assert not answers
    assert_goes_on(up, pid)


@pytest.mark.parametrize("kind", BAD)
def test_each_method_refuses_names_that_no_metastore_holds(
    running: tuple[Stack, str], kind: str
) -> None:
    """Without a metastore behind the worker, each is an exception."""
    up, address = running
    pid, name = up.entry("worker-1").pid, BAD[kind].encode()
    old = len(ORDERS.table).to_bytes(4, "big") + ORDERS.table.encode()
    new = len(name).to_bytes(4, "big") + name
    answered = []
    with wire.connect(address) as client:
        for data in seeds.thrift_calls():
            [[call], _] = thrift_messages(data)
            if old in call.body:
                with suppress(TApplicationException):
                    client.call(call.method, call.body.replace(old, new))
                    answered.append(call.method)
    assert not answered
    assert_goes_on(up, pid)


def test_an_audit_draws_no_name_that_the_database_cant_be_asked_for() -> None:
    forged, good = TableName("hive", "sales", "a\0b"), names_scope(ORDERS.database)
    scopes = [Scope(ScopeKind.TABLE, forged), good]
    loads = [LoadBegin(0, f"load{number}", scope) for number, scope in enumerate(scopes)]
    shards = MemoryShards(MemoryShard(*loads))
    assert [*known_scopes(Views(shards))] == [good]


def test_what_is_no_scope_of_an_audit_is_a_bad_request(running: tuple[Stack, str]) -> None:
    up, _ = running
    body = {"scopes": [["write_ids", list(ORDERS)]]}
    answer = local_http.post(f"{worker_url(up)}/v1/admin/audit", json=body, timeout=30)
    assert answer.status_code == 400, answer.text
