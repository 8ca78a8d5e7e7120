"""What the cache answers is what a real Hive 4.2 metastore answers, field by field."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from hive.thrift.binary import encode
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.thrift.call import Call, CallAnswer, Client
from query_api.thrift.methods import CachedMethods
from tests.hive.reader import script
from tests.query_api.thrift.methods import caches, contents, corpus, wire
from tests.query_api.thrift.methods.comparison import Comparison, whole
from tests.query_api.thrift.methods.corpus import sample
from tests.query_api.thrift.methods.dropped_methods import DROPPED, ONE, SEVERAL, decoded
from tests.query_api.thrift.methods.histories import History
from tests.support.hive import hms_client
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive
DATABASES = ("reader", "reader_2", "shown")
DIRECT = (
    *("list_privileges", "get_role_names", "get_role_grants_for_principal"),
    *("get_principals_in_role", "get_functions", "get_function", "get_all_functions"),
    *("get_open_txns", "get_open_txns_req", "get_open_txns_info", "get_valid_write_ids"),
)
TABLES = ("acid", "external", "view", "bucketed", "inserts", "no_such")
OLD_CALLS = [
    *(
        Call("get_table", encode(ONE, {"db_name": db, "tbl_name": table}), Client())
        for db in ("reader", "@hive#shown", "no_such")
        for table in TABLES
    ),
    *(
        Call(
            "get_table_objects_by_name",
            encode(SEVERAL, {"db_name": db, "names": names}),
            Client(),
        )
        for db in ("reader", "@hive#shown", "no_such")
        for names in (["acid", "external"], ["bucketed", "asking", "no_such"], ["no_such"], [])
    ),
]


class World(NamedTuple):
    """A metastore with all kinds of objects, and caches of it."""

    address: str
    url: str
    warehouse: str
    warm: caches.Cache
    folded: caches.Cache

    @asynccontextmanager
    async def methods_by_name(self) -> AsyncIterator[dict[str, CachedMethods]]:
        primary = Primary(self.url)
        try:
            yield {
                name: caches.methods(cache, primary, consistency, self.warehouse)
                for name, cache, consistency in (
                    ("warm", self.warm, Consistency.ANY),
                    ("latest", self.warm, Consistency.LATEST),
                    ("folded", self.folded, Consistency.ANY),
                )
            }
        finally:
            await primary.close()


@pytest.fixture(scope="module")
def world(text_metastore: Instances) -> Iterator[World]:
    url = text_metastore.database_url
    with text_metastore.connect() as client:
        script.run(client, "reader")
        contents.fill(client, "shown")
        warehouse = client.rpc.get_config_value("metastore.warehouse.dir", "")
    with caches.following(url) as warm, caches.following(url) as folded:
        warm.load()
        folded.follow()
        yield World(text_metastore.addresses[0], url, warehouse, warm, folded)


def corpus_by_method(world: World) -> dict[str, list[corpus.Call]]:
    """All calls that are always answered from the database."""
    with hms_client.connect(world.address) as client:
        calls = list(corpus.corpus(client, DATABASES))
    return {name: [one for one in calls if one.method == name] for name in DIRECT}


async def compare(world: World, of_each: int) -> Comparison:
    async with world.methods_by_name() as by_name:
        comparison = Comparison(by_name)
        with hms_client.connect(world.address) as client, wire.connect(world.address) as metastore:
            await comparison.run(metastore, sample(corpus.corpus(client, DATABASES), of_each))
        everything = by_name["warm"].names - DROPPED
    assert everything == comparison.same["warm"].keys()
    assert everything == comparison.same["latest"].keys()
    assert sum(comparison.same["folded"].values()) > 100
    return comparison


async def test_all_methods_are_answered_as_the_metastore_answers_them(world: World) -> None:
    comparison = await compare(world, 20)
    assert sum(comparison.same["warm"].values()) > 300


async def test_every_form_of_what_only_the_database_tells(world: World) -> None:
    by_method = corpus_by_method(world)
    async with world.methods_by_name() as by_name:
        comparison = Comparison({"latest": by_name["latest"]})
        with wire.connect(world.address) as metastore:
            for calls in by_method.values():
                await comparison.run(metastore, calls)
    assert comparison.same["latest"].keys() == set(DIRECT)
    assert sum(comparison.same["latest"].values()) > 300


@pytest.mark.torture
async def test_thousands_of_calls(world: World) -> None:
    comparison = await compare(world, 10_000)
    assert sum(comparison.same["warm"].values()) > 2500


async def compare_after(world: World, rounds: int, of_each: int, seed: int) -> Comparison:
    """After each stretch of a history, cold as the events leave the caches, and loaded again."""
    changing = f"changing_{seed}", f"other_{seed}"
    with hms_client.connect(world.address) as client, wire.connect(world.address) as metastore:
        history = History(client, changing, seed)
        async with world.methods_by_name() as by_name:
            comparison = Comparison(by_name)
            for number in range(rounds):
                history.go_on(20)
                world.folded.follow()
                if number % 2:
                    world.warm.load()
                else:
                    world.warm.follow()
                await comparison.run(metastore, sample(corpus.corpus(client, changing), of_each))
    return comparison


async def test_answers_stay_right_through_random_histories(world: World) -> None:
    comparison = await compare_after(world, 2, of_each=4, seed=7)
    assert all(sum(same.values()) > 80 for same in comparison.same.values())


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 110))
async def test_answers_stay_right_through_long_histories(world: World, seed: int) -> None:
    comparison = await compare_after(world, 20, of_each=8, seed=seed)
    assert all(sum(same.values()) > 2000 for same in comparison.same.values())


async def ask_old(world: World) -> set[str]:
    answered: set[str] = set()
    async with world.methods_by_name() as by_name:
        cache = by_name["warm"]
        with wire.connect(world.address) as metastore:
            for call in OLD_CALLS:
                other = await cache.instead(call)
                assert other is not None
                theirs = other.translated(metastore.call(other.method, other.arguments))
                answer = cache.answer_now(call) or await cache.answer(call)
                if isinstance(answer, CallAnswer):
                    assert decoded(call.method, whole(answer)) == decoded(call.method, theirs)
                    answered.add(call.method)
    return answered


async def test_dropped_methods_are_answered_by_their_successors(world: World) -> None:
    assert await ask_old(world) == DROPPED
