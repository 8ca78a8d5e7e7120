"""What is meant to hurt gets a clear error soon, and leaves no memory behind."""

import asyncio
import gc
import json
from collections.abc import Iterator

import httpx
import psutil
import pytest

from tests.metatide.client.serving import serving
from tests.query_api.http.connection import NAMES, connection, request, response
from tests.query_api.http.warm_shards import ANY, DAYS, TABLE, warm
from tests.support import local_http

MEGABYTE = 1 << 20
COUNT = f"{TABLE}/partition-count?{ANY}"
FILTERS = {
    "a megabyte": "ds = '" + "x" * MEGABYTE + "'",
    "a megabyte of terms": " or ".join(["ds = 'x'"] * (MEGABYTE // 12)),
    "deep": "(" * 100_000 + "ds = 'x'" + ")" * 100_000,
    "negations": "not " * 50_000 + "ds = 'x'",
    "an open text": "ds = '" + "\\'" * 50_000,
    "nothing known": "\x00\U0010ffff\ud7ff" * 1000,
}
PATTERNS = ["*a" * 2000 + "b", "|".join(["*a*a*a*b"] * 400), "(a+)+$" * 500]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(warm()) as at:
        yield at


@pytest.mark.parametrize("name", FILTERS)
def test_hostile_filters_are_refused_with_a_reason(url: str, name: str) -> None:
    answer = local_http.post(url + COUNT, json={"filter": FILTERS[name]}, timeout=30)
    assert answer.status_code == 400
    told = answer.json()["detail"]
    assert "filter" in told
    assert len(told) < 400


def test_patterns_take_no_more_time_than_their_length(url: str) -> None:
    bomb = "ds like '" + "%a" * 250 + "b'"
    assert local_http.post(url + COUNT, json={"filter": bomb}, timeout=30).json() == {"count": 0}
    for pattern in PATTERNS:
        parameters = {"consistency": "any", "pattern": pattern, "database": pattern}
        answer = local_http.get(f"{url}/v1/table-metadata", params=parameters, timeout=30)
        assert answer.status_code in (200, 400)
        if answer.status_code == 200:
            assert answer.json()["tables"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 200_000, 400),
        (b'{"names":' + b"[" * 200_000, 400),
        (b'{"names": ["ds=x"' + b',"ds=x"' * 100_000 + b"]}", 413),
        (b'{"write_ids": "sales.orders:9:1:' + b"1," * MEGABYTE + b':"}', 413),
        (b'{"filter": "' + b"x" * 5 * MEGABYTE + b'"}', 413),
        (b"\xff" * 1000, 400),
        (b'{"names": ["\xff"]}', 400),
        (b'{"names": ["ds=\\u0000"]}', 400),
    ],
)
def test_hostile_bodies_are_refused(url: str, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    path = f"{TABLE}/partition-names?table_id=7"
    answer = local_http.post(url + path, content=body, headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["status"]) == (status, status)


@pytest.mark.parametrize(
    "line",
    [
        "Metatide-Write-Ids: " + "9" * 5000,
        "Metatide-Write-Ids: x:y:z:\x01",
        "Metatide-Table-Id: " + "9" * 400,
        "Metatide-Min-Position: 99999999999999999999:1",
        "Metatide-Max-Wait-Ms: -1",
        "Metatide-Consistency: \xff",
        "Metatide-Accept-Newer: maybe",
        "X Y: z",
    ],
)
def test_hostile_headers_are_refused(url: str, line: str) -> None:
    with connection(url) as opened:
        opened.sendall(request(TABLE, "Metatide-Table-Id: 7")[:-2])
        opened.sendall(line.encode("latin-1") + b"\r\n\r\n")
        [(status, headers, body)] = response(opened)
    assert status == "HTTP/1.1 400 Bad Request"
    assert headers["content-type"] == "application/problem+json"
    assert len(json.loads(body)["detail"]) < 300


def test_memory_stays_where_it_is(url: str) -> None:
    with httpx.Client(base_url=url, timeout=30) as client:

        def hurt() -> None:
            for number, text in enumerate(FILTERS.values()):
                client.post(COUNT, json={"filter": text})
                client.get(f"{NAMES}&filter=ds='{number}'&limit={number + 1}")

        for _ in range(3):
            hurt()
        gc.collect()
        before = psutil.Process().memory_info().rss
        for _ in range(10):
            hurt()
        gc.collect()
    assert psutil.Process().memory_info().rss - before < 48 * MEGABYTE


def test_many_idle_connections_keep_nobody_from_an_answer(url: str) -> None:
    idle(url, 500)


@pytest.mark.torture
def test_five_thousand_idle_connections_take_little(url: str) -> None:
    before = psutil.Process().memory_info().rss
    idle(url, 5000)
    assert psutil.Process().memory_info().rss - before < 300 * MEGABYTE


def idle(url: str, count: int) -> None:
    """So many connections that say nothing more, half of them in the middle of a request."""

    async def run() -> None:
        parts = httpx.URL(url)
        opened = [await asyncio.open_connection(parts.host, parts.port) for _ in range(count)]
        for reader, writer in opened[::50]:
            writer.write(request(NAMES))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
        for _, writer in opened[1::2]:
            writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            for _ in range(20):
                answer = await client.get(NAMES)
                assert len(answer.json()["names"]) == len(DAYS)
        for _, writer in opened:
            writer.transport.abort()

    asyncio.run(run())
