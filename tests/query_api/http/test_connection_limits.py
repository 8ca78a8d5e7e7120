"""What a connection may hold, and how it ends: bytes in flight, trailers, chunks, pauses."""

import json
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from query_api import backend
from query_api.http import server
from query_api.http.connection import HEADERS_MAX, ReadConnection
from query_api.in_flight import TOO_MANY_BYTES, Budget
from query_api.latest.log_end import LogEnd
from state.records.actions import PutPartitions
from tests.metatide.client.serving import serving, serving_app
from tests.query_api.http.connection import NAMES, connection, request, response
from tests.query_api.http.slow_database import Slow, wait_for
from tests.query_api.http.warm_shards import ANY, TABLE, warm
from tests.query_api.shards import ORDERS, MemoryShards, change, partition_image

LARGE = request(f"{TABLE}/partitions?{ANY}&limit=400")
POST = "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {type}\r\n{more}\r\n\r\n"
JSON = "application/json"


def wide() -> MemoryShards:
    """A table whose partitions make an answer of some 850 KB, which is cached."""
    rows = tuple(partition_image(f"{day}-{'x' * 1000}") for day in range(400))
    shards = warm()
    shard = shards.shard(0)
    assert shard is not None
    shard.fold([change(5, PutPartitions(ORDERS, 0, rows, added=True))])
    return shards


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> Budget:
    """That of the servers of a test."""
    budget = Budget()
    monkeypatch.setattr(backend, "Budget", lambda: budget)
    return budget


@pytest.fixture
def protocols(monkeypatch: pytest.MonkeyPatch) -> list[ReadConnection]:
    """The connections that were made and lost since."""
    lost: list[ReadConnection] = []
    lose = ReadConnection.connection_lost

    def noted(self: ReadConnection, error: Exception | None) -> None:
        lose(self, error)
        lost.append(self)

    monkeypatch.setattr(ReadConnection, "connection_lost", noted)
    return lost


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What servers have received, once they have handled it."""
    heard: list[bytes] = []
    receive = ReadConnection.data_received

    def noted(self: ReadConnection, data: bytes) -> None:
        receive(self, data)
        heard.append(data)

    monkeypatch.setattr(ReadConnection, "data_received", noted)
    return heard


def ask_for_large(
    opened: socket.socket, heard: list[bytes], lost: Sequence[ReadConnection] = ()
) -> None:
    """Asks by itself for the answer that is cached, which the short way alone answers at once.
    Nobody hears what comes once the connection is lost."""
    count_before = len(heard)
    opened.sendall(LARGE)
    wait_for(lambda: len(heard) > count_before or bool(lost))


def test_a_slow_client_gets_all_and_what_is_taken_is_in_flight_no_more(
    budget: Budget, heard: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReadConnection, "sweep", lambda *_: None)
    with serving(wide()) as url, connection(url) as opened:
        for _ in range(3):
            opened.sendall(LARGE)
            [(_, _, first)] = response(opened)
        count = 0
        while not budget.bytes:
            ask_for_large(opened, heard)
            count += 1
        # The second of these surely finds that writing is paused.
        for _ in range(2):
            ask_for_large(opened, heard)
        assert budget.bytes >= len(first), "it counts less than it holds"
        assert budget.bytes < 1.5 * len(first), "it writes though nothing is taken"
        answers = response(opened, count + 2)
        assert {body for _, _, body in answers} == {first}
        wait_for(lambda: budget.bytes == 0)


def test_too_many_bytes_in_flight_end_the_connection_that_has_most(budget: Budget) -> None:
    budget.bytes_max = 100_000
    head = POST.format(path=NAMES, type=JSON, more="Content-Length: 200000").encode()
    with serving(warm()) as url, connection(url) as sender, connection(url) as other:
        other.sendall(head + b" " * 10_000)
        wait_for(lambda: budget.bytes >= 10_000)
        sender.sendall(head + b" " * 150_000)
        [(status, headers, body)] = response(sender)
        assert status == "HTTP/1.1 503 Service Unavailable"
        assert headers["retry-after"] == "1"
        assert json.loads(body)["detail"] == TOO_MANY_BYTES


def test_a_client_that_takes_nothing_of_too_much_is_hung_up_on(
    budget: Budget, heard: list[bytes], protocols: list[ReadConnection]
) -> None:
    with serving(wide()) as url, connection(url) as opened:
        for _ in range(3):
            opened.sendall(LARGE)
            response(opened)
        budget.bytes_max = 100_000
        with suppress(ConnectionError):
            while not protocols:
                ask_for_large(opened, heard, protocols)
        with pytest.raises(ConnectionResetError):
            b"".join(iter(lambda: opened.recv(1 << 20), b""))


def test_what_is_refused_already_is_not_refused_for_too_many_bytes(budget: Budget) -> None:
    budget.bytes_max = 100
    with serving(warm()) as url, connection(url) as opened:
        chunked = POST.format(path=NAMES, type=JSON, more="Transfer-Encoding: chunked").encode()
        opened.sendall(chunked + b"c8\r\n" + b" " * 200 + b"\r\nno\r\n")
        statuses = [line for line, _, _ in response(opened, 2)]
    assert statuses == ["HTTP/1.1 400 Bad Request"]


def test_after_an_answer_that_ends_the_connection_nothing_is_refused() -> None:
    whole, leaves = b"x" * 16_000_000, {"connection": "close"}
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse(whole, headers=leaves))])
    with serving_app(app) as url, connection(url) as opened:
        opened.sendall(request("/") + b"\x00\x01\r\n\r\n")
        received = b"".join(iter(lambda: opened.recv(1 << 20), b""))
    _, _, body = received.partition(b"\r\n\r\n")
    assert len(body) == len(whole)


def test_a_client_that_has_gone_is_not_ended(protocols: list[ReadConnection]) -> None:
    with serving(warm()) as url:
        with connection(url) as opened:
            opened.sendall(request(NAMES))
            response(opened)
        wait_for(lambda: bool(protocols))
        with capture_logs() as logs:
            protocols[0]._make_room()
    assert not logs


def test_many_small_chunks_are_a_body_and_many_headers_in_pieces_are_refused() -> None:
    chunked = POST.format(path=NAMES, type=JSON, more="Transfer-Encoding: chunked").encode()
    with serving(warm()) as url:
        with connection(url) as opened:
            opened.sendall(chunked)
            for _ in range(10):
                opened.sendall(b"1\r\n \r\n" * 2_000)
            opened.sendall(b"2\r\n{}\r\n0\r\n\r\n")
            [(status, _, _)] = response(opened)
            assert status == "HTTP/1.1 200 OK"
        with connection(url) as opened:
            opened.sendall(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (HEADERS_MAX + 2))
            [(status, _, body)] = response(opened)
            assert status.startswith("HTTP/1.1 431 ")
            assert "headers and trailers" in json.loads(body)["detail"]


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The statuses of what servers have refused."""
    statuses, refuse = list[int](), ReadConnection._refuse

    def noted(self: ReadConnection, status: int, *more: Any, **how: Any) -> None:
        refuse(self, status, *more, **how)
        statuses.append(status)

    monkeypatch.setattr(ReadConnection, "_refuse", noted)
    return statuses


