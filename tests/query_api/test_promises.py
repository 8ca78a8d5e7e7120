"""Every consistency with every position, asked of a real database: what docs/promises.md says."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple

import httpx
import pytest
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.positions import Position, parse_position
from query_api.requirement_defaults import Defaults
from query_api.resolver.shard_facts import read_facts
from query_api.targets import TargetKind, of_database
from query_api.thrift.call import Call, CallAnswer, Client, Relay
from query_api.thrift.methods import CachedMethods
from state.records import Reset
from tests.metatide.client.serving import serving, serving_app
from tests.query_api.folded_world import World, append, warm_tables, world
from tests.query_api.http.read_client import client_of, grounds
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.query_api.thrift.methods.wire import arguments

ABSURD = 99_999_999_999
CURRENT = "get_current_notificationEventId"


class Place(NamedTuple):
    """A cache, the database that a worker of it reads, and how far they are."""

    made: World
    current: int
    """Of the database; the cache lags."""
    table: tuple[str, str]

    @property
    def shards(self) -> MemoryShards:
        """For one event loop."""
        return again(self.made.shards)

    @property
    def positions(self) -> dict[str, Position]:
        """What may be asked for, by whether it can be had."""
        return {
            "folded": Position(0, self.made.current),
            "in the database": Position(0, self.current),
            "ahead": Position(0, self.current + 1),
            "absurd": Position(0, ABSURD),
            "of a later epoch": Position(5, 1),
            "absurd of a later epoch": Position(10**18 - 1, 10**19 - 1),
        }


@pytest.fixture(scope="module")
def made(a_new_database: Callable[[], str]) -> Iterator[World]:
    made = world(a_new_database(), events=300, shards=2)
    yield made
    made.store.engine.dispose()


@pytest.fixture(scope="module")
def place(made: World) -> Place:
    """A cache that lags: an event about its first table isn't folded."""
    table = warm_tables(made.shards)[0]
    current = append(made, "INSERT", *table)
    return Place(made, current, table)


def again(shards: MemoryShards) -> MemoryShards:
    """The same stores."""
    return MemoryShards(*(MemoryShard(store=one.store) for one in shards.shards if one))


def paths(place: Place) -> Iterator[str]:
    db, table = place.table
    yield f"/v1/databases/{db}/tables/{table}"
    yield f"/v1/databases/{db}/tables/{table}/partition-names"
    yield f"/v1/databases/{db}/tables/none_of_this_name"
    yield f"/v1/databases/{db}/tables"
    yield f"/v1/databases/{db}/functions"
    yield "/v1/databases"
    yield "/v1/table-metadata"
    yield "/v1/catalogs"
    yield "/v1/current-event"
    yield f"/v1/write-ids?table={db}.{table}"
    yield f"/v1/tables?name={db}.{table}"


@asynccontextmanager
async def server(url: str, shards: MemoryShards) -> AsyncIterator[httpx.AsyncClient]:
    primary = Primary(url, connections=2)
    async with client_of(Backend(shards, primary)) as client:
        yield client
    await primary.close()


async def check(client: httpx.AsyncClient, path: str, place: Place, *, reaches: bool) -> None:
    """All consistencies and positions on one path, in the query and in headers, asked twice."""
    for consistency in set(Consistency) - {Consistency.WRITE_IDS}:
        for name, least in place.positions.items():
            requirement = {"consistency": consistency.value, "min_position": str(least)}
            in_headers = {
                f"metatide-{key.replace('_', '-')}": requirement[key] for key in requirement
            }
            for query, headers in ((requirement, {}), (requirement, {}), ({}, in_headers)):
                url = httpx.URL(path).copy_merge_params({**query, "max_wait_ms": "1"})
                answer = await client.get(url, headers=headers)
                what = f"{consistency} {name} {url}: {answer.text}"
                if answer.status_code in (200, 404):
                    position = parse_position(answer.headers["metatide-position"])
                    assert position >= least, what
                    if consistency in (Consistency.LATEST, Consistency.WITHIN):
                        assert position.event >= place.current, what
                else:
                    assert answer.status_code == 503, what
                    assert int(answer.headers["retry-after"]) >= 1, what
                    assert str(least) in answer.text, what
                can_be_had = name in ("folded", "in the database") and reaches
                assert (answer.status_code != 503) == can_be_had, what


