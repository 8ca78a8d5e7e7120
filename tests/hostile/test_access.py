"""Readers over HTTP that aren't meant to be: pages of strangers, and those whom hooks keep out."""

import tracemalloc
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from hive.errors import ForbiddenError
from query_api.http import Settings
from query_api.http.access import Access, FileTokens
from query_api.http.gate import Gate
from tests.metatide.client.serving import serving
from tests.query_api.http.connection import connection, response
from tests.query_api.http.warm_shards import ANY, TABLE, warm
from tests.support import local_http

READS = (f"{TABLE}?{ANY}", "/v1/overview", "/v1/events")
OPEN_TO_ALL = ("/healthz", "/metrics", "/v1/openapi.json", "/")
EVIL = "rebound.example"


def scope(host: str, client: str = "127.0.0.1") -> dict[str, object]:
    return {"method": "GET", "client": (client, 1), "headers": [(b"host", host.encode("latin-1"))]}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    settings = Settings(names=frozenset(("metatide.example.com",)))
    with serving(warm(), settings=settings) as at:
        yield at


@pytest.mark.parametrize("path", READS)
def test_a_page_whose_name_was_made_to_lead_here_reads_nothing(url: str, path: str) -> None:
    answer = local_http.get(url + path, headers={"host": EVIL})
    assert answer.status_code == 403
    detail = answer.json()["detail"]
    assert EVIL in detail
    assert "reads.hosts" in detail
    assert "reads.tokens_path" in detail


def test_a_page_whose_name_was_made_to_lead_here_does_not_read_what_was_kept(url: str) -> None:
    port = httpx.URL(url).port
    with connection(url) as opened:
        for host, status in ((f"127.0.0.1:{port}", 200), (EVIL, 403)) * 3:
            opened.sendall(f"GET {TABLE}?{ANY} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            [(line, _, _)] = response(opened)
            assert line.startswith(f"HTTP/1.1 {status} ")


@pytest.mark.parametrize("path", OPEN_TO_ALL)
def test_probes_and_the_page_need_no_name(url: str, path: str) -> None:
    assert local_http.get(url + path, headers={"host": EVIL}).status_code == 200


@pytest.mark.parametrize(
    ("host", "local", "remote"),
    [
        ("127.0.0.1:8080", True, True),
        ("[::1]:8080", True, True),
        ("10.1.2.3", True, True),
        ("localhost:1", True, True),
        ("LOCALHOST", True, True),
        ("metatide.example.com:80", True, True),
        ("Metatide.Example.com.", True, True),
        # A service in compose or Kubernetes.
        ("worker-2:8080", False, True),
        (EVIL, False, False),
        ("127.0.0.1.example", False, False),
        ("localhost.example", False, False),
        ("x@localhost", False, False),
        ("[::1", False, False),
        ("", False, False),
        ("\xff", False, False),
        (f"{'w' * 255}:65535", False, True),
        (f"{'w' * 256}:65535", False, False),
    ],
)
def test_a_server_is_asked_by_names_that_no_page_of_a_stranger_can_have(
    host: str, local: bool, remote: bool
) -> None:
    gate = Gate(names=("metatide.example.com",))
    assert gate.may_read(scope(host)) is local
    assert gate.may_read(scope(host, "10.0.0.7")) is remote
    assert gate.admission(scope(host))[1:] == (local, remote)


@pytest.mark.parametrize("access", [Access.READERS, Access.ADMINISTRATORS])
def test_long_hosts_do_not_fill_the_memory(access: Access) -> None:
    gate = Gate()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(100):
        with pytest.raises(ForbiddenError):
            gate.caller(scope(f"{number}{'w' * 60_000}.example"), access)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000


def test_a_post_of_the_page_is_of_json(url: str) -> None:
    body = b'{"tables": ["sales.orders"]}'
    statuses = [
        local_http.post(
            f"{url}/v1/cache-states", content=body, headers={"content-type": kind}
        ).status_code
        for kind in ("application/json", "text/plain")
    ]
    assert statuses == [200, 415]


def test_a_token_that_was_taken_back_reads_nothing_that_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("query_api.watched_file.LOOK_EVERY_S", 0)
    line = f"read {sha256(b'mine').hexdigest()}\n"
    file = tmp_path / "tokens"
    file.write_text(line)
    asking = f"GET {TABLE}?{ANY} HTTP/1.1\r\nHost: {EVIL}\r\nAuthorization: Bearer mine\r\n\r\n"
    with serving(warm(), settings=Settings(tokens=FileTokens(file))) as at, connection(at) as sent:
        for content, status in ((line, 200), ("", 401), (line, 200)):
            file.write_text(content)
            for _ in range(3):
                sent.sendall(asking.encode())
                [(first, _, _)] = response(sent)
                assert first.startswith(f"HTTP/1.1 {status} ")


def test_where_reads_are_guarded_only_administrators_read_over_http(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    roles = {"read": b"reader", "admin": b"root"}
    file.write_text("".join(f"{role} {sha256(t).hexdigest()}\n" for role, t in roles.items()))
    settings = Settings(tokens=FileTokens(file), admins_only=True)
    with serving(warm(), settings=settings) as at:
        for path in READS[:2]:
            for token, status in (("root", 200), ("reader", 403), ("root", 200)):
                answer = local_http.get(at + path, headers={"authorization": f"Bearer {token}"})
                assert answer.status_code == status, path
                if status == 403:
                    assert "thrift.relay_reads" in answer.json()["detail"]
        assert local_http.get(f"{at}/metrics").status_code == 200


def test_where_reads_are_guarded_and_nobody_has_a_token_only_this_machine_reads() -> None:
    gate = Gate(admins_only=True)
    assert gate.may_read(scope("localhost"))
    assert not gate.may_read(scope("10.0.0.1", "10.0.0.7"))
    assert gate.admission(scope("localhost"))[1:] == (True, False)
