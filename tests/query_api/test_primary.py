"""`latest` through HTTP, with a real database that goes on changing."""

import asyncio
from collections.abc import Callable

import httpx
import pytest
import sqlalchemy as sa

from hive.errors import UnansweredError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata
from query_api.backend import Backend
from query_api.database import Primary
from query_api.reads import ListDatabases
from tests.query_api.folded_world import append, warm_tables, world
from tests.query_api.http.read_client import client_of, grounds


async def test_within_follows_the_database_as_far_behind_as_it_may(
    a_new_database: Callable[[], str],
) -> None:
    made = world(a_new_database(), events=300, shards=2)
    (db, table), (other_db, other), *_ = warm_tables(made.shards)
    primary = Primary(made.url, connections=2)
    async with client_of(Backend(made.shards, primary)) as client:

        async def ask(age_ms: int, db: str = db, table: str = table) -> httpx.Response:
            path = f"/v1/databases/{db}/tables/{table}/partition-names"
            within = {"metatide-consistency": f"within; max_age_ms={age_ms}"}
            return await client.get(path, headers=within)

        await asyncio.gather(ask(60_000), ask(60_000, other_db, other))
        assert primary.index.reads == 1, "those who find no read share the one that begins"
        current = append(made, "INSERT", db, table)
        for _ in range(20):
            answer = await ask(60_000)
            assert grounds(answer) == ("cache", "fresh")
            assert answer.headers["metatide-position"] == f"0:{made.current}"
        assert primary.index.reads == 1
        assert grounds(await ask(1)) == ("database", "behind")
        untouched = await ask(1, other_db, other)
        assert grounds(untouched) == ("cache", "fresh")
        assert untouched.headers["metatide-position"] == f"0:{current}"
        session = {"min_position": f"0:{current}", "max_age_ms": "60000"}
        path = f"/v1/databases/{db}/tables/{table}/partition-names"
        own = await client.get(path, params=session)
        assert grounds(own) == ("database", "behind")
        tables = metadata(Version.V4_1).tables
        with made.store.engine.begin() as connection:
            sequence = tables["NOTIFICATION_SEQUENCE"]
            connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=made.current))
        await asyncio.sleep(0.01)
        assert grounds(await ask(1)) == ("database", "rewound")
        assert grounds(await ask(60_000)) == ("database", "rewound")
    await primary.close()


async def test_latest_follows_the_database_and_not_the_cache(
    a_new_database: Callable[[], str],
) -> None:
    made = world(a_new_database(), events=300, shards=2)
    (db, first_table), (other_db, other), *_ = warm_tables(made.shards)
    primary = Primary(made.url, connections=2)
    async with client_of(Backend(made.shards, primary)) as client:

        async def ask(db: str, table: str) -> httpx.Response:
            return await client.get(f"/v1/databases/{db}/tables/{table}/partition-names")

        fresh = await ask(db, first_table)
        assert grounds(fresh) == ("cache", "fresh")
        assert fresh.headers["metatide-position"] == f"0:{made.current}"
        append(made, "COMMIT_TXN", None, None)
        current = append(made, "INSERT", other_db, other)
        untouched, touched = await asyncio.gather(ask(db, first_table), ask(other_db, other))
        assert grounds(untouched) == ("cache", "fresh")
        assert untouched.headers["metatide-position"] == f"0:{current}"
        assert grounds(touched) == ("database", "behind")
        assert touched.headers["metatide-position"] == f"0:{current}"
        append(made, "SOMETHING_NEW", None, None)
        assert grounds(await ask(db, first_table)) == ("database", "behind")
        before = primary.index.reads
        answers = await asyncio.gather(*(ask(db, first_table) for _ in range(50)))
        assert {answer.status_code for answer in answers} == {200}
        assert primary.index.reads - before == 1
        assert primary.fallback.reads < 50
        tables = metadata(Version.V4_1).tables
        with made.store.engine.begin() as connection:
            sequence = tables["NOTIFICATION_SEQUENCE"]
            connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=made.current))
        assert grounds(await ask(db, first_table)) == ("database", "rewound")
        anyway = f"/v1/databases/{db}/tables/{first_table}?consistency=any"
        assert grounds(await client.get(anyway)) == ("database", "rewound")
    await primary.close()


async def test_a_database_without_a_sequence_answers_nothing(
    a_new_database: Callable[[], str],
) -> None:
    """It is being restored: what it holds is of no known event."""
    engine = unpooled_engine(url := a_new_database())
    create(engine, Version.V4_1)
    primary = Primary(url, connections=2)
    fresh = await primary.answer(ListDatabases("hive"))
    assert fresh.event == 0
    with engine.begin() as connection:
        connection.execute(sa.delete(metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"]))
    with pytest.raises(UnansweredError, match="NOTIFICATION_SEQUENCE has no row"):
        await primary.answer(ListDatabases("hive"))
    await primary.close()
    engine.dispose()


async def test_an_event_that_the_database_lost_and_has_anew_is_another_history(
    a_new_database: Callable[[], str],
) -> None:
    made = world(a_new_database(), events=300, shards=2)
    [(db, table), *_] = warm_tables(made.shards)
    path = f"/v1/databases/{db}/tables/{table}/partition-names"
    log = metadata(Version.V4_1).tables["NOTIFICATION_LOG"]
    last = log.c.EVENT_ID == made.current
    for changed, expected in (
        ({"NL_ID": 2_000_000}, ("cache", "fresh")),
        ({"EVENT_TIME": log.c.EVENT_TIME + 60}, ("database", "rewound")),
    ):
        with made.store.engine.begin() as connection:
            connection.execute(sa.update(log).where(last).values(changed))
        # Another process, which has never read that row.
        primary = Primary(made.url, connections=2)
        async with client_of(Backend(made.shards, primary)) as client:
            assert grounds(await client.get(path)) == expected
        await primary.close()
