"""What the client makes of answers that aren't as Metatide's, and of those of proxies."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import httpx
import pytest

from metatide.client import Client, NotFoundError, ServerError, Settings, UnavailableError
from tests.metatide.client.awaited import awaited

GROUNDS = {"metatide-source": "cache", "metatide-reason": "fresh", "metatide-position": "0:5"}
PAGE, LINES = "application/json", "application/x-ndjson"
Connect = Callable[..., AbstractContextManager[Client]]


@pytest.fixture(params=[Client, awaited])
def connect(request: pytest.FixtureRequest) -> Connect:
    made: Connect = request.param
    return made


def answering(status: int, body: bytes, headers: dict[str, str] | None = None) -> Settings:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body, headers=headers)

    return Settings(transport=httpx.MockTransport(answer), retry_s=0)


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b'{"values": ["a"]}\n{"val', LINES),
        (b'{"values": "a"}\n', LINES),
        (b'{"partitions": [{"values": ["a"]}], "next": "ds=a"}', PAGE),
    ],
)
def test_lines_that_are_no_partitions_are_none(body: bytes, media: str, connect: Connect) -> None:
    settings = answering(200, body, {**GROUNDS, "content-type": media})
    with (
        connect("http://elsewhere", settings) as client,
        pytest.raises(ServerError, match="name a worker's address"),
    ):
        list(client.stream_partitions("sales.orders"))


@pytest.mark.parametrize(
    "headers",
    [{"metatide-source": "cache"}, {**GROUNDS, "metatide-position": "5"}],
)
@pytest.mark.parametrize("status", [200, 404])
def test_without_grounds_it_is_no_answer(
    status: int, headers: dict[str, str], connect: Connect
) -> None:
    body = b'{"names": [], "detail": "no"}'
    settings = answering(status, body, {**headers, "content-type": PAGE})
    with (
        connect("http://elsewhere", settings) as client,
        pytest.raises(ServerError, match="name a worker's address") as strange,
    ):
        client.catalogs()
    assert not isinstance(strange.value, NotFoundError)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_that_reaches_no_worker_is_asked_again(status: int, connect: Connect) -> None:
    answers = iter(
        (
            httpx.Response(status, text="none left", headers={"retry-after": "0"}),
            httpx.Response(200, json={"names": ["hive"]}, headers=GROUNDS),
        )
    )
    transport = httpx.MockTransport(lambda _: next(answers))
    with connect("http://proxy", Settings(transport=transport)) as client:
        assert client.catalogs().value == ["hive"]
    with (
        connect("http://proxy", answering(status, b"none left")) as client,
        pytest.raises(UnavailableError, match="none left") as refused,
    ):
        client.catalogs()
    assert refused.value.status == status
