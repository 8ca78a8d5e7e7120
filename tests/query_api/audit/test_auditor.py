"""The audit of a cache that folded a run of the demo, against the database that the run wrote."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx
import msgspec
import pytest
import sqlalchemy as sa
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from structlog.testing import capture_logs

from hive.errors import SourceError, UnansweredError
from hive.names import DEFAULT_CATALOG, TableName, set_default_catalog
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.thrift.binary import replaced
from hive.thrift.structs import TABLE
from metatide.stack.machine import free_port
from query_api.audit import AUDITS, Auditor, AuditResult, ObjectDifference, Rounds, auditor
from query_api.audit.operations import PATH
from query_api.audit.scopes import draw, known_scopes, ticket
from query_api.database import DatabaseObjects, Primary
from query_api.http.gate import Gate
from query_api.http.routes import routes_of
from query_api.positions import Position
from query_api.shards import Views
from state import entries, keys
from state.records import Pause, Scope, ScopeKind, databases_scope, names_scope
from state.records.routing import table_shard
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, STORE_FORMAT
from tests.query_api.audit.shard_audits import audited, differences
from tests.query_api.folded_world import World, world
from tests.query_api.shards import ORDERS, MemoryShard, MemoryShards, change, load_table


@pytest.fixture(scope="module")
def own_world(new_metastore_database: Callable[[], str]) -> World:
    """One whose database may be spoilt."""
    return world(new_metastore_database(), events=250, shards=2, seed=3)


def audit(a_world: World, *scopes: Scope) -> list[AuditResult]:
    """Of these scopes, or of all."""
    return audited(a_world.url, a_world.shards, scopes)


def wrong(found: list[AuditResult]) -> list[tuple[Scope, str, list[str]]]:
    return [
        (scope, one.object, [field.field for field in one.fields])
        for scope, one in differences(found)
    ]


def warm_table(audits: list[AuditResult]) -> TableName:
    """One with partitions of which everything was compared."""
    return next(
        one.scope.name
        for one in audits
        if one.scope.kind is ScopeKind.TABLE and one.objects > 3 and not one.left_out
    )


@contextmanager
def spoilt(shard: MemoryShard, key: bytes, data: bytes) -> Iterator[None]:
    """An entry with other bytes, as of the same event; afterwards as it was."""
    before = shard.store.snapshot().get(key)
    assert before is not None
    for value in (entries.encode(entries.event_of(before), data), before):
        txn = shard.store.transaction()
        txn.put(key, value)
        shard.store.commit(txn, shard.position)
        if value is not before:
            yield


@contextmanager
def renamed(a_world: World, name: TableName) -> Iterator[None]:
    """A table under another name in the database, without an event."""
    tbls = sa.Table("TBLS", sa.MetaData(), autoload_with=a_world.store.engine)
    of_table = tbls.c.TBL_ID == table_id(a_world, name)
    for new_name in ("elsewhere", name.table):
        with a_world.store.engine.begin() as connection:
            connection.execute(sa.update(tbls).where(of_table).values(TBL_NAME=new_name))
        if new_name != name.table:
            yield


def table_id(a_world: World, name: TableName) -> int:
    with open_snapshot(a_world.store.engine, a_world.store.schema) as snapshot:
        return DatabaseObjects(snapshot).table_ids([name])[name]


def test_write_ids_are_compared_in_the_default_catalog_alone(small_world: World) -> None:
    def compared() -> int:
        return sum(audit.objects for audit in audited(small_world.url, small_world.shards))

    in_default_catalog = compared()
    set_default_catalog("spark")
    try:
        assert 0 < compared() < in_default_catalog
    finally:
        set_default_catalog(DEFAULT_CATALOG)


def test_nothing_is_found_where_nothing_is_wrong(small_world: World) -> None:
    audits = audit(small_world)
    assert wrong(audits) == []
    assert sum(one.objects for one in audits) > 100
    kinds = {one.scope.kind for one in audits if one.objects}
    assert {ScopeKind.TABLE, ScopeKind.NAMES} <= kinds
    assert all(one.position is not None for one in audits if one.objects)
    assert {one.position.event for one in audits if one.position} == {small_world.current}


def test_a_changed_value_in_a_store_is_found_field_by_field(own_world: World) -> None:
    name = warm_table(audit(own_world))
    shard = own_world.shards.shard(table_shard(name, own_world.shards.count))
    assert shard is not None
    values, entry = next(iter(shard.reader().partitions(name)))
    changed = entry.data.replace(b"file:/", b"gile:/").replace(b"s3a:/", b"t3a:/")
    assert changed != entry.data
    with spoilt(shard, keys.partition(name, values), changed):
        [difference] = wrong(audit(own_world))
    scope, label, fields = difference
    assert scope == Scope(ScopeKind.TABLE, name)
    assert label.startswith("partition ")
    assert fields == ["sd.location"]
    assert wrong(audit(own_world)) == []


def test_all_differences_are_counted_and_the_first_are_told(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor, "DIFFERENCES_MAX", 1)
    name = warm_table(audit(own_world))
    with renamed(own_world, name):
        [audit_of_table] = audit(own_world, Scope(ScopeKind.TABLE, name))
    # The table's name has the same write ids as before.
    assert audit_of_table.wrong == audit_of_table.objects - 1 > 2
    [difference] = audit_of_table.differences
    assert (difference.object, difference.only_in) == ("table", "cache")


def test_a_row_changed_behind_the_metastores_back_is_found(own_world: World) -> None:
    tables = sa.MetaData()
    engine = own_world.store.engine
    own_tables = {name: sa.Table(name, tables, autoload_with=engine) for name in ("TBLS", "DBS")}
    tbls, dbs = own_tables["TBLS"].c, own_tables["DBS"].c
    name = warm_table(audit(own_world))
    of_table = sa.and_(
        tbls.TBL_NAME == name.table,
        tbls.DB_ID == sa.select(dbs.DB_ID).where(dbs.NAME == name.db).scalar_subquery(),
    )
    with engine.begin() as connection:
        before = connection.scalar(sa.select(tbls.OWNER).where(of_table))
        change = sa.update(own_tables["TBLS"]).where(of_table)
        connection.execute(change.values(OWNER="mallory"))
    try:
        by_object = {
            (scope.kind, label): fields for scope, label, fields in wrong(audit(own_world))
        }
    finally:
        with engine.begin() as connection:
            connection.execute(change.values(OWNER=before))
    assert by_object.pop((ScopeKind.TABLE, "table")) == ["owner"]
    # The list of names shows the owner, too.
    assert all(fields == ["ownerName"] for fields in by_object.values())


def test_what_the_cache_would_not_answer_is_left_out(own_world: World) -> None:
    scopes = [*known_scopes(Views(own_world.shards))]
    unknown = Scope(ScopeKind.TABLE, TableName("hive", "no_such", "table"))
    [audit_of_unknown] = audit(own_world, unknown)
    assert audit_of_unknown.objects == 0
    assert set(audit_of_unknown.left_out.values()) == {"cold: never_loaded"}
    own_world.shards.shards[0], taken = None, own_world.shards.shards[0]
    try:
        reasons = {why for one in audit(own_world, *scopes) for why in one.left_out.values()}
    finally:
        own_world.shards.shards[0] = taken
    assert "not_owned" in reasons


def test_a_paused_cache_says_nothing_wrong(own_world: World) -> None:
    scopes = [*known_scopes(Views(own_world.shards))]
    own_world.shards.shards[1], taken = (
        MemoryShard(Pause(0, 1, paused=True)),
        (own_world.shards.shards[1]),
    )
    try:
        audits = audit(own_world, *scopes)
    finally:
        own_world.shards.shards[1] = taken
    assert wrong(audits) == []
    assert "paused" in {why for one in audits for why in one.left_out.values()}


def test_a_history_that_the_database_has_not_is_left_out(own_world: World) -> None:
    for folded in (change(own_world.current, after=0, mark=1), change(own_world.current + 1)):
        shards = MemoryShards(MemoryShard(*load_table(3), folded))
        [audit_of_orders] = audited(own_world.url, shards, [Scope(ScopeKind.TABLE, ORDERS)])
        assert set(audit_of_orders.left_out.values()) == {"rewound"}


def test_a_store_that_is_closed_meanwhile_is_left_out(own_world: World, tmp_path: Path) -> None:
    identity = Identity(format_version=STORE_FORMAT, topic_id="lake", partitions=1, shard=0)
    budget = MemoryBudget(8 << 20)
    store = Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=budget)
    shards = MemoryShards(MemoryShard(change(1, after=0), store=store))

    class Closing(Primary):
        @contextmanager
        def snapshot(self) -> Iterator[DatabaseSnapshot]:
            store.close()
            with super().snapshot() as snapshot:
                yield snapshot

    [audit_of_orders] = audited(
        own_world.url, shards, [Scope(ScopeKind.TABLE, ORDERS)], primary_of=Closing
    )
    assert set(audit_of_orders.left_out.values()) == {"store_error"}


def test_a_database_that_is_down_is_said_to_be() -> None:
    shards = MemoryShards(MemoryShard(*load_table(3)))
    with pytest.raises(UnansweredError, match=r"can't be audited: .*refused"):
        audited(f"postgresql://nobody@127.0.0.1:{free_port()}/none", shards)


def test_a_draw_from_parts_is_the_draw_from_all(own_world: World) -> None:
    scopes = [*known_scopes(Views(own_world.shards))]
    halves = draw(scopes[::2], 5, seed=11) + draw(scopes[1::2], 5, seed=11)
    assert draw(halves, 5, seed=11) == draw(scopes, 5, seed=11)
    assert draw(scopes, len(scopes), seed=11) != draw(scopes, len(scopes), seed=12)
    assert sorted(draw(scopes, len(scopes), 1), key=str) == sorted(scopes, key=str)
    assert len({ticket(scope, 1) for scope in scopes}) == len(scopes)


async def test_rounds_count_what_they_compared_and_what_differs(own_world: World) -> None:
    name = warm_table(await asyncio.to_thread(audit, own_world))
    shard = own_world.shards.shard(table_shard(name, own_world.shards.count))
    assert shard is not None
    entry = shard.reader().table(name)
    assert entry is not None
    primary = Primary(own_world.url)
    auditor = Auditor(Views(own_world.shards), primary)
    rounds = Rounds(auditor, 60, 1_000)
    try:
        await rounds.round()
        before = samples(generate_latest(rounds.metrics.registry))
        owner = replaced(TABLE, entry.data, owner="mallory")
        with spoilt(shard, keys.of_table(keys.TABLE, name), owner):
            await rounds.round()
        after = samples(generate_latest(rounds.metrics.registry))
    finally:
        auditor.close()
        await primary.close()
    objects, wrong_ones = "metatide_audit_objects_total", "metatide_audit_disagreements_total"
    assert before[objects] > 50
    assert after[objects] == 2 * before[objects]
    assert (before[wrong_ones], after[wrong_ones]) == (0, 1)
    disagreed = "metatide_audit_disagreed_seconds"
    assert before[disagreed] == 0 < after[disagreed]


async def test_a_round_that_fails_unexpectedly_is_not_the_last(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, begun = Primary(own_world.url), asyncio.Event()
    auditor = Auditor(Views(own_world.shards), primary)
    rounds = Rounds(auditor, 0, 1_000)
    failures = iter([RuntimeError("a value that the driver can't read")])

    async def fail_once() -> None:
        for failure in failures:
            raise failure
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(rounds, "round", fail_once)
    running = asyncio.create_task(rounds.run())
    try:
        async with asyncio.timeout(30):
            await begun.wait()
    finally:
        running.cancel()
        await asyncio.wait([running])
        auditor.close()
        await primary.close()
    assert samples(generate_latest(rounds.metrics.registry))["metatide_audit_faults_total"] == 1


@pytest.mark.parametrize(
    ("scope", "remedy"),
    [
        (Scope(ScopeKind.TABLE, ORDERS), "admin refresh"),
        (names_scope(ORDERS.database), "prewarm --again"),
        (databases_scope(ORDERS.catalog), "prewarm --again"),
    ],
)
async def test_what_the_log_does_not_record_is_no_error(scope: Scope, remedy: str) -> None:
    silent = ObjectDifference("constraint pk", [], "cache", silent=True)
    wrong = ObjectDifference("table", [], "cache")

    class Found:
        views = Views(MemoryShards(MemoryShard()))

        async def audit(self, _: list[Scope]) -> list[AuditResult]:
            return [AuditResult(scope, Position(0, 1), 2, 1, [silent, wrong])]

    with capture_logs() as logs:
        await Rounds(cast("Auditor", Found()), 60, 1).round()
    assert [line["object"] for line in logs] == ["table"]
    assert remedy in logs[0]["remedy"]


async def test_it_is_known_when_a_round_last_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, ended = Rounds(cast("Auditor", None), 0, 1_000), asyncio.Event()
    finished_s: list[float] = []

    async def succeed_once() -> None:
        figures = samples(generate_latest(rounds.metrics.registry))
        finished_s.append(figures["metatide_audit_finished_seconds"])
        match len(finished_s):
            case 2:
                raise SourceError("the database is away")
            case 3:
                ended.set()
                await asyncio.sleep(60)

    monkeypatch.setattr(rounds, "round", succeed_once)
    running = asyncio.create_task(rounds.run())
    async with asyncio.timeout(30):
        await ended.wait()
    running.cancel()
    await asyncio.wait([running])
    began_s, first_s, second_s = finished_s
    assert 0 < began_s < first_s == second_s


def samples(page: bytes) -> dict[str, float]:
    """Those without labels."""
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
        if not sample.labels
    }


async def test_audits_are_asked_for_over_http(own_world: World) -> None:
    primary = Primary(own_world.url)
    auditor = Auditor(Views(own_world.shards), primary)
    app = Starlette(routes=routes_of(AUDITS, auditor, Gate()))
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 4711))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            drawn = await http.get(PATH, params={"sample": 3, "seed": 9})
            compared = await http.post(PATH, json={"scopes": drawn.json()["scopes"]})
            refused = await http.post(PATH, json={"scopes": [["table", "db.t"]]})
            many = await http.post(PATH, json={"scopes": drawn.json()["scopes"] * 100})
            bad = [await http.get(PATH, params={name: "1" * 20}) for name in ("sample", "seed")]
    finally:
        auditor.close()
        await primary.close()
    scopes = [*known_scopes(Views(own_world.shards))]
    assert drawn.json()["of"] == len(scopes)
    audits = msgspec.json.decode(compared.content, type=list[AuditResult])
    assert [one.scope for one in audits] == draw(scopes, 3, seed=9)
    assert refused.status_code == 400
    assert (many.status_code, many.json()["detail"]) == (400, "give at most 100 scopes, not 300")
    for name, response in zip(("sample", "seed"), bad, strict=True):
        assert response.status_code == 400
        assert f"bad {name} '11" in response.json()["detail"]