async def test_no_answer_is_older_than_the_position_that_was_asked_for(place: Place) -> None:
    async with server(place.made.url, place.shards) as client:
        for path in paths(place):
            await check(client, path, place, reaches=True)


async def test_nor_is_one_that_another_worker_gave_or_several_together(
    place: Place,
) -> None:
    """The owner of the second shard, whose database is the same."""
    first, second = place.shards.shards
    here, there = MemoryShards(first, None), MemoryShards(None, second)
    primary = Primary(place.made.url, connections=2)
    with serving(there, primary) as url:
        here.urls[1] = url
        async with server(place.made.url, here) as client:
            for path in paths(place):
                await check(client, path, place, reaches=True)
    await primary.close()


async def test_an_owner_that_answers_with_less_is_passed_by(place: Place) -> None:
    """As a worker of a release that doesn't compare, or one whose database is a replica."""
    db, table = place.table

    async def lagging(_: Request) -> Response:
        headers = {"source": "database", "reason": "behind", "position": "0:1"}
        return JSONResponse(
            {"tables": []}, headers={f"metatide-{name}": text for name, text in headers.items()}
        )

    nowhere = MemoryShards(None, None)
    everything = Route("/{path:path}", lagging, methods=["GET", "POST"])
    with serving_app(Starlette(routes=[everything])) as url:
        nowhere.urls |= {0: url, 1: url}
        async with server(place.made.url, nowhere) as client:
            for path in (f"/v1/databases/{db}/tables/{table}", f"/v1/tables?name={db}.{table}"):
                old = await client.get(path)
                assert old.headers["metatide-position"] == "0:1"
                await check(client, path, place, reaches=True)


@pytest.mark.parametrize("age_ms", [20, 200])
async def test_within_an_age_an_answer_has_all_that_was_committed_before(
    new_metastore_database: Callable[[], str], age_ms: int
) -> None:
    """While somebody writes: of the tables that are read, one is changed and one isn't."""
    made = world(new_metastore_database(), events=100, shards=2)
    tables = warm_tables(made.shards)[:2]
    committed: list[tuple[float, int]] = [(0.0, made.current)]
    sources: Counter[str] = Counter()

    async def write() -> None:
        for _ in range(60):
            event = await asyncio.to_thread(append, made, "INSERT", *tables[0])
            committed.append((monotonic(), event))
            await asyncio.sleep(0.01)

    async def read(client: httpx.AsyncClient, writing: asyncio.Task[None], number: int) -> None:
        db, table = tables[number % 2]
        path = f"/v1/databases/{db}/tables/{table}"
        while not writing.done():
            began_s = monotonic()
            answer = await client.get(path, params={"max_age_ms": str(age_ms)})
            position = parse_position(answer.headers["metatide-position"])
            least = max(event for at_s, event in committed if at_s <= began_s - age_ms / 1000)
            assert position.event >= least
            sources[answer.headers["metatide-source"]] += 1
            await asyncio.sleep(0.001)

    async with server(made.url, again(made.shards)) as client:
        writing = asyncio.create_task(write())
        await asyncio.gather(writing, *(read(client, writing, number) for number in range(4)))
    assert sources["cache"]
    assert sources["database"]


