"""That a read is tried again when the server says so, and the waits between."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from metatide.client import AsyncClient, Client, Settings, UnavailableError
from metatide.client.retry import retry_after_s
from metatide.stack.machine import LOOPBACK, free_port
from tests.metatide.client.serving import serving_app

HEADERS = {
    "metatide-source": "cache",
    "metatide-reason": "fresh",
    "metatide-position": "0:1",
}


@contextmanager
def refusing(times: int, retry_after: Callable[[], str]) -> Iterator[tuple[str, list[float]]]:
    """A server that is busy so many times, and when it was asked."""
    request_times_s: list[float] = []

    async def answer(request: Request) -> Response:
        request_times_s.append(time.monotonic())
        if len(request_times_s) <= times:
            return JSONResponse({"detail": "busy"}, 503, {"Retry-After": retry_after()})
        return JSONResponse({"names": ["hive"]}, headers=HEADERS)

    with serving_app(Starlette(routes=[Route("/v1/catalogs", answer)])) as url:
        yield url, request_times_s


def in_a_second() -> str:
    # A date has whole seconds.
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize("retry_after", [lambda: "1", in_a_second])
async def test_a_busy_server_is_asked_again_when_it_says(retry_after: Callable[[], str]) -> None:
    with refusing(1, retry_after) as (url, request_times_s), Client(url) as client:
        assert client.catalogs().value == ["hive"]
    # The first answer leaves a moment after the server was asked: it is never earlier than said.
    assert request_times_s[1] - request_times_s[0] >= 1
    with refusing(1, lambda: "0") as (url, request_times_s):
        async with AsyncClient(url) as awaited:
            assert (await awaited.catalogs()).value == ["hive"]
    assert len(request_times_s) == 2


def test_a_wait_that_is_too_long_is_an_error_at_once() -> None:
    with (
        refusing(1, lambda: "3600") as (url, request_times_s),
        Client(url, Settings(retry_s=5)) as client,
        pytest.raises(UnavailableError, match="busy") as refused,
    ):
        client.catalogs()
    assert refused.value.retry_after_s == 3600
    assert len(request_times_s) == 1


def test_a_server_that_starts_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_s: list[float] = []
    monkeypatch.setattr("metatide.client.retry.time.sleep", waits_s.append)
    with (
        Client(f"http://{LOOPBACK}:{free_port()}", Settings(retry_s=1)) as client,
        pytest.raises(Exception, match="refused"),
    ):
        client.catalogs()
    assert waits_s[:1]
    assert waits_s == sorted(waits_s)


@pytest.mark.parametrize("retry_after", ["0", "-1", "Mon, 01 Jan 2024 00:00:00 GMT"])
def test_a_server_that_asks_for_no_wait_is_asked_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, retry_after: str
) -> None:
    waits_s: list[float] = []
    monkeypatch.setattr("metatide.client.retry.time.sleep", waits_s.append)
    with refusing(5, lambda: retry_after) as (url, request_times_s), Client(url) as client:
        assert client.catalogs().value == ["hive"]
    assert len(request_times_s) == 6
    for wait_s, least_s in zip(waits_s, (0.1, 0.2, 0.4, 0.8, 1.6), strict=True):
        assert least_s <= wait_s < 2 * least_s


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("-7", 0), ("soon", 1), ("Mon, 01 Jan 2024 00:00:00 GMT", 0)],
)
def test_what_retry_after_asks_for(text: str, expected: float) -> None:
    assert retry_after_s({"retry-after": text}) == expected


def test_without_retry_after_it_is_a_second() -> None:
    assert retry_after_s({}) == 1
