"""Answers are kept only as long as they are what would be answered now."""

import asyncio
import random
from sys import getsizeof

import httpx
import pytest

from query_api.http import Settings, response_cache
from query_api.http.access import Role, Tokens
from query_api.http.gate import Gate
from query_api.http.response_cache import CachedResponse, Key, ResponseCache
from query_api.latest.log_end import LogEnd
from query_api.shards import Views
from state.records import Pause
from state.records.actions import CreateTable, DropPartitions, PutPartitions
from tests.query_api.http.read_client import EmptyDatabase, Nowhere, ask, grounds
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    moment,
    partition_image,
    table_image,
)

KIB = 1024
NAMES = "/v1/databases/sales/tables/orders/partition-names?consistency=any"


def shards() -> MemoryShards:
    put = PutPartitions(ORDERS, 0, (partition_image("a"), partition_image("b")), added=True)
    created = CreateTable(table_image(managed=False))
    return MemoryShards(MemoryShard(change(1, created), change(2, put)))


def test_a_commit_ends_what_was_cached() -> None:
    source = shards()
    shard = source.shard(0)
    assert shard is not None

    async def asking(client: httpx.AsyncClient) -> None:
        first, again = await client.get(NAMES), await client.get(NAMES)
        assert first.json() == again.json() == {"names": ["ds=a", "ds=b"], "next": None}
        assert first.headers == again.headers
        shard.fold([change(3, DropPartitions(ORDERS, (("a",),)))])
        after = await client.get(NAMES, headers={"If-None-Match": first.headers["etag"]})
        assert (after.status_code, after.json()["names"]) == (200, ["ds=b"])
        assert after.headers["metatide-position"] == "0:3"
        shard.fold([Pause(0, 1, paused=True)])
        assert grounds(await client.get(NAMES)) == ("database", "paused")

    ask(source, asking, database=EmptyDatabase(LogEnd(0, 3, [])))


def test_what_is_cached_is_not_served_of_a_rewound_history_or_a_lost_shard() -> None:
    source, database = shards(), EmptyDatabase(LogEnd(0, 2, []))

    async def asking(client: httpx.AsyncClient) -> None:
        for _ in range(2):
            assert grounds(await client.get(NAMES)) == ("cache", "fresh")
        lost, source.shards[0] = source.shards[0], None
        assert grounds(await client.get(NAMES)) == ("database", "not_owned")
        source.shards[0] = lost
        for _ in range(2):
            assert grounds(await client.get(NAMES)) == ("cache", "fresh")
        database.history.check_position(0, 2, 1)
        assert grounds(await client.get(NAMES)) == ("database", "rewound")

    ask(source, asking, database=database)


def test_headers_that_ask_for_something_else_get_it() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        plain = [await client.get(NAMES) for _ in range(2)][1]
        position = {"Metatide-Min-Position": "0:99", "Metatide-Max-Wait-Ms": "0"}
        assert (await client.get(NAMES, headers=position)).status_code == 503
        assert (await client.get(NAMES, headers={"If-None-Match": "*"})).status_code == 304
        path = NAMES.replace("partition-names", "partitions")
        for _ in range(2):
            assert (await client.get(path)).json()["partitions"]
        lines = await client.get(path, headers={"Accept": "application/x-ndjson"})
        assert len(lines.content.splitlines()) == 2
        for coding in ("gzip", "zstd", "identity"):
            packed = await client.get(path, headers={"Accept-Encoding": coding})
            assert packed.json() == (await client.get(path)).json()
        assert plain.headers["content-type"] == "application/json"

    ask(shards(), asking, database=Nowhere())


def test_what_is_cached_for_one_consistency_is_not_served_for_another() -> None:
    path = NAMES.partition("?")[0]
    database = EmptyDatabase(LogEnd(0, 2, []))

    async def asking(client: httpx.AsyncClient) -> None:
        for _ in range(3):
            response = await client.get(path, headers={"Metatide-Consistency": "any"})
            assert grounds(response) == ("cache", "fresh")
            response = await client.get(path, headers={"Metatide-Consistency": "latest"})
            assert grounds(response) == ("cache", "fresh")
            assert (await client.get(path)).json() == response.json()
        # What is current can't be read: that concerns all but `any`.
        database.log = None
        response = await client.get(path, headers={"Metatide-Consistency": "any"})
        assert grounds(response) == ("cache", "fresh")
        for headers in ({"Metatide-Consistency": "latest"}, {}):
            assert grounds(await client.get(path, headers=headers)) == ("database", "unread")
        wrong = await client.get(path, headers={"Metatide-Consistency": "none"})
        assert wrong.status_code == 400

    ask(shards(), asking, database=database)


