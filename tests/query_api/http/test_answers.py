"""What is served over HTTP, from shards in memory."""

import asyncio
import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hive.errors import InputError
from hive.thrift.binary import encode
from hive.thrift.structs import FUNCTION
from query_api.consistency import Consistency
from query_api.database_answer import DatabaseAnswer
from query_api.http import Settings
from query_api.http.access import OPEN, FileTokens, Role
from query_api.http.encode import partition_name_lines
from query_api.http.endpoints import ENDPOINTS, Endpoint
from query_api.http.openapi import document
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.reads import Read, Slice
from query_api.requirement import PARAMETERS
from query_api.requirement_defaults import Defaults
from query_api.resolver import resolver
from state.records import Pause, SetLists
from state.records.actions import CreateTable, PutFunction
from state.records.objects import FunctionImage
from tests.query_api.http.read_client import EmptyDatabase, Nowhere, ask, get, grounds
from tests.query_api.http.warm_shards import ANY, DAYS, TABLE, warm
from tests.query_api.shards import ORDERS, SALES, MemoryShard, MemoryShards, change, table_image

JSON = {"content-type": "application/json"}


def test_the_databases_answers_are_of_the_epoch_of_the_topic_whichever_shards_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver, "EPOCH_WAIT_S", 0.05)
    shards, database = MemoryShards(None), EmptyDatabase(LogEnd(0, 9, []))

    async def asking(client: httpx.AsyncClient) -> None:
        for epoch, headers, status in (
            (1, {}, 404),
            (1, {"metatide-min-position": "1:8"}, 404),
            (0, {"metatide-min-position": "1:8"}, 503),
            (None, {}, 503),
        ):
            shards.epoch = epoch
            answer = await client.get(TABLE, headers=headers)
            assert answer.status_code == status
            if status == 404:
                assert answer.headers["metatide-position"] == "1:9"
        assert "epoch" in answer.json()["detail"]

    ask(shards, asking, database=database)


def test_a_read_waits_for_a_worker_that_begins_to_learn_the_epoch() -> None:
    shards, database = MemoryShards(None), EmptyDatabase(LogEnd(0, 9, []))
    shards.epoch = None

    async def asking(client: httpx.AsyncClient) -> None:
        answer = asyncio.create_task(client.get(TABLE))
        await asyncio.sleep(0.1)
        assert not answer.done()
        shards.epoch = 1
        assert (await answer).headers["metatide-position"] == "1:9"

    ask(shards, asking, database=database)


def test_every_answer_has_the_form_that_the_document_tells() -> None:
    description = document()
    validator = jsonschema.Draft202012Validator(
        {"$ref": "#/components/schemas/Table", "components": description["components"]}
    )
    table, partitions = get(warm(), f"{TABLE}?{ANY}", f"{TABLE}/partitions?{ANY}&limit=2")
    validator.validate(table.json())
    assert table.json()["tableName"] == "orders"
    page = partitions.json()
    for partition in page["partitions"]:
        assert (
            partition.keys()
            <= description["components"]["schemas"]["Partition"]["properties"].keys()
        )
    assert page["next"] == f"ds={DAYS[1]}"


def test_a_reader_of_keys_that_a_table_lacks_is_told_which_it_has() -> None:
    shards = MemoryShards(MemoryShard(change(1, CreateTable(table_image(keys=())))))
    [plain] = get(shards, f"{TABLE}/partitions/ds=1?{ANY}")
    assert plain.json()["detail"].endswith("whose keys are: none")
    long, other = get(
        warm(), f"{TABLE}/partitions/ds=1/hr=2?{ANY}", f"{TABLE}/partitions/day={DAYS[0]}?{ANY}"
    )
    assert long.json()["detail"].endswith("whose keys are: ds")
    assert [response.status_code for response in (plain, long, other)] == [404] * 3


