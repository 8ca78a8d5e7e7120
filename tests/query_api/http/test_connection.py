"""What one connection gets, and what it may take, on a real server."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx
import pytest

from hive.errors import ClosedStoreError
from query_api.http.connection import PIPELINED_MAX, ReadConnection
from query_api.http.gate import Gate
from query_api.http.partitions import PartitionWriter
from query_api.http.response_cache import CachedResponse, ResponseCache
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.shards import Views
from state.records.actions import PutPartitions
from tests.metatide.client.serving import serving
from tests.query_api.http.connection import NAMES, connection, request, response
from tests.query_api.http.read_client import EmptyDatabase, grounds
from tests.query_api.http.slow_database import Slow, wait_for
from tests.query_api.http.warm_shards import ANY, DAYS, TABLE, warm
from tests.query_api.shards import ORDERS, change, moment, partition_image
from tests.support import local_http

_ESTABLISHED = 1


def test_the_short_way_gives_what_the_long_one_gives() -> None:
    shards = warm()
    shard = shards.shard(0)
    assert shard is not None
    with serving(shards) as url, connection(url) as opened:
        answers = []
        for _ in range(5):
            opened.sendall(request(NAMES))
            answers += response(opened)
        for status, headers, body in answers:
            headers.pop("date")
            assert (status, headers, body) == answers[0]
        shard.fold([change(5, PutPartitions(ORDERS, 0, (partition_image("new"),), added=True))])
        opened.sendall(request(NAMES))
        [(_, headers, body)] = response(opened)
        assert json.loads(body)["names"] == [*(f"ds={day}" for day in DAYS), "ds=new"]
        assert headers["metatide-position"] == "0:5"
        for _ in range(3):
            opened.sendall(request(NAMES, f"If-None-Match: {headers['etag']}"))
            [(status, response_headers, body)] = response(opened)
            assert (status, body) == ("HTTP/1.1 304 Not Modified", b"")
            assert response_headers["etag"] == headers["etag"]
        metrics = local_http.get(f"{url}/metrics").text
    assert 'read="listPartitionNames",reason="fresh",source="cache"} 9.0' in metrics


def test_many_at_once_take_the_room_of_one() -> None:
    views = Views(warm())
    cache = ResponseCache(views, lambda _: False)
    grounds_of_it = [(b"metatide-position", b"0:4"), (b"x", b"y")]
    key = "/", b"", b""
    cached = CachedResponse.of(key, moment(views), (), 0, b"{}", grounds_of_it, lambda: None)
    cache.put(key, cached)
    scope = {"state": {"head": b"GET /"}, "http_version": "1.1", "headers": []}
    for _ in range(40):
        cache.put_head(key, cached, scope, cached.response(None, None), Gate().admission)
    assert cached.heads == [b"GET /"]
    by_head = cache.by_head(b"GET /")
    assert by_head is not None
    _, headers, body = cached.response(None, None)
    lines = "".join(f"{name.decode()}: {value.decode()}\r\n" for name, value in headers)
    sent = by_head.before + b"0:4" + by_head.after + by_head.body
    assert sent == lines.encode() + b"\r\n" + body


def test_what_is_cut_differently_or_asks_for_more_goes_the_long_way() -> None:
    plain, other = request(NAMES), request(f"{TABLE}?{ANY}")
    with serving(warm()) as url, connection(url) as opened:
        for _ in range(3):
            opened.sendall(plain)
            [(_, _, names)] = response(opened)
            opened.sendall(other)
            [(_, _, table)] = response(opened)
        opened.sendall(plain + other + plain)
        assert [body for _, _, body in response(opened, 3)] == [names, table, names]
        opened.sendall(plain[:20])
        opened.sendall(plain[20:] + other)
        assert [body for _, _, body in response(opened, 2)] == [names, table]
        # A body that looks like a request is none.
        head = f"POST {NAMES} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(plain)}\r\n"
        for type_, expected in (("application/json", "400 Bad"), ("text/plain", "415 Unsupported")):
            opened.sendall(f"{head}Content-Type: {type_}\r\n\r\n".encode())
            opened.sendall(plain)
            [(status, _, _)] = response(opened)
            assert status.startswith(f"HTTP/1.1 {expected}")
        opened.sendall(plain)
        assert response(opened)[0][2] == names


def test_a_connection_that_closes_itself_is_closed_each_time() -> None:
    with serving(warm()) as url:
        for _ in range(4):
            with connection(url) as opened:
                opened.sendall(request(NAMES, "Connection: close"))
                assert len(response(opened)) == 1
                assert opened.recv(1) == b""


def test_a_head_without_end_and_bytes_that_are_no_request_are_refused() -> None:
    with serving(warm()) as url:
        for sent, status in (
            (b"GET / HTTP/1.1\r\n" + b"X-Y: %s\r\n" % (b"z" * 1000) * 70, 431),
            (b"GET / HTTP/1.1\r\n" + b"X-Y: %s\r\n" % (b"z" * 1000) * 70 + b"\r\n", 431),
            (b"GET /%s HTTP/1.1\r\n\r\n" % (b"z" * 70_000), 431),
            (b"\x16\x03\x01 nonsense\r\n\r\n", 400),
        ):
            with connection(url) as opened:
                opened.sendall(sent)
                [(line, headers, body)] = response(opened)
                assert line.startswith(f"HTTP/1.1 {status} ")
                assert headers["content-type"] == "application/problem+json"
                assert json.loads(body)["status"] == status


def test_a_long_head_behind_another_is_not_answered() -> None:
    with serving(warm()) as url, connection(url) as opened:
        opened.sendall(request(NAMES) + request(NAMES, "X-Y: " + "z" * 70_000))
        lines = [line for line, _, _ in response(opened, 2)]
        assert lines.count("HTTP/1.1 200 OK") <= 1


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once a server has refused something."""
    refused, refuse = threading.Event(), ReadConnection._refuse

    def noted(self: ReadConnection, *what: Any, **how: Any) -> None:
        refuse(self, *what, **how)
        refused.set()

    monkeypatch.setattr(ReadConnection, "_refuse", noted)
    return refused


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        (request(NAMES, "X-Y: " + "z" * 70_000), 431, "head has more than"),
        (request(NAMES) * (PIPELINED_MAX + 1), 400, "wait for their responses"),
    ],
)
def test_what_is_refused_behind_a_request_is_told_why(
    sent: bytes, status: int, says: str, refused: threading.Event
) -> None:
    database = Slow(LogEnd(0, 4, []))
    database.may.clear()
    with serving(warm(), database) as url, connection(url) as opened:
        opened.sendall(request(f"{TABLE}?consistency=latest"))
        wait_for(lambda: database.asked_count > 0)
        opened.sendall(sent)
        assert refused.wait(30)
        database.may.set()
        *answers, (line, _, body) = response(opened, PIPELINED_MAX + 3)
    assert {answer[0] for answer in answers} == {"HTTP/1.1 200 OK"}
    assert line.startswith(f"HTTP/1.1 {status} ")
    assert says in json.loads(body)["detail"]


