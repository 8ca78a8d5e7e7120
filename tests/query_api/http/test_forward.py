"""A request for a shard of another worker goes there once, and then to the database."""

import gzip

import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from metatide.stack.machine import free_port
from query_api.consistency import Consistency
from query_api.http import Settings
from query_api.http.forward import Forwarder
from query_api.http.requirement_headers import REQUIREMENTS, headers_of
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.peers import Peers
from query_api.reads import GetTables
from query_api.requirement import parse_requirement
from query_api.requirement_defaults import Defaults
from state.records.routing import table_shard
from tests.metatide.client.serving import serving
from tests.query_api.http.faulty_owner import HALF, faulty_owner, whole
from tests.query_api.http.read_client import EmptyDatabase, ask, grounds
from tests.query_api.http.two_workers import DBS, TABLES, elsewhere, two
from tests.query_api.http.warm_shards import ANY, DAYS, TABLE, warm
from tests.query_api.shards import MemoryShards
from tests.support import local_http


def test_the_owner_answers() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        response = await client.get(f"{TABLE}/partition-names?{ANY}&filter=ds='2026-01-05'")
        assert grounds(response) == ("cache", "fresh")
        assert response.json()["names"] == ["ds=2026-01-05"]
        for coding in ("gzip", "identity"):
            taken = {"Accept-Encoding": coding}
            long = await client.get(f"{TABLE}/partitions?{ANY}", headers=taken)
            assert long.headers.get("content-encoding", "identity") == coding
            assert len(long.json()["partitions"]) == len(DAYS)
        del client.headers["accept-encoding"]
        plain = await client.get(f"{TABLE}/partitions?{ANY}")
        assert "content-encoding" not in plain.headers
        assert plain.json() == long.json()
        posted = await client.post(f"{TABLE}/partition-count?{ANY}", json={"filter": "ds = 'x'"})
        assert posted.json() == {"count": 0}
        headers = {"If-None-Match": response.headers["etag"]}
        again = await client.get(str(response.url), headers=headers)
        assert again.status_code == 304
        wrong = await client.get(f"{TABLE}/partitions/ds=never?{ANY}")
        assert (wrong.status_code, *grounds(wrong)) == (404, "cache", "fresh")

    with serving(warm()) as url:
        ask(elsewhere(url), asking)


@pytest.mark.parametrize("alive", [True, False])
def test_an_owner_that_can_not_answer_leaves_it_to_the_database(alive: bool) -> None:
    database = EmptyDatabase(LogEnd(0, 4, []))

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(f"{TABLE}?{ANY}")) == ("database", "not_owned")

    with serving(MemoryShards(None)) as url:
        there = url if alive else f"http://127.0.0.1:{free_port()}"
        ask(elsewhere(there), asking, database=database)
    assert len(database.reads) == 1


def test_what_was_forwarded_is_not_forwarded_again() -> None:
    """Two workers that take each other for the owner don't go on for ever."""
    with serving(shards := MemoryShards(None)) as url:
        shards.urls[0] = url
        response = local_http.get(f"{url}{TABLE}?{ANY}")
    assert response.status_code == 503
    assert "not_owned" in response.json()["detail"]


@pytest.mark.parametrize("address", ["w1:99999", "w1:x", "[::1", ":1", f"{'w' * 64}:1", "\ud800:1"])
def test_what_is_no_address_leaves_it_to_the_database(address: str) -> None:
    """A member of the group tells its address itself."""
    database = EmptyDatabase(LogEnd(0, 4, []))

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(f"{TABLE}?{ANY}")) == ("database", "not_owned")
        several = await client.post(f"/v1/tables?{ANY}", json={"names": ["sales.orders"]})
        assert grounds(several) == ("database", "not_owned")
        states = await client.post("/v1/cache-states", json={"tables": ["sales.orders"]})
        assert states.json()["tables"][0]["reason"] == "not_owned"

    ask(elsewhere(f"http://{address}"), asking, database=database)