def test_pages_follow_each_other_to_the_end() -> None:
    names: list[str] = []
    shards, after = warm(), ""
    while after is not None:
        [page] = get(shards, f"{TABLE}/partition-names?{ANY}&limit=5&after={after}")
        names += page.json()["names"]
        after = page.json()["next"]
    assert names == [f"ds={day}" for day in DAYS]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/partition-count", {"count": 28}),
        (
            "/partition-names?filter=ds%20%3E%3D%20'2026-01-27'",
            {"names": ["ds=2026-01-27", "ds=2026-01-28"], "next": None},
        ),
        ("/partition-names?prefix=2026-01-05", {"names": ["ds=2026-01-05"], "next": None}),
        (
            "/partition-names?name=ds=2026-01-05&name=ds=2020-01-01",
            {"names": ["ds=2026-01-05"], "next": None},
        ),
        ("/partition-count?name=ds=2026-01-05&name=ds=2020-01-01&name=ds=2026-01-05", {"count": 1}),
        ("/statistics", {"tableStats": []}),
        (
            "/aggregate-statistics?column=amount&name=ds=2026-01-05",
            {"colStats": [], "missing": {"amount": ["statsData"]}},
        ),
    ],
)
def test_reads_below_a_table(path: str, body: object) -> None:
    [response] = get(warm(), f"{TABLE}{path}{'&' if '?' in path else '?'}{ANY}")
    assert response.json() == body
    assert grounds(response) == ("cache", "fresh")
    assert response.headers["metatide-position"] == "0:4"


def test_one_partition_by_its_name_and_lists_of_databases() -> None:
    partition, db, dbs, tables, absent = get(
        warm(),
        f"{TABLE}/partitions/ds=2026-01-05?{ANY}",
        f"/v1/databases/sales?{ANY}",
        f"/v1/databases?{ANY}&pattern=s*|x",
        f"/v1/databases/sales/tables?{ANY}",
        f"/v1/databases/sales/tables/nothing?{ANY}",
    )
    assert partition.json()["values"] == ["2026-01-05"]
    assert db.json()["name"] == "sales"
    assert [one["name"] for one in dbs.json()["databases"]] == ["sales"]
    assert tables.json()["tables"][0]["tableName"] == "orders"
    assert absent.status_code == 404
    assert grounds(absent) == ("cache", "fresh")


def test_long_lists_come_in_lines() -> None:
    [response] = get(
        warm(), f"{TABLE}/partitions?{ANY}", headers={"Accept": "application/x-ndjson"}
    )
    lines = [msgspec.json.decode(line) for line in response.content.splitlines()]
    assert [line["values"] for line in lines] == [[day] for day in DAYS]
    assert response.headers["content-type"] == "application/x-ndjson"


def test_all_names_come_in_lines() -> None:
    [response] = get(
        warm(), f"{TABLE}/partition-names?{ANY}", headers={"Accept": "application/x-ndjson"}
    )
    lines = [msgspec.json.decode(line) for line in response.content.splitlines()]
    assert lines == [f"ds={day}" for day in DAYS]
    assert response.headers["content-type"] == "application/x-ndjson"


@pytest.mark.parametrize("what", ["partition-names", "partitions"])
def test_lines_have_a_limit_if_one_is_given(what: str) -> None:
    path = f"{TABLE}/{what}?{ANY}&after=ds={DAYS[0]}&limit=3"
    [response] = get(warm(), path, headers={"Accept": "application/x-ndjson"})
    assert len(response.content.splitlines()) == 3
    assert DAYS[1].encode() in response.content.splitlines()[0]


@given(st.lists(st.text(alphabet='a",\\\n', max_size=6), max_size=5))
def test_names_in_lines_may_hold_what_separates_them(names: list[str]) -> None:
    many = [name for name in names for _ in range(60)]
    text = b"\n".join(partition_name_lines(Slice(many, None)))
    assert [msgspec.json.decode(line) for line in text.splitlines()] == many