@pytest.mark.parametrize("first", ["latest", ""])
def test_a_consistency_that_is_given_twice_is_refused(first: str) -> None:
    """Else what is kept for one might be served to those who ask for the other."""
    path = NAMES.partition("?")[0]
    database = EmptyDatabase(LogEnd(0, 2, []))

    async def asking(client: httpx.AsyncClient) -> None:
        twice = [("Metatide-Consistency", first), ("Metatide-Consistency", "any")]
        for is_again in range(2):
            response = await client.get(path, headers=twice)
            assert response.status_code == 400
            assert "give the header metatide-consistency once" in response.json()["detail"]
            if not is_again:
                await client.get(path, headers={"Metatide-Consistency": "any"})
                await client.get(path)
        database.log = None
        assert grounds(await client.get(path)) == ("database", "unread")

    ask(shards(), asking, database=database)


def test_latest_is_asked_for_each_time() -> None:
    latest = NAMES.replace("any", "latest")
    database = EmptyDatabase(LogEnd(0, 2, []))

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(latest)) == ("cache", "fresh")
        database.log = None
        assert grounds(await client.get(latest)) == ("database", "unread")

    ask(shards(), asking, database=database)


def test_within_asks_nobody_while_a_read_is_recent_enough() -> None:
    within = NAMES.replace("any", "within&max_age_ms=60000")
    database = EmptyDatabase(LogEnd(0, 2, []))

    async def asking(client: httpx.AsyncClient) -> None:
        await client.get(within)
        # The read that serves the others runs behind the first answer.
        await asyncio.sleep(0.01)
        database.log = None
        for headers in ({}, {"metatide-consistency": "within; max_age_ms=60000"}):
            for _ in range(2):
                path = NAMES.partition("?")[0] if headers else within
                answer = await client.get(path, headers=headers)
                assert grounds(answer) == ("cache", "fresh")
                assert answer.headers["metatide-position"] == "0:2"
        latest = await client.get(NAMES.replace("any", "latest"))
        assert grounds(latest) == ("database", "unread")

    ask(shards(), asking, database=database)


def test_what_is_cached_is_for_those_who_may_read() -> None:
    tokens = Tokens({})

    async def asking(client: httpx.AsyncClient) -> None:
        assert (await client.get(NAMES)).status_code == 401

    assert tokens.holder_of(b"Bearer x")[0] is Role.NONE
    ask(shards(), asking, settings=Settings(tokens=tokens))


def held_bytes(cache: ResponseCache) -> int:
    """What the texts of a cache take, each once."""
    texts: dict[int, bytes | str] = {}

    def add(*more: bytes | str | None) -> None:
        texts.update((id(text), text) for text in more if text is not None)

    for key, answer in cache._answers.items():
        add(*key, answer.body, answer.etag)
        for accepted, (_, headers, body) in answer.forms.items():
            add(accepted, body, *(text for header in headers for text in header))
    for head, raw in cache._heads.items():
        add(head, raw.before, raw.after, raw.body)
    return sum(map(getsizeof, texts.values()))