async def test_write_ids_and_a_position_hold_together(place: Place) -> None:
    db, table = place.table
    path = f"/v1/databases/{db}/tables/{table}"
    async with server(place.made.url, place.shards) as client:
        write_ids = (await client.get(f"/v1/write-ids?table={db}.{table}")).json()["tables"][0]
        ids = {"write_ids": write_ids["validWriteIdList"], "table_id": str(write_ids["id"])}
        for name, least in place.positions.items():
            query = {**ids, "min_position": str(least), "max_wait_ms": "1"}
            answer = await client.get(path, params=query)
            if name in ("folded", "in the database"):
                assert parse_position(answer.headers["metatide-position"]) >= least
            else:
                assert (answer.status_code, name) == (503, name)


async def test_a_later_epoch_reaches_every_position_of_those_before(made: World) -> None:
    """The new epoch is what the cache says: until it knows it, the database doesn't answer."""
    db, table = warm_tables(made.shards)[0]
    path = f"/v1/databases/{db}/tables/{table}"
    before = {"consistency": "at_least", "min_position": f"0:{ABSURD}", "max_wait_ms": "1"}
    other = MemoryShards(MemoryShard(Reset(2, made.current)))
    async with server(made.url, other) as client:
        answer = await client.get(path, params=before)
        assert grounds(answer) == ("database", "cold")
        assert parse_position(answer.headers["metatide-position"]).epoch == 2
        ahead = await client.get(path, params={**before, "min_position": "3:1"})
        assert ahead.status_code == 503


async def test_a_replica_that_lags_answers_nobody_who_knows_more(
    new_metastore_database: Callable[[], str],
) -> None:
    """A copy of the database, from before its last event."""
    made = world(new_metastore_database(), events=100, shards=1)
    db, table = warm_tables(made.shards)[0]
    replica = copied(made)
    event = append(made, "INSERT", db, table)
    path = f"/v1/databases/{db}/tables/{table}"
    query = {"consistency": "at_least", "min_position": f"0:{event}", "max_wait_ms": "1"}
    async with server(replica, again(made.shards)) as client:
        for _ in range(2):
            answer = await client.get(path, params=query)
            assert answer.status_code == 503
    async with server(made.url, again(made.shards)) as client:
        answer = await client.get(path, params=query)
        assert answer.headers["metatide-position"] == f"0:{event}"


def copied(made: World) -> str:
    """Another database with all that this one holds."""
    url = sa.make_url(made.url)
    name = f"{url.database}_replica"
    made.store.engine.dispose()
    engine = sa.create_engine(made.store.engine.url.set(database="postgres"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}" TEMPLATE "{url.database}"')
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)


def warm_database(shards: MemoryShards) -> str:
    """One whose names are known."""
    for shard in shards.shards:
        assert shard is not None
        reader = shard.reader()
        for db in reader.database_names():
            names = of_database(TargetKind.NAMES, db)
            if read_facts(reader, names, with_ids=False).refused is None:
                return db.db
    raise AssertionError("no names are known")


async def test_over_thrift_it_is_the_metastore_that_answers(place: Place) -> None:
    """A client's own writes say how far an answer must reach, also where it is handed on."""
    db, table = warm_tables(place.shards)[1]
    calls = {
        "get_tables": arguments("get_tables", warm_database(place.shards), "*"),
        "get_partition_names": arguments("get_partition_names", db, table, -1),
        "get_current_notificationEventId": b"\0",
    }
    primary = Primary(place.made.url, connections=2)
    backend = Backend(place.shards, primary)
    for consistency in (Consistency.ANY, Consistency.WITHIN, Consistency.LATEST):
        methods = CachedMethods(backend, Defaults(consistency), "/warehouse")
        for method, call_arguments in calls.items():
            answers = 0
            for name, least in place.positions.items():
                call = Call(method, call_arguments, Client(), least)
                outcome = methods.answer_now(call) if method != CURRENT else None
                outcome = outcome or await methods.answer(call)
                if isinstance(outcome, CallAnswer):
                    assert outcome.position >= least, (method, name)
                    answers += 1
                else:
                    assert isinstance(outcome, Relay)
            assert answers, method
    await backend.close()
    await primary.close()
