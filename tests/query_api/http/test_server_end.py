"""What clients get that are being answered when a server is to end."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from query_api.http import server
from query_api.http.connection import ReadConnection
from query_api.latest.log_end import LogEnd
from tests.metatide.client.serving import serving, serving_app
from tests.query_api.http.connection import connection, request, response
from tests.query_api.http.slow_database import Slow, wait_for
from tests.query_api.http.warm_shards import TABLE, warm

Answer = tuple[str, dict[str, str], bytes]


class SlowApp(Starlette):
    """An application whose answers take a time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(routes=[Route("/whole", self._whole), Route("/parts", self._parts)])
        self._seconds = seconds
        self.begun = threading.Event()

    async def _whole(self, _: Request) -> PlainTextResponse:
        self.begun.set()
        await asyncio.sleep(self._seconds)
        return PlainTextResponse("whole")

    async def _parts(self, _: Request) -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"1"
            self.begun.set()
            await asyncio.sleep(self._seconds)
            yield b"2"

        return StreamingResponse(parts(), headers={"content-length": "2"})


def answer_at_the_end(app: SlowApp, path: str) -> list[Answer]:
    """The answer to a request that has begun when the server is told to end."""
    with ExitStack() as serves:
        url = serves.enter_context(serving_app(app))
        with connection(url) as opened:
            opened.sendall(request(path))
            assert app.begun.wait(30)
            serves.close()
            return response(opened)


def test_a_request_that_has_begun_is_answered() -> None:
    [(status, headers, body)] = answer_at_the_end(SlowApp(1.5), "/whole")
    assert (status, body) == ("HTTP/1.1 200 OK", b"whole")
    assert headers["connection"] == "close"


def test_one_that_takes_too_long_is_refused_so_that_another_worker_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.3)
    [(status, headers, body)] = answer_at_the_end(SlowApp(20), "/whole")
    assert status == "HTTP/1.1 503 Service Unavailable"
    assert headers["content-type"] == "application/problem+json"
    assert headers["retry-after"] == "1"
    assert json.loads(body)["detail"].startswith("the server is shutting down")


def test_what_waits_behind_it_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.3)
    app = SlowApp(20)
    with ExitStack() as serves:
        url = serves.enter_context(serving_app(app))
        with connection(url) as opened:
            opened.sendall(request("/whole") * 2)
            assert app.begun.wait(30)
            serves.close()
            assert response(opened) == []


def test_an_answer_that_is_not_whole_by_then_is_seen_to_be_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.3)
    assert answer_at_the_end(SlowApp(20), "/parts") == []


def test_a_client_that_takes_nothing_of_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FINISH_S_MAX", 0.1)
    lose, lost = ReadConnection.connection_lost, threading.Event()

    def connection_lost(self: ReadConnection, error: Exception | None) -> None:
        lose(self, error)
        lost.set()

    monkeypatch.setattr(ReadConnection, "connection_lost", connection_lost)
    app = Starlette(routes=[Route("/", lambda _: PlainTextResponse(b"x" * 30_000_000))])
    with ExitStack() as serves:
        url = serves.enter_context(serving_app(app))
        with connection(url) as opened:
            opened.sendall(request("/"))
            opened.recv(1)
            serves.close()
            assert lost.is_set()


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_what_waits_for_the_database_on_the_short_way_is_answered(is_confirmed: bool) -> None:
    latest = request(f"{TABLE}?consistency=latest")
    database = Slow(LogEnd(0, 4, []))
    with ExitStack() as serves:
        url = serves.enter_context(serving(warm(), database))
        with connection(url) as opened:
            for _ in range(3):
                opened.sendall(latest)
                response(opened)
            asked_count = database.asked_count
            database.may.clear()
            opened.sendall(latest)
            wait_for(lambda: database.asked_count > asked_count)
            if not is_confirmed:
                database.log = None
            threading.Timer(0.5, database.may.set).start()
            serves.close()
            [(_, headers, _)] = response(opened)
    assert headers["metatide-reason"] == ("fresh" if is_confirmed else "unread")
