"""A worker keeps what another answered over HTTP, for as long as the log confirms it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from query_api.http import Settings
from query_api.http.owner_answers import moment_of_owner
from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.latest.row_effects import RowEffects
from query_api.peers import Peers, SecretFile
from query_api.resolver.resolver import Resolver
from state.records import AnyRecord, Pause, Reset, SetLists
from state.records.routing import table_shard
from tests.metatide.client.serving import serving
from tests.query_api.http.connection import connection, request, response
from tests.query_api.http.read_client import EmptyDatabase, ask, grounds
from tests.query_api.http.slow_database import Slow
from tests.query_api.http.warm_shards import ANY, DAYS, MARK, TABLE, warm
from tests.query_api.shards import ORDERS, MemoryShard, MemoryShards

PARTITIONS = f"{TABLE}/partitions"


def log(*effects: RowEffects, lost_from: int = 99) -> LogEnd:
    """The log from event 4 on, with an event for each of these effects. Events from `lost_from` on
    are of another history."""
    rows = list(enumerate((RowEffects(), *effects), 4))
    marks = {event: MARK + event - 4 + 100 * (event >= lost_from) for event, _ in rows}
    return LogEnd(0, 4 + len(effects), rows, marks=marks)


@contextmanager
def owner(secret: Path | None) -> Iterator[tuple[str, Settings]]:
    """The URL of a worker that has the shard, and the settings of its peers."""

    def settings() -> Settings:
        return Settings(peers=Peers(None if secret is None else SecretFile(secret)))

    own = settings()
    with serving(warm(), EmptyDatabase(log()), own) as url:
        own.peers.address = url.partition("://")[2]
        yield url, settings()


def beside_owner(url: str) -> MemoryShards:
    """The shards of a worker that has all but that of the table."""
    elsewhere = table_shard(ORDERS, 2)
    shards = MemoryShards(MemoryShard(), MemoryShard())
    shards.shards[elsewhere] = None
    shards.urls[elsewhere] = url
    return shards


def ask_beside_owner(
    secret: Path | None, asking: Callable[..., Awaitable[None]], database: EmptyDatabase
) -> None:
    """Asks a worker whose peer has the shard; the peer ends with the stack."""
    with ExitStack() as running:
        url, settings = running.enter_context(owner(secret))
        beside = partial(asking, running=running)
        ask(beside_owner(url), beside, database=database, settings=settings)


@pytest.mark.parametrize("query", ["", f"?{ANY}", "?consistency=within&max_age_ms=60000"])
def test_the_owner_answers_other_workers_from_its_cache(
    workers_secret: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    answer, reads = Resolver.answer, list[object]()

    async def counted(resolver: Resolver, read: Any, *more: Any) -> Any:
        reads.append(read)
        return await answer(resolver, read, *more)

    monkeypatch.setattr(Resolver, "answer", counted)
    database, bodies = EmptyDatabase(log()), []

    async def asking(client: httpx.AsyncClient) -> None:
        for path in (TABLE, PARTITIONS):
            first = await client.get(path + query, headers={"accept-encoding": "gzip"})
            assert grounds(first) == ("cache", "fresh")
            assert first.headers["metatide-position"] == "0:4"
            assert len(first.headers.get_list("etag")) == 1
            bodies.append(first.json())
            await client.get(path + query)

    with ExitStack() as running:
        url, settings = running.enter_context(owner(workers_secret))
        for _ in range(3):
            ask(beside_owner(url), asking, database=database, settings=settings)
    assert len(reads) == 2
    assert bodies[:2] == bodies[2:4] == bodies[4:]


def test_what_a_worker_keeps_of_another_is_for_its_own_clients(workers_secret: Path) -> None:
    path = f"{TABLE}?{ANY}"

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(path)) == ("database", "not_owned")

    with ExitStack() as running:
        url, own = running.enter_context(owner(workers_secret))
        between = running.enter_context(serving(beside_owner(url), EmptyDatabase(log()), own))
        own.peers.address = between.partition("://")[2]
        for _ in range(2):
            assert grounds(httpx.get(between + path)) == ("cache", "fresh")
        settings = Settings(peers=Peers(SecretFile(workers_secret)))
        ask(beside_owner(between), asking, database=EmptyDatabase(log()), settings=settings)


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_a_head_request_is_answered_as_a_get_is(workers_secret: Path, accept: str) -> None:
    taken = {"accept": accept}

    with ExitStack() as running:
        url, settings = running.enter_context(owner(workers_secret))

        async def asking(client: httpx.AsyncClient) -> None:
            head = await client.head(PARTITIONS, headers=taken)
            assert (head.status_code, *grounds(head)) == (200, "cache", "fresh")
            assert head.content == b""
            assert (await client.head(f"{TABLE}/partitions/ds=never")).status_code == 404
            body = await client.get(PARTITIONS, headers=taken)
            assert (body.status_code, *grounds(body)) == (200, "cache", "fresh")
            assert body.headers.get("content-length") == head.headers.get("content-length")
            assert body.headers["content-type"] == accept

        ask(beside_owner(url), asking, database=EmptyDatabase(log()), settings=settings)

    assert settings.peers.may_ask(url.partition("://")[2])
    counted = settings.peers.metrics.registry.get_sample_value
    assert counted("metatide_unproved_answers_total", {"protocol": "http"}) == 0


def test_what_a_head_request_got_is_not_cached(workers_secret: Path) -> None:
    database = EmptyDatabase(log())

    async def asking(client: httpx.AsyncClient, running: ExitStack) -> None:
        assert grounds(await client.head(TABLE)) == ("cache", "fresh")
        running.close()
        assert grounds(await client.get(TABLE)) == ("database", "not_owned")

    ask_beside_owner(workers_secret, asking, database)


@pytest.mark.parametrize("query", ["", f"?{ANY}", "?consistency=within&max_age_ms=60000"])
def test_an_answer_is_cached_in_each_form(workers_secret: Path, query: str) -> None:
    partitions = PARTITIONS + query
    database = EmptyDatabase(log())

    async def asking(client: httpx.AsyncClient, running: ExitStack) -> None:
        first = await client.get(partitions)
        # With the next question, a read of the log begins in the background.
        await client.get(partitions)
        assert grounds(first) == ("cache", "fresh")
        assert "metatide-moment" not in first.headers
        running.close()
        for coding in ("gzip", "zstd", "identity"):
            again = await client.get(partitions, headers={"accept-encoding": coding})
            assert (again.status_code, *grounds(again)) == (200, "cache", "fresh")
            assert again.headers.get("content-encoding", "identity") == coding
            assert again.json() == first.json()
            assert len(again.json()["partitions"]) == len(DAYS)
            assert "metatide-moment" not in again.headers
        headers = {"if-none-match": first.headers["etag"]}
        assert (await client.get(partitions, headers=headers)).status_code == 304

    ask_beside_owner(workers_secret, asking, database)


def test_under_any_the_owner_answers_while_the_database_is_slow(
    workers_secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = request(f"{TABLE}?{ANY}")
    database = Slow(log())
    with ExitStack() as running:
        url, settings = running.enter_context(owner(workers_secret))
        own_url = running.enter_context(serving(beside_owner(url), database, settings))
        opened = running.enter_context(connection(own_url))
        # The third time, the server answers before it parses the request.
        for _ in range(3):
            opened.sendall(asking)
            response(opened)
        asked_count = database.asked_count
        database.may.clear()
        monkeypatch.setattr(RecentReads, "within", lambda *_: [])
        opened.sendall(asking)
        [(status, headers, _)] = response(opened)
        database.may.set()
    assert (status, headers["metatide-reason"]) == ("HTTP/1.1 200 OK", "fresh")
    assert database.asked_count == asked_count


def test_an_event_that_touches_it_drops_it(workers_secret: Path) -> None:
    database = EmptyDatabase(log())

    async def asking(client: httpx.AsyncClient, running: ExitStack) -> None:
        assert grounds(await client.get(TABLE)) == ("cache", "fresh")
        running.close()
        database.log = log(RowEffects())
        assert (await client.get(TABLE)).headers["metatide-position"] == "0:5"
        database.log = log(RowEffects(), RowEffects(tables=(ORDERS,)))
        assert grounds(await client.get(TABLE)) == ("database", "not_owned")

    ask_beside_owner(workers_secret, asking, database)


def test_nothing_cached_outlives_an_event_that_the_database_has_lost(workers_secret: Path) -> None:
    database = EmptyDatabase(log())

    async def asking(client: httpx.AsyncClient, running: ExitStack) -> None:
        for _ in range(2):
            assert grounds(await client.get(TABLE)) == ("cache", "fresh")
        running.close()
        database.log = log(RowEffects())
        assert grounds(await client.get(TABLE)) == ("cache", "fresh"), "it is kept"
        database.log = log(*[RowEffects()] * 2, lost_from=5)
        assert grounds(await client.get(TABLE)) == ("database", "not_owned")

    ask_beside_owner(workers_secret, asking, database)


@pytest.mark.parametrize("query", ["", f"?{ANY}", "?consistency=within&max_age_ms=60000"])
@pytest.mark.parametrize(
    "order",
    [
        Pause(0, 1, paused=True),
        SetLists(0, 1, (), (f"{ORDERS.db}.*",)),
        SetLists(0, 1, ("other.*",), ()),
        Reset(1, 4),
    ],
    ids=["pause", "blacklist", "whitelist", "reset"],
)
def test_nothing_cached_outlives_an_order_that_all_shards_obey(
    workers_secret: Path, order: AnyRecord, query: str
) -> None:
    database = EmptyDatabase(log())

    with ExitStack() as running:
        url, settings = running.enter_context(owner(workers_secret))
        shards = beside_owner(url)
        [own] = filter(None, shards.shards)

        async def asking(client: httpx.AsyncClient) -> None:
            for _ in range(2):
                assert grounds(await client.get(TABLE + query)) == ("cache", "fresh")
            running.close()
            assert grounds(await client.get(TABLE + query)) == ("cache", "fresh"), "it is kept"
            own.fold([order])
            assert grounds(await client.get(TABLE + query)) == ("database", "not_owned")

        ask(shards, asking, database=database, settings=settings)


def test_a_worker_without_shards_sees_no_order_and_keeps_nothing(workers_secret: Path) -> None:
    with ExitStack() as running:
        url, settings = running.enter_context(owner(workers_secret))
        shards = beside_owner(url)
        shards.shards = [None, None]

        async def asking(client: httpx.AsyncClient) -> None:
            assert grounds(await client.get(TABLE)) == ("cache", "fresh")
            running.close()
            assert grounds(await client.get(TABLE)) == ("database", "not_owned")

        ask(shards, asking, database=EmptyDatabase(log()), settings=settings)


@pytest.mark.parametrize(
    ("query", "headers", "has_secret"),
    [
        pytest.param("", {"metatide-min-position": "0:3"}, True, id="a minimum position"),
        pytest.param("", {}, False, id="without a proof"),
    ],
)
def test_other_answers_are_not_cached(
    workers_secret: Path, query: str, headers: dict[str, str], *, has_secret: bool
) -> None:
    database = EmptyDatabase(log())

    async def asking(client: httpx.AsyncClient, running: ExitStack) -> None:
        first = await client.get(TABLE + query, headers=headers)
        assert grounds(first) == ("cache", "fresh")
        running.close()
        again = await client.get(TABLE + query, headers=headers)
        assert grounds(again) == ("database", "not_owned")

    ask_beside_owner(workers_secret if has_secret else None, asking, database)


@pytest.mark.parametrize("text", ["", "*", "AAA", "\xe9", "AAAA"])
def test_a_moment_that_can_not_be_read_is_none(text: str) -> None:
    assert moment_of_owner(text, 0) is None
