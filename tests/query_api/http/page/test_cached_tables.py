"""Whether tables are in the cache, without reading them."""

from typing import Any

import httpx
import pytest

from hive.errors import ClosedStoreError
from metatide.stack.machine import free_port
from query_api.facts import Facts
from query_api.http import Settings
from query_api.http.access import Role, Tokens
from query_api.http.page import cached_tables
from state.records import Pause, SetLists
from tests.metatide.client.serving import serving
from tests.query_api.http.faulty_owner import faulty_owner, whole
from tests.query_api.http.read_client import ask
from tests.query_api.http.warm_shards import warm
from tests.query_api.shards import MemoryShard, MemoryShards, load_table

PATH = "/v1/cache-states"
HARMLESS = "hive.sales.<img src=x onerror=alert(1)>"


def ask_states(
    shards: MemoryShards, *tables: str, settings: Settings | None = None
) -> httpx.Response:
    responses: list[httpx.Response] = []

    async def asking(client: httpx.AsyncClient) -> None:
        responses.append(await client.post(PATH, json={"tables": tables}))

    ask(shards, asking, settings=settings)
    return responses[0]


def one(table: str, *, reason: str = "", detail: str = "") -> dict[str, Any]:
    return {"table": table, "warm": not reason, "reason": reason, "detail": detail, "load": ""}


def test_warm_and_unknown_tables_are_told_in_the_order_of_the_question() -> None:
    shards = warm()
    answer = ask_states(shards, HARMLESS, "hive.sales.orders", "sales.orders")
    assert answer.json() == {
        "tables": [
            one(HARMLESS, reason="cold", detail="never_loaded"),
            one("hive.sales.orders"),
        ]
    }
    assert shards.wanted == []


@pytest.mark.parametrize(
    ("shard", "reason", "detail"),
    [
        (MemoryShard(Pause(0, 1, paused=True)), "paused", ""),
        (MemoryShard(SetLists(0, 1, (), ("sales.*",))), "excluded", ""),
        (MemoryShard(*load_table(3, ends=False)), "cold", "loading"),
        (None, "not_owned", ""),
    ],
)
def test_the_reason_is_the_one_that_a_read_would_get(
    shard: MemoryShard | None, reason: str, detail: str
) -> None:
    answer = ask_states(MemoryShards(shard), "sales.orders")
    assert answer.json()["tables"] == [one("hive.sales.orders", reason=reason, detail=detail)]


def test_a_refresh_is_seen_by_another_load() -> None:
    shard = MemoryShard(*load_table(3))
    [first] = ask_states(MemoryShards(shard), "sales.orders").json()["tables"]
    shard.fold(load_table(4))
    [second] = ask_states(MemoryShards(shard), "sales.orders").json()["tables"]
    assert (first["load"], second["load"]) == ("load-3", "load-4")


def test_owners_are_asked_and_one_that_does_not_answer_is_a_reason() -> None:
    with serving(warm()) as url:
        shards = MemoryShards(None)
        shards.urls[0] = url
        assert ask_states(shards, "sales.orders").json()["tables"] == [one("hive.sales.orders")]
    shards.urls[0] = f"http://127.0.0.1:{free_port()}"
    [table] = ask_states(shards, "sales.orders").json()["tables"]
    assert (table["warm"], table["reason"]) == (False, "not_owned")


@pytest.mark.parametrize(
    "answer", [whole(500, b""), whole(200, b"{"), whole(200, b'{"tables": []}')]
)
def test_an_owner_that_tells_of_other_tables_is_not_heard(answer: bytes) -> None:
    shards, tables = MemoryShards(None), []

    async def asking(client: httpx.AsyncClient) -> None:
        async with faulty_owner(answer) as url:
            shards.urls[0] = url
            response = await client.post(PATH, json={"tables": ["sales.orders"]})
            tables.extend(response.json()["tables"])

    ask(shards, asking)
    detail = "its owner doesn't answer"
    assert tables == [one("hive.sales.orders", reason="not_owned", detail=detail)]


def test_a_store_that_can_not_be_read_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Facts:
        raise ClosedStoreError("the store is closed")

    monkeypatch.setattr(cached_tables, "read_facts", fail)
    answer = ask_states(warm(), "sales.orders")
    assert answer.json()["tables"] == [one("hive.sales.orders", reason="store_error")]


def test_what_makes_no_sense_is_refused() -> None:
    assert ask_states(warm()).status_code == 400
    assert ask_states(warm(), "nodatabase").status_code == 400
    assert ask_states(warm(), *["a.b"] * 1001).status_code == 400
    closed = Settings(tokens=Tokens({b"": Role.READ}))
    assert ask_states(warm(), "sales.orders", settings=closed).status_code == 401