@pytest.mark.parametrize(
    ("path_chars", "query_bytes", "body_bytes"),
    [(1, 0, 2), (1, 32 * KIB, 2), (32 * KIB, 9, 2), (9, 9, 100 * KIB)],
)
def test_all_that_is_cached_is_counted(path_chars: int, query_bytes: int, body_bytes: int) -> None:
    views, chance = Views(MemoryShards(MemoryShard())), random.Random(path_chars)
    cache = ResponseCache(views, lambda _: False)
    position = [(b"metatide-position", b"0:4")]
    for number in range(30):
        key: Key = "\U0001f30a" * path_chars, b"%d" % number + b"q" * query_bytes, b"any"
        body = chance.randbytes(body_bytes)
        answer = CachedResponse.of(key, moment(views), (), 0, body, position, lambda: None)
        cache.put(key, answer)
        for accepted in (None, b"gzip", b"zstd", b"zstd, gzip" + b" " * 5000):
            head = b"GET %d" % number + bytes(accepted or b"")[:KIB]
            scope = {"state": {"head": head}, "http_version": "1.1", "headers": []}
            response = cache.response(key, answer, None, accepted)
            cache.put_head(key, answer, scope, response, Gate().admission)
    assert len(cache._heads) == 4 * len(cache._answers) == 120
    assert held_bytes(cache) <= cache._bytes
    cache.clear()
    assert not cache._bytes
    assert not cache._heads


def test_many_heads_share_a_body() -> None:
    views, key = Views(MemoryShards(MemoryShard())), ("/", b"", b"")
    cache = ResponseCache(views, lambda _: False)
    position = [(b"metatide-position", b"0:4")]
    body = random.Random(1).randbytes(100 * KIB)
    answer = CachedResponse.of(key, moment(views), (), 0, body, position, lambda: None)
    cache.put(key, answer)
    for number in range(16):
        scope = {"state": {"head": b"%d" % number}, "http_version": "1.1", "headers": []}
        response = cache.response(key, answer, None, None)
        cache.put_head(key, answer, scope, response, Gate().admission)
    assert len(cache._heads) == 16
    assert held_bytes(cache) <= cache._bytes < 150 * KIB


@pytest.mark.parametrize(
    ("head", "version", "others", "is_kept"),
    [
        (b"GET /", "1.1", 0, True),
        (b"GET /", "1.1", response_cache.HEADS_MAX - 1, True),
        (b"GET /", "1.1", response_cache.HEADS_MAX, False),
        (b"GET /" + b"x" * response_cache.HEAD_BYTES_MAX, "1.1", 0, False),
        (b"GET /", "1.0", 0, False),
    ],
)
def test_few_short_heads_are_kept(head: bytes, version: str, others: int, is_kept: bool) -> None:
    key = "/", b"", b""
    cache = ResponseCache(Views(shards := MemoryShards(MemoryShard())), lambda _: False)
    position = [(b"metatide-position", b"0:4")]
    answer = CachedResponse.of(key, moment(Views(shards)), (), 0, b"x", position, lambda: None)
    cache.put(key, answer)
    for each in (*(b"%d" % number for number in range(others)), head):
        scope = {"state": {"head": each}, "http_version": version, "headers": []}
        response = cache.response(key, answer, None, None)
        cache.put_head(key, answer, scope, response, Gate().admission)
    assert (cache.by_head(head) is not None) == is_kept


def test_what_grows_out_of_the_room_is_dropped_with_its_heads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(response_cache, "BYTES_MAX", 20 * KIB)
    views, key = Views(MemoryShards(MemoryShard())), ("/", b"", b"")
    cache = ResponseCache(views, lambda _: False)
    position = [(b"metatide-position", b"0:4")]
    answer = CachedResponse.of(key, moment(views), (), 0, b"x", position, lambda: None)
    cache.put(key, answer)
    for number in range(16):
        scope = {"state": {"head": b"%d" % number}, "http_version": "1.1", "headers": []}
        response = cache.response(key, answer, None, b"%d" % number)
        cache.put_head(key, answer, scope, response, Gate().admission)
    assert cache.get(key) is None
    assert not cache._bytes
    assert not cache._heads


def test_once_half_is_taken_a_question_must_come_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_cache, "BYTES_MAX", 4 * KIB)
    put, queries = ResponseCache.put, []

    def noted(self: ResponseCache, key: Key, answer: CachedResponse) -> None:
        queries.append(key[1])
        put(self, key, answer)

    monkeypatch.setattr(ResponseCache, "put", noted)

    async def asking(client: httpx.AsyncClient) -> None:
        for query in ("limit=1", "limit=2", "limit=3", "limit=2"):
            assert (await client.get(f"{NAMES}&{query}")).status_code == 200

    ask(shards(), asking)
    assert queries == [b"consistency=any&limit=1", b"consistency=any&limit=2"]