def test_after_a_refusal_nothing_more_is_heard(refusals: list[int], heard: list[bytes]) -> None:
    database = Slow(LogEnd(0, 4, []))
    database.may.clear()
    with serving(warm(), database) as url, connection(url) as opened:
        opened.sendall(request(f"{TABLE}?consistency=latest"))
        wait_for(lambda: database.asked_count > 0)
        opened.sendall(b"\x00\x01\r\n\r\n")
        wait_for(lambda: refusals == [400])
        opened.sendall(request(NAMES))
        wait_for(lambda: request(NAMES) in heard)
        database.may.set()
        statuses = [line for line, _, _ in response(opened, 3)]
    assert statuses == ["HTTP/1.1 200 OK", "HTTP/1.1 400 Bad Request"]


def test_a_client_that_says_that_it_leaves_is_told_nothing_more() -> None:
    with serving(warm()) as url, connection(url) as opened:
        opened.sendall(request(NAMES, "Connection: close") + b"\x00\x01\r\n\r\n")
        assert [line for line, _, _ in response(opened, 2)] == ["HTTP/1.1 200 OK"]


def test_a_body_that_never_ends_gets_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("query_api.http.connection.REQUEST_S_MAX", 1)
    head = POST.format(path=NAMES, type="text/plain", more="Content-Length: 100").encode()
    with serving(warm()) as url, connection(url) as opened:
        opened.sendall(head)
        [(status, _, _)] = response(opened)
        assert status == "HTTP/1.1 415 Unsupported Media Type"
        assert opened.recv(1) == b"", "it is hung up on without a second one"


def test_a_connection_lives_while_the_short_way_answers_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, handle = threading.Semaphore(0), ReadConnection.timeout_keep_alive_handler

    def noted(self: ReadConnection) -> None:
        handle(self)
        turns.release()

    monkeypatch.setattr(ReadConnection, "timeout_keep_alive_handler", noted)
    monkeypatch.setattr(server, "KEEP_ALIVE_S", 0.5)
    with serving(warm()) as url, connection(url) as opened:
        for _ in range(4):
            opened.sendall(request(NAMES))
            response(opened)
        assert turns.acquire(timeout=30)
        opened.sendall(request(NAMES))
        assert [line for line, _, _ in response(opened)] == ["HTTP/1.1 200 OK"]
        assert opened.recv(1) == b"", "it has rested for long enough"
