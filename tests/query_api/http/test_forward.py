"""A request for a shard of another worker goes there once, and then to the database."""

import httpx
import pytest

from metatide.stack.machine import free_port
from query_api.latest.log import LatestLog
from tests.metatide.client.serving import serving
from tests.query_api.http.asking import Knowing, ask, grounds
from tests.query_api.http.test_answers import ANY, TABLE, warm
from tests.query_api.shards import MemoryShards


def elsewhere(url: str) -> MemoryShards:
    shards = MemoryShards(None)
    shards.urls[0] = url
    return shards


def test_the_owner_answers() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        response = await client.get(f"{TABLE}/partition-names?{ANY}&filter=ds='2026-01-05'")
        assert grounds(response) == ("cache", "fresh")
        assert response.json()["names"] == ["ds=2026-01-05"]
        posted = await client.post(f"{TABLE}/partition-count?{ANY}", json={"filter": "ds = 'x'"})
        assert posted.json() == {"count": 0}
        known = {"If-None-Match": response.headers["etag"]}
        again = await client.get(str(response.url), headers=known)
        assert again.status_code == 304
        wrong = await client.get(f"{TABLE}/partitions/ds=never?{ANY}")
        assert (wrong.status_code, *grounds(wrong)) == (404, "cache", "fresh")

    with serving(warm()) as url:
        ask(elsewhere(url), asking)


@pytest.mark.parametrize("alive", [True, False])
def test_an_owner_that_can_not_answer_leaves_it_to_the_database(alive: bool) -> None:
    database = Knowing(LatestLog(0, 4, []))

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(f"{TABLE}?{ANY}")) == ("database", "not_owned")

    with serving(MemoryShards(None)) as url:
        there = url if alive else f"http://127.0.0.1:{free_port()}"
        ask(elsewhere(there), asking, database=database)
    assert len(database.asked) == 1


def test_what_was_forwarded_is_not_forwarded_again() -> None:
    """Two workers that take each other for the owner don't go on for ever."""
    with serving(shards := MemoryShards(None)) as url:
        shards.urls[0] = url
        response = httpx.get(f"{url}{TABLE}?{ANY}")
    assert response.status_code == 503
    assert "not_owned" in response.json()["detail"]