def test_an_answer_that_is_known_is_not_sent_again() -> None:
    shards = warm()
    [first] = get(shards, f"{TABLE}?{ANY}")
    etag = first.headers["etag"]
    for condition in (etag, f'"x", {etag}', "*"):
        [again] = get(shards, f"{TABLE}?{ANY}", headers={"If-None-Match": condition})
        assert (again.status_code, again.content) == (304, b"")
        assert grounds(again) == ("cache", "fresh")
    [other] = get(shards, f"{TABLE}?{ANY}", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


def test_long_answers_are_compressed_as_the_caller_likes() -> None:
    shards = warm()
    path = f"{TABLE}/partitions?{ANY}"
    bodies: dict[str, bytes] = {}

    async def asking(client: httpx.AsyncClient) -> None:
        for coding in ("identity", "gzip", "zstd"):
            async with client.stream("GET", path, headers={"Accept-Encoding": coding}) as response:
                bodies[coding] = b"".join([block async for block in response.aiter_raw()])
                assert response.headers.get("content-encoding", "identity") == coding

    ask(shards, asking)
    assert gzip.decompress(bodies["gzip"]) == bodies["identity"]
    assert zstandard.ZstdDecompressor().decompress(bodies["zstd"]) == bodies["identity"]
    assert len(bodies["zstd"]) < len(bodies["identity"]) / 4


def test_latest_needs_the_database_to_say_what_is_current() -> None:
    [unread] = get(warm(), TABLE)
    assert unread.status_code == 503
    assert unread.headers["retry-after"] == "1"
    assert "unread" in unread.json()["detail"]
    untouched = EmptyDatabase(LogEnd(0, 6, [(5, RowEffects()), (6, RowEffects())]))
    [fresh] = get(warm(), TABLE, database=untouched)
    assert grounds(fresh) == ("cache", "fresh")
    assert fresh.headers["metatide-position"] == "0:6"
    touched = EmptyDatabase(LogEnd(0, 6, [(5, RowEffects(tables=(ORDERS,))), (6, RowEffects())]))
    [behind] = get(warm(), TABLE, database=touched)
    assert grounds(behind) == ("database", "behind")


def test_latest_asks_the_database_while_it_waits_unless_told_how_long_to_wait() -> None:
    touched = LogEnd(0, 5, [(5, RowEffects(tables=(ORDERS,)))])
    shards, database = warm(), EmptyDatabase(touched)
    latest = f"{TABLE}?consistency=latest"

    async def asking(client: httpx.AsyncClient) -> None:
        shard = shards.shard(0)
        assert shard is not None
        waiting = asyncio.create_task(client.get(f"{latest}&max_wait_ms=60000"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert not database.reads
        await shard.move(change(5))
        assert grounds(await waiting) == ("cache", "fresh")
        database.log = LogEnd(0, 6, [(6, RowEffects(tables=(ORDERS,)))])
        assert grounds(await client.get(latest)) == ("database", "behind")
        assert len(database.reads) == 1

    ask(shards, asking, database=database)


def test_at_least_waits_for_the_shard_and_then_asks_the_database() -> None:
    path = f"{TABLE}?consistency=at_least&min_position=0:5&max_wait_ms=2000"
    shards = warm()

    async def asking(client: httpx.AsyncClient) -> None:
        shard = shards.shard(0)
        assert shard is not None
        waiting = asyncio.create_task(client.get(path))
        await asyncio.sleep(0.01)
        await shard.move(change(5))
        assert grounds(await waiting) == ("cache", "fresh")

    ask(shards, asking)
    [behind] = get(
        warm(),
        f"{TABLE}?consistency=at_least&min_position=0:9&max_wait_ms=1",
        database=EmptyDatabase(LogEnd(0, 9, [])),
    )
    assert grounds(behind) == ("database", "behind")


def test_what_was_asked_for_and_is_cold_is_signalled_once() -> None:
    shards = MemoryShards(MemoryShard(change(1)))
    [cold] = get(shards, f"{TABLE}?{ANY}", database=EmptyDatabase(LogEnd(0, 1, [])))
    assert grounds(cold) == ("database", "cold")
    assert cold.headers["metatide-detail"] == "never_loaded"
    assert shards.wanted == [], "nothing is loaded for what does not exist"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (Pause(0, 1, paused=True), "paused"),
        (SetLists(0, 1, (), ("sales.orders",)), "excluded"),
    ],
)
def test_operators_keep_the_cache_from_answering(record: Pause | SetLists, reason: str) -> None:
    shards = warm()
    shard = shards.shard(0)
    assert shard is not None
    shard.fold([record])
    [response] = get(shards, f"{TABLE}?{ANY}", database=EmptyDatabase(LogEnd(0, 4, [])))
    assert grounds(response) == ("database", reason)


def test_a_shard_of_nobody_is_answered_by_the_database() -> None:
    [response] = get(MemoryShards(None), f"{TABLE}?{ANY}", database=EmptyDatabase(LogEnd(0, 4, [])))
    assert grounds(response) == ("database", "not_owned")


def test_functions_are_told_under_any_only() -> None:
    path = "/v1/databases/sales/functions?pattern=none"
    one, other = get(warm(), f"{path}&{ANY}", path, database=EmptyDatabase(LogEnd(0, 4, [])))
    assert grounds(one) == ("cache", "fresh")
    assert grounds(other) == ("database", "silent_log")


def test_a_function_is_found_by_its_name() -> None:
    path = "/v1/databases/sales/functions/"
    shards = warm()
    shard = shards.shard(0)
    assert shard is not None
    shard.fold([change(5, PutFunction(SALES, FunctionImage("g", encode(FUNCTION, {}))))])
    there, absent = get(shards, f"{path}G?{ANY}", f"{path}h?{ANY}")
    assert grounds(there) == grounds(absent) == ("cache", "fresh")
    assert (there.status_code, absent.status_code) == (200, 404)
    assert absent.json()["detail"] == "there is no function h in hive.sales"


def test_a_deployment_sets_defaults() -> None:
    defaults = Defaults(tables=(("sales.*", Consistency.ANY),))
    [response] = get(warm(), TABLE, settings=Settings(defaults))
    assert grounds(response) == ("cache", "fresh")


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        (f"{TABLE}?filtr=1", 400, "unknown parameter 'filtr'"),
        (f"{TABLE}?{ANY}&{ANY}", 400, "give consistency once"),
        (f"{TABLE}/partitions?{ANY}&limit=0", 400, "bad limit"),
        (f"{TABLE}/partitions?{ANY}&limit=99999999", 400, "from 1 to 10000"),
        (f"{TABLE}/partitions?{ANY}&filter=ds", 400, "bad filter"),
        (f"{TABLE}/partitions?{ANY}&filter=ds='a'&name=ds=a", 400, "not several"),
        (f"{TABLE}/partitions?{ANY}&prefix=a&prefix=b", 400, "partitioned by 1"),
        (f"{TABLE}/partitions/nonsense?{ANY}", 400, "bad name"),
        (f"{TABLE}/partitions/ds=never?{ANY}", 404, "there is no partition ds=never"),
        (f"/v1/tables?{ANY}", 400, "name at least one table"),
        (f"{TABLE}?{ANY}&write_ids=%FF", 400, "can't be read"),
        (f"{TABLE}?{'x' * 40_000}", 413, "longer than"),
    ],
)
def test_errors_say_what_to_do(path: str, status: int, says: str) -> None:
    [response] = get(warm(), path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert says in response.json()["detail"]
    # By this clients tell an answer from a path that nobody serves.
    assert ("metatide-position" in response.headers) == (status == 404)


def test_what_is_not_served_is_a_problem_too() -> None:
    nothing, posted = get(warm(), "/v1/nothing"), []

    async def asking(client: httpx.AsyncClient) -> None:
        posted.append(await client.post(f"/v1/databases?{ANY}"))

    ask(warm(), asking)
    for response, status in ((nothing[0], 404), (posted[0], 405)):
        assert response.status_code == response.json()["status"] == status
        assert response.headers["content-type"] == "application/problem+json"


def test_a_fault_of_ours_is_one_line_for_the_caller() -> None:
    class Broken(Nowhere):
        async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
            raise ZeroDivisionError

    [response] = get(MemoryShards(None), TABLE, database=Broken())
    assert (response.status_code, response.json()["title"]) == (500, "Internal Server Error")


@pytest.mark.parametrize("what", ["", "/partitions/ds=2026-01-01", "/statistics", "/constraints"])
def test_a_read_that_takes_no_names_refuses_them(what: str) -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        bodies: list[dict[str, object]] = [{"names": ["ds=a"]}, {"names": []}, {"filter": "ds='a'"}]
        for body in bodies:
            wrong = await client.post(f"{TABLE}{what}?{ANY}", json=body)
            assert wrong.status_code == 400
            assert "this read takes no " in wrong.json()["detail"]

    ask(warm(), asking)


def test_long_requests_go_in_a_body() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        path = f"{TABLE}/partition-names?{ANY}"
        names = [f"ds={day}" for day in DAYS[:3]]
        response = await client.post(path, json={"names": names})
        assert response.json()["names"] == names
        wrong = await client.post(path, json={"nam": names})
        assert wrong.status_code == 400
        many = await client.post(path, json={"names": names * 10_000})
        assert many.status_code == 413
        huge = await client.post(path, content=b" " * 5_000_000, headers=JSON)
        assert huge.status_code == 413
        plain = await client.post(path, content=json.dumps({"names": names}))
        assert plain.status_code == 415

    ask(warm(), asking)


def test_tokens_let_in_whom_a_file_names(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    digest = sha256(b"secret").hexdigest()
    file.write_text(f"# who may ask\n\nread {digest} ann\nadmin {sha256(b'root').hexdigest()}\n")
    tokens = FileTokens(file)
    assert tokens.holder_of(b"Bearer root")[0] is Role.ADMIN
    assert OPEN.holder_of(None)[0] is Role.ADMIN
    guarded = Settings(tokens=tokens)
    [refused] = get(warm(), f"{TABLE}?{ANY}", settings=guarded)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    for header, status in (("Bearer secret", 200), ("bearer secret", 200), ("Basic secret", 401)):
        [response] = get(
            warm(), f"{TABLE}?{ANY}", headers={"Authorization": header}, settings=guarded
        )
        assert response.status_code == status
    file.write_text("write abc")
    with pytest.raises(InputError, match=r"line 1: write read or admin"):
        FileTokens(file)


def test_too_many_requests_at_a_time_are_sent_away() -> None:
    [response] = get(warm(), f"{TABLE}?{ANY}", settings=Settings(in_flight_max=0))
    assert response.status_code == 503
    assert response.headers["retry-after"] == "1"


def test_a_request_has_a_limited_time() -> None:
    class Silent(Nowhere):
        async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
            await asyncio.Event().wait()
            raise AssertionError

    [response] = get(
        MemoryShards(None), TABLE, database=Silent(), settings=Settings(timeout_s=0.01)
    )
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["detail"] == "no answer within 0.01 s"


def test_answers_are_counted() -> None:
    *_, metrics = get(warm(), f"{TABLE}?{ANY}", f"{TABLE}?{ANY}", f"{TABLE}?x=1", "/metrics")
    told = metrics.text
    assert 'metatide_answers_total{read="getTable",reason="fresh",source="cache"} 2.0' in told
    assert 'metatide_refused_requests_total{status="400"} 1.0' in told


TEXT = st.text(max_size=30) | st.text("=&%/?.:;,()'\"\\ []0129dsANDORLIKEin", max_size=60)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(ENDPOINTS),
    st.dictionaries(
        st.sampled_from([*PARAMETERS, "filter", "name", "prefix", "limit", "after"]), TEXT
    ),
    st.dictionaries(
        st.sampled_from([f"metatide-{one.replace('_', '-')}" for one in PARAMETERS]),
        st.binary(max_size=40),
    ),
    TEXT,
)
def test_whatever_comes_gets_an_answer(
    endpoint: Endpoint, query: dict[str, str], headers: dict[str, bytes], name: str
) -> None:
    path = endpoint.path
    for part in ("{db}", "{table}", "{function}", "{name:path}"):
        path = path.replace(part, quote(name, safe="=/") or "x")

    async def asking(client: httpx.AsyncClient) -> None:
        clean = [
            (key.encode(), value.replace(b"\n", b"").replace(b"\r", b""))
            for key, value in headers.items()
        ]
        response = await client.get(path, params=query, headers=clean)
        assert response.status_code in (200, 304, 307, 400, 404, 413, 503)
        if response.status_code in (400, 413):
            assert response.json()["detail"]

    ask(warm(), asking, database=Nowhere())