PACKED = whole(200, gzip.compress(b" " * 50_000_000))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        (PACKED.replace(b" X", b" X\r\ncontent-encoding: gzip"), "compresses without being asked"),
        (HALF, "does not answer"),
    ],
    ids=["what grows", "half of it"],
)
async def test_an_owner_that_sends_nonsense_is_not_heard(answer: bytes, warning: str) -> None:
    forwarder = Forwarder(None, Peers())
    async with faulty_owner(answer) as url:
        try:
            with capture_logs() as logs:
                assert await forwarder.ask(url, "/") is None
        finally:
            await forwarder.close()
    [line] = logs
    assert (warning in line["event"], line["url"]) == (True, url)


def test_an_answer_that_its_owner_cuts_off_is_seen_to_be_cut() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        async with faulty_owner(HALF) as url:
            shards.urls[0] = url
            with pytest.raises(ConnectionAbortedError):
                await client.get(f"{TABLE}?{ANY}")

    ask(shards := MemoryShards(None), asking)


def test_what_several_workers_hold_is_put_together() -> None:
    first, other = two()
    names = [name.in_catalog for name in reversed(TABLES)]

    async def asking(client: httpx.AsyncClient) -> None:
        tables = await client.post(f"/v1/tables?{ANY}", json={"names": names})

        assert grounds(tables) == ("cache", "fresh")
        assert tables.headers["metatide-position"] == "0:20"
        full_names = [f"{one['dbName']}.{one['tableName']}" for one in tables.json()["tables"]]
        assert full_names == names
        lines, after = [], ""
        while after is not None:
            query = f"/v1/table-metadata?{ANY}&database=*a&pattern=t*&limit=3&after={after}"
            page = await client.get(query)
            assert grounds(page) == ("cache", "fresh")
            assert page.headers["metatide-position"] == "0:20"
            lines += [f"{one['dbName']}.{one['tableName']}" for one in page.json()["tables"]]
            after = page.json()["next"]
        assert lines == sorted(names)
        for db in DBS:
            query = f"/v1/table-metadata?{ANY}&database={db.db}&limit="
            cut, full = [(await client.get(f"{query}{limit}")).json() for limit in (1, 2)]
            assert [line["tableName"] for line in cut["tables"]] == ["t0"]
            assert (cut["next"], full["next"]) == (f"{db.db}.t0", None)
        only = await client.get(f"/v1/table-metadata?{ANY}&database=*a&name=beta")
        assert {line["dbName"] for line in only.json()["tables"]} == {"beta"}

    with serving(other) as url:
        first.urls[1] = url
        ask(first, asking)


@pytest.mark.parametrize("strict", [Consistency.LATEST, Consistency.WITHIN])
def test_an_owner_reads_its_part_as_the_whole_requires(strict: Consistency) -> None:
    first, other = two()
    mine, theirs = (next(name for name in TABLES if table_shard(name, 2) == n) for n in (0, 1))
    defaults = Defaults(strict, ((theirs.in_catalog, Consistency.ANY),))
    # The owner's shard hasn't applied the last event, which touched its table.
    effects = ((event, RowEffects(tables=(theirs,) * (event == 30))) for event in range(20, 31))
    log = LogEnd(0, 30, list(effects))

    async def asking(client: httpx.AsyncClient) -> None:
        names = [mine.in_catalog, theirs.in_catalog]
        tables = await client.post("/v1/tables", json={"names": names})

        assert grounds(tables) == ("database", "not_owned"), "the owner has no newer one"

    with serving(other, EmptyDatabase(log), Settings(defaults)) as url:
        first.urls[1] = url
        ask(first, asking, database=EmptyDatabase(log), settings=Settings(defaults))