POST = b"POST /v1/tables HTTP/1.1\r\nHost: x\r\ncontent-type: application/json\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("garbage", [b"\x00\x01\r\n\r\n", b" x\r\n\r\n", CHUNKED + b"no\r\n"])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_what_comes_before_bytes_that_are_no_request_is_answered(
    before: int, garbage: bytes
) -> None:
    with serving(warm()) as url, connection(url) as opened:
        opened.sendall(request(NAMES) * before + garbage)
        *answers, (status, headers, body) = response(opened, before + 1)
        assert [answer[0] for answer in answers] == ["HTTP/1.1 200 OK"] * before
        assert status == "HTTP/1.1 400 Bad Request"
        assert headers["content-type"] == "application/problem+json"
        assert json.loads(body)["detail"]
        assert opened.recv(1) == b""


def test_a_client_that_sends_nothing_whole_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query_api.http.connection.REQUEST_S_MAX", 1)
    with serving(warm()) as url, connection(url) as idle, connection(url) as slow:
        slow.sendall(request(NAMES)[:-1])
        for opened in (idle, slow):
            [(status, _, body)] = response(opened)
            assert status == "HTTP/1.1 408 Request Timeout"
            assert "no complete request" in json.loads(body)["detail"]
            assert opened.recv(1) == b""


def test_a_client_that_asks_only_what_was_asked_before_is_not_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("query_api.http.connection.REQUEST_S_MAX", 2)
    with serving(warm()) as url:
        for _ in range(3):
            with connection(url) as first:
                first.sendall(request(NAMES))
                response(first)
        with connection(url) as opened, connection(url) as idle:
            opened.sendall(request(NAMES))
            assert response(opened)[0][0] == "HTTP/1.1 200 OK"
            # By the time that this one is sent away, the other one would have been.
            assert response(idle)[0][0] == "HTTP/1.1 408 Request Timeout"
            assert idle.recv(1) == b""
            opened.sendall(request(NAMES))
            assert response(opened)[0][0] == "HTTP/1.1 200 OK"


def test_a_client_that_takes_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query_api.http.connection.STUCK_S_MAX", 2)
    rows = tuple(partition_image(f"{day}-{'x' * 2000}") for day in range(3000))
    shards = warm()
    shard = shards.shard(0)
    assert shard is not None
    shard.fold([change(5, PutPartitions(ORDERS, 0, rows, added=True))])
    with serving(shards) as url, connection(url) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.sendall(request(f"{TABLE}/partitions?{ANY}&limit=5000"))
        deadline = time.monotonic() + 60
        while opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED:
            assert time.monotonic() < deadline, "it is still waited for"
            time.sleep(0.05)


