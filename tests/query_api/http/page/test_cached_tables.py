"""Whether tables are held, without reading them."""

from typing import Any

import httpx
import pytest

from metatide.stack.machine import free_port
from query_api.http import Settings
from query_api.http.access import Role, Tokens
from state.records import Pause, SetLists
from tests.metatide.client.serving import serving
from tests.query_api.http.read_client import ask
from tests.query_api.http.warm_shards import warm
from tests.query_api.shards import MemoryShard, MemoryShards, load_table

PATH = "/v1/held"
HARMLESS = "hive.sales.<img src=x onerror=alert(1)>"


def ask_held(
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
    answer = ask_held(shards, HARMLESS, "hive.sales.orders", "sales.orders")
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
    answer = ask_held(MemoryShards(shard), "sales.orders")
    assert answer.json()["tables"] == [one("hive.sales.orders", reason=reason, detail=detail)]


def test_a_refresh_is_seen_by_another_load() -> None:
    shard = MemoryShard(*load_table(3))
    [first] = ask_held(MemoryShards(shard), "sales.orders").json()["tables"]
    shard.fold(load_table(4))
    [second] = ask_held(MemoryShards(shard), "sales.orders").json()["tables"]
    assert (first["load"], second["load"]) == ("load-3", "load-4")


def test_owners_are_asked_and_one_that_does_not_answer_is_a_reason() -> None:
    with serving(warm()) as url:
        shards = MemoryShards(None)
        shards.urls[0] = url
        assert ask_held(shards, "sales.orders").json()["tables"] == [one("hive.sales.orders")]
    shards.urls[0] = f"http://127.0.0.1:{free_port()}"
    [table] = ask_held(shards, "sales.orders").json()["tables"]
    assert (table["warm"], table["reason"]) == (False, "not_owned")


def test_what_makes_no_sense_is_refused() -> None:
    assert ask_held(warm()).status_code == 400
    assert ask_held(warm(), "nodatabase").status_code == 400
    assert ask_held(warm(), *["a.b"] * 1001).status_code == 400
    closed = Settings(tokens=Tokens({b"": Role.READ}))
    assert ask_held(warm(), "sales.orders", settings=closed).status_code == 401