@pytest.mark.parametrize("strict", [Consistency.LATEST, Consistency.WITHIN])
def test_an_owner_goes_by_the_default_of_the_worker_that_was_asked(strict: Consistency) -> None:
    first, other = two()
    theirs = next(name for name in TABLES if table_shard(name, 2) == 1)
    effects = ((event, RowEffects(tables=(theirs,) * (event == 30))) for event in range(20, 31))
    database = EmptyDatabase(LogEnd(0, 30, list(effects)))
    path = f"/v1/databases/{theirs.db}/tables/{theirs.table}"

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(path)) == ("database", "behind")
        assert grounds(await client.get(f"{path}?{ANY}")) == ("cache", "fresh")

    with serving(other, database, Settings(Defaults(Consistency.ANY))) as url:
        first.urls[1] = url
        ask(first, asking, database=database, settings=Settings(Defaults(strict)))


STATED = {"min_position": "0:7", "max_wait_ms": "9"}


@pytest.mark.parametrize(
    ("conditions", "floor"),
    [
        ({}, Consistency.ANY),
        (STATED, Consistency.ANY),
        ({"consistency": "any"}, Consistency.ANY),
        ({"consistency": "at_least", **STATED}, Consistency.ANY),
        ({"consistency": "within", "max_age_ms": "30", **STATED}, Consistency.ANY),
        ({"consistency": "within"}, Consistency.LATEST),
        ({"consistency": "any"}, Consistency.LATEST),
    ],
)
def test_what_is_stated_to_owners_requires_as_much(
    conditions: dict[str, str], floor: Consistency
) -> None:
    """Whatever the owner's defaults are."""
    read = GetTables(tuple(TABLES))
    required = parse_requirement(conditions, read, Defaults(floor=floor))
    stated = {REQUIREMENTS[name]: value.decode() for name, value in headers_of(required)}

    understood = parse_requirement(stated, read, Defaults(Consistency.ANY))

    if required.must_be_current:
        required = replace(required, consistency=understood.consistency)
    assert understood == required


GROUNDS = b"metatide-source: cache\r\nmetatide-reason: fresh\r\nmetatide-position: 0:20\r\n"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"", b'{"tables":[]}'),
        (GROUNDS.replace(b"0:20", b"x"), b'{"tables":[]}'),
        (GROUNDS, b"<html>"),
        (GROUNDS, b'{"tables":[5]}'),
    ],
)
def test_a_part_that_can_not_be_read_leaves_all_of_it_to_the_database(
    head: bytes, body: bytes
) -> None:
    first, _ = two()
    part = whole(200, body).replace(b" X\r\n", b" X\r\n" + head)
    names = {"names": [name.in_catalog for name in TABLES]}

    async def asking(client: httpx.AsyncClient) -> None:
        async with faulty_owner(part) as first.urls[1]:
            for more in ("", "&min_position=0:1"):
                answer = await client.post(f"/v1/tables?{ANY}{more}", json=names)
                assert grounds(answer) == ("database", "not_owned")

    ask(first, asking, database=EmptyDatabase(LogEnd(0, 40, [])))


def test_a_part_that_nobody_has_leaves_all_of_it_to_the_database() -> None:
    first, _ = two()
    nobody = f"http://127.0.0.1:{free_port()}"
    first.urls[1] = nobody
    none = MemoryShards(None, None)
    none.urls = {0: nobody, 1: nobody}
    database = EmptyDatabase(LogEnd(0, 30, []))

    async def asking(client: httpx.AsyncClient) -> None:
        names = [name.in_catalog for name in TABLES]
        tables = await client.post(f"/v1/tables?{ANY}", json={"names": names})

        assert grounds(tables) == ("database", "not_owned")

    async def asking_for_all(client: httpx.AsyncClient) -> None:
        tables = await client.get(f"/v1/table-metadata?{ANY}")
        assert grounds(tables) == ("database", "not_owned")

    ask(first, asking, database=database)
    assert len(database.reads) == 1
    ask(none, asking_for_all, database=database)
    assert len(database.reads) == 2