def test_lines_from_a_store_that_is_closed_meanwhile_are_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def torn(*_: object) -> Iterator[bytes]:
        yield from [b"{}"] * 1000
        raise ClosedStoreError("the store is closed")

    for version in ("1.0", "1.1"):
        monkeypatch.setattr(PartitionWriter, "write", staticmethod(partial(next, torn())))
        rows = tuple(partition_image(str(day)) for day in range(2000))
        shards = warm()
        shard = shards.shard(0)
        assert shard is not None
        shard.fold([change(5, PutPartitions(ORDERS, 0, rows, added=True))])
        stream = request(f"{TABLE}/partitions?{ANY}", "Accept: application/x-ndjson")
        with serving(shards) as url, connection(url) as opened:
            opened.sendall(stream.replace(b"1.1", version.encode(), 1))
            received = b"".join(iter(lambda: opened.recv(1 << 16), b""))
        assert received.startswith(b"HTTP/1.1 200 OK"), received
        assert b"transfer-encoding: chunked" in received
        assert received.count(b"{}") == 1000
        assert not received.endswith(b"0\r\n\r\n"), "it looks whole"


def test_too_many_connections_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query_api.http.connection.CONNECTIONS_MAX", 2)
    with serving(warm()) as url, connection(url) as first, connection(url) as second:
        for opened in (first, second):
            opened.sendall(request(NAMES))
            assert len(response(opened)) == 1
        with connection(url) as third, suppress(ConnectionError):
            third.sendall(request(NAMES))
            assert response(third) == []
        first.sendall(request(NAMES))
        assert len(response(first)) == 1


def test_latest_is_answered_from_what_is_cached() -> None:
    database = EmptyDatabase(LogEnd(0, 9, [(number, RowEffects()) for number in range(5, 10)]))
    with serving(warm(), database) as url, httpx.Client(base_url=url) as client:
        for _ in range(4):
            response = client.get(f"{TABLE}?consistency=latest")
            assert (*grounds(response), response.headers["metatide-position"]) == (
                "cache",
                "fresh",
                "0:9",
            )
        assert (
            client.get(
                f"{TABLE}?consistency=latest", headers={"If-None-Match": response.headers["etag"]}
            ).status_code
            == 304
        )
        database.log = LogEnd(0, 6, [(5, RowEffects()), (6, RowEffects(tables=(ORDERS,)))])
        database.event = 6
        assert grounds(client.get(f"{TABLE}?consistency=latest")) == ("database", "behind")
        database.log = None
        assert grounds(client.get(f"{TABLE}?consistency=latest")) == ("database", "unread")


def test_what_comes_while_the_database_is_asked_is_answered_after_it() -> None:
    latest, other = request(f"{TABLE}?consistency=latest"), request(NAMES)
    database = Slow(LogEnd(0, 4, []))
    with serving(warm(), database) as url:
        with connection(url) as opened:
            for path in (latest, latest, other, other, latest):
                opened.sendall(path)
                [(_, headers, body)] = response(opened)
                assert headers["metatide-source"] == "cache"
        table, count_before = body, database.asked_count
        database.may.clear()
        with connection(url) as opened, connection(url) as gone:
            for each in (opened, gone):
                each.sendall(latest)
            wait_for(lambda: database.asked_count > count_before)
            gone.close()
            opened.sendall(other + other[:20])
            opened.sendall(other[20:] + latest)
            database.may.set()
            bodies = [body for _, _, body in response(opened, 4)]
        assert bodies[0] == bodies[3] == table
        assert bodies[1] == bodies[2] != table


def test_within_is_answered_at_once_from_a_read_that_is_recent_enough() -> None:
    within = request(f"{TABLE}?consistency=within&max_age_ms=60000")
    database = Slow(LogEnd(0, 4, []))
    with serving(warm(), database) as url, connection(url) as opened:
        opened.sendall(within)
        response(opened)
        wait_for(lambda: database.answered_count == database.asked_count > 0)
        database.may.clear()
        asked_count = database.asked_count
        for _ in range(4):
            opened.sendall(within)
            [(_, headers, _)] = response(opened)
            assert headers["metatide-source"] == "cache"
            assert headers["metatide-position"] == "0:4"
        assert database.asked_count == asked_count
        database.may.set()


def test_the_short_way_to_the_latest_ends_where_something_touched_it() -> None:
    latest = request(f"{TABLE}?consistency=latest")
    database = Slow(LogEnd(0, 4, []))
    with serving(warm(), database) as url, connection(url) as opened:
        for _ in range(4):
            opened.sendall(latest)
            [(_, headers, _)] = response(opened)
            assert headers["metatide-source"] == "cache"
        count_before = database.asked_count
        database.log, database.event = LogEnd(0, 5, [(5, RowEffects(tables=(ORDERS,)))]), 5
        opened.sendall(latest)
        [(_, headers, _)] = response(opened)
        assert headers["metatide-reason"] == "behind"
        assert database.asked_count == count_before + 1, (
            "one read of the log is enough for a request"
        )
        database.log = None
        opened.sendall(latest)
        [(_, headers, _)] = response(opened)
        assert headers["metatide-reason"] == "unread"
