"""How a group looks at a glance."""

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from hive.names import table_name
from metatide.stack.machine import free_port
from query_api.database_answer import DatabaseAnswer
from query_api.http import Settings
from query_api.http.access import Role, Tokens
from query_api.http.page import overview, table_counts
from query_api.http.page.overview import PATH
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.peers import Peers
from query_api.positions import Position
from query_api.reads import Read
from state.records import Pause
from state.records.actions import CreateNames, CreateTable, DropTable, PutName, RenameTable, Side
from tests.metatide.client.serving import serving
from tests.query_api.http.faulty_owner import faulty_owner, whole
from tests.query_api.http.read_client import EmptyDatabase, Nowhere, ask, get
from tests.query_api.http.warm_shards import ANY, TABLE, warm
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    name_image,
    table_image,
)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_counts, "FIRST_S_MAX", 60.0)
    monkeypatch.setattr(overview, "PATIENCE_S", 60.0)


def names(*tables: str) -> list[PutName]:
    return [PutName(SALES, name_image(table)) for table in tables]


def test_tables_are_counted_by_why_they_are_cold() -> None:
    renamed = table_name(None, "sales", "renamed")
    other, dropped = (table_name(None, "sales", name) for name in ("other", "dropped"))
    shard = MemoryShard(
        change(1, CreateNames(SALES)),
        change(2, CreateTable(table_image()), *names("orders", "gone", "renamed", "unknown")),
        change(3, CreateTable(table_image(other))),
        *load_table(3, table=table_image(dropped), ends=False),
        change(4, DropTable(other), DropTable(dropped)),
        change(5, RenameTable(table_name(None, "sales", "gone"), table_image(renamed), Side.NEW)),
        *load_table(5, table=table_image(table_name(None, "sales", "open")), ends=False),
    )
    [response] = get(MemoryShards(shard), PATH)
    [worker] = response.json()["workers"]
    assert worker["shards"] == [
        {
            "shard": 0,
            "position": "0:5",
            "paused": False,
            "tables": {
                "warm": 1,
                "cold": {"doubt: renamed": 1, "loading": 1},
                "named": 4,
            },
        }
    ]


def test_answers_are_counted_by_who_gave_them_and_why() -> None:
    database = EmptyDatabase(LogEnd(0, 4, []))
    shards = warm()

    async def asking(client: httpx.AsyncClient) -> None:
        for path in (f"{TABLE}?{ANY}", f"{TABLE}?{ANY}", "/v1/catalogs"):
            await client.get(path)
        overview = (await client.get(PATH)).json()
        assert overview["event"] == 4
        [worker] = overview["workers"]
        assert {
            (one["server"], one["source"], one["reason"]): one["count"]
            for one in worker["answered"]
        } == {
            ("http", "cache", "fresh"): 2,
            ("http", "database", "database_only"): 1,
        }

    ask(shards, asking, database=database)


def test_a_pause_is_seen() -> None:
    [response] = get(MemoryShards(MemoryShard(Pause(0, 1, paused=True))), PATH)
    assert response.json()["workers"][0]["shards"][0]["paused"] is True


def test_a_shard_that_can_not_be_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = warm(2)
    shards.shards[1] = closed = MemoryShard()
    monkeypatch.setattr(closed, "snapshot", lambda: None)
    [response] = get(shards, PATH)
    [worker] = response.json()["workers"]
    assert [part["shard"] for part in worker["shards"]] == [0]


def test_other_workers_are_asked_and_those_that_do_not_answer_are_named() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with serving(MemoryShards(None, warm().shards[0], None)) as url:
        shards = MemoryShards(MemoryShard(), None, None)
        shards.urls = {1: url, 2: nobody}
        [response] = get(shards, PATH)
    overview = response.json()
    assert overview["shard_count"] == 3
    assert overview["event"] is None
    by_url = {worker["url"]: worker for worker in overview["workers"]}
    assert [shard["shard"] for shard in by_url[""]["shards"]] == [0]
    assert [shard["shard"] for shard in by_url[url]["shards"]] == [1]
    assert by_url[url]["shards"][0]["tables"]["warm"] == 1
    assert by_url[nobody]["fault"] == "doesn't answer"


@pytest.mark.parametrize("workers", [[], [None, None]])
def test_an_answer_of_no_worker_or_of_several_is_not_read(
    monkeypatch: pytest.MonkeyPatch, workers: list[None]
) -> None:
    monkeypatch.setattr(overview, "_decode", lambda _: SimpleNamespace(workers=workers))
    with serving(MemoryShards(None, warm().shards[0])) as url:
        shards = MemoryShards(MemoryShard(), None)
        shards.urls = {1: url}
        [response] = get(shards, PATH)
    faults = {worker["url"]: worker["fault"] for worker in response.json()["workers"]}
    assert faults[url] == "its answer can't be read"


@pytest.mark.parametrize(
    ("answer", "needs_secret", "fault"),
    [
        (whole(500, b""), False, "answers 500"),
        (whole(200, b"{"), False, "its answer can't be read"),
        (None, False, "doesn't answer"),
        (None, True, "isn't asked, for want of the workers' secret"),
    ],
)
def test_what_is_wrong_with_a_worker_is_told(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | None, fault: str, *, needs_secret: bool
) -> None:
    monkeypatch.setattr(overview, "PATIENCE_S", 0.1 if answer is None else 60)
    shards, workers = MemoryShards(MemoryShard(), None), {}

    async def asking(client: httpx.AsyncClient) -> None:
        async with faulty_owner(answer) as url:
            shards.urls[1] = url
            answered = (await client.get(PATH)).json()["workers"]
            workers.update({worker["url"]: worker["fault"] for worker in answered})
            assert workers[url] == fault

    settings = Settings(peers=Peers(needs_secret=needs_secret))
    ask(shards, asking, settings=settings)
    assert workers[""] is None


@pytest.mark.parametrize("path", [PATH, "/v1/events"])
def test_it_is_for_whoever_may_read(path: str) -> None:
    settings = Settings(tokens=Tokens({b"": Role.READ}))
    [response] = get(warm(), path, settings=settings)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    [page] = get(warm(), "/", settings=settings)
    assert page.status_code == 200


class Counted(Nowhere):
    """A database that counts how often it was asked what is current."""

    times = 0

    async def after_now(self, reached: Position) -> LogEnd | None:
        self.times += 1
        return await super().after_now(reached)


def test_it_is_put_together_once_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "FRESH_S", 60.0)
    database = Counted(LogEnd(0, 4, []))
    responses = get(warm(), *[PATH] * 5, database=database)
    assert len({response.content for response in responses}) == 1
    assert database.times == 1


class FullDatabase(EmptyDatabase):
    """A database in which everything is, as of an event."""

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        return DatabaseAnswer(b"{}", self.event)


def test_missed_tables_and_times_are_told() -> None:
    database = FullDatabase(LogEnd(0, 5, [(5, RowEffects(tables=(ORDERS,)))]))

    async def asking(client: httpx.AsyncClient) -> None:
        for path in (f"{TABLE}?{ANY}", TABLE, f"{TABLE}/constraints"):
            await client.get(path)
        [worker] = (await client.get(PATH)).json()["workers"]
        times = {each["source"]: sum(each["counts"]) for each in worker["times"]}
        assert times == {"cache": 1, "database": 2}
        assert worker["missed"] == [
            {"table": "hive.sales.orders", "misses": 2, "reasons": {"behind": 2}}
        ]
        assert worker["thrift"] is None

    ask(warm(), asking, database=database)
