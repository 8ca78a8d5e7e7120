"""The whole way: a database that is written to, and a worker that answers for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.schema import detect, metadata
from metatide.cli import root
from metatide.config import Config
from metatide.doctor import find_target
from metatide.monitoring import metric_families
from metatide.stack.machine import free_port
from metatide.worker.operations import OPERATIONS, THRIFT, WORKER
from query_api.http.openapi import document
from query_api.http.operation import AnyOperation
from state.records import Pause, Reset, encode
from state.records.numbers import NATURAL_MAX
from state.records.routing import table_shard
from state.topic import TopicClient
from tests.support import local_http
from tests.support.kafka.topics import TopicWriter
from tests.support.openapi import closed, validator
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

pytestmark = pytest.mark.slow

DEMO = ("demo", "run", "--events", "120", "--tables", "4", "--partitions", "20", "--writers", "1")


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[Stack]:
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--workers", "2"),
            METATIDE_KAFKA_TOPIC="serving",
            METATIDE_THRIFT_PORT=str(free_port()),
            METATIDE_IMAGES_URL=str(parent / "images"),
            METATIDE_READS_CONSISTENCY="any",
            METATIDE_READS_TABLES="*=latest",
        ) as up,
    ):
        up.until_ready()
        metatide(up, *DEMO)
        yield up


def metatide(up: Stack, *arguments: str, status: int = 0) -> str:
    """What a command prints; it runs here, which takes less than a process for each."""
    runner = CliRunner(catch_exceptions=False)
    done = runner.invoke(root, arguments, env=environment(up))
    assert done.exit_code == status, done.output
    return done.stdout


def refused(up: Stack, *arguments: str) -> str:
    """What a command that can't be obeyed says, in a process of its own."""
    command = [sys.executable, "-m", "metatide", *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **environment(up)},
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr


def environment(up: Stack) -> dict[str, str]:
    return {"METATIDE_DATA_DIR": str(up.folder), "METATIDE_KAFKA_TOPIC": "serving"}


def all_tables(up: Stack) -> list[str]:
    """Of all databases."""
    found = json.loads(metatide(up, "get", "tables", "*", "--consistency", "latest"))
    names = [f"{one['dbName']}.{one['tableName']}" for one in found]
    assert names, "the demo made no table"
    return names


def a_table(up: Stack) -> str:
    """The path of one."""
    db, _, table = all_tables(up)[0].partition(".")
    return f"/v1/databases/{db}/tables/{table}"


def test_each_of_two_workers_answers_for_all_from_the_cache(running: Stack) -> None:
    names = all_tables(running)
    urls = [running.entry(f"worker-{number}").address for number in (1, 2)]

    def ask(url: str, path: str, **more: Any) -> httpx.Response:
        method = "POST" if more else "GET"
        answer = local_http.request(method, f"{url}{path}", timeout=30, **more)
        assert answer.status_code == 200, answer.text
        return answer

    def are_cached() -> bool:
        answers = [
            answer
            for url in urls
            for answer in (
                ask(url, "/v1/tables?consistency=latest", json={"names": names}),
                ask(url, "/v1/table-metadata?consistency=latest"),
                *(ask(url, "/v1/databases/{}/tables/{}".format(*n.split("."))) for n in names),
            )
        ]
        half = len(answers) // 2
        assert [one.text for one in answers[:half]] == [one.text for one in answers[half:]]
        assert len(answers[0].json()["tables"]) == len(answers[1].json()["tables"]) == len(names)
        return {one.headers["Metatide-Source"] for one in answers} == {"cache"}

    running.until(are_cached)


def test_what_was_written_is_answered_from_the_cache_as_the_database_has_it(
    running: Stack,
) -> None:
    url = running.entry("worker-1").address + a_table(running)
    sources = set()

    def is_cached() -> bool:
        answer = local_http.get(url, params={"consistency": "latest"}, timeout=30)
        assert answer.status_code == 200, answer.text
        sources.add((answer.headers["Metatide-Source"], answer.text))
        return answer.headers["Metatide-Source"] == "cache"

    running.until(is_cached)
    assert len({text for _, text in sources}) == 1


def live_on(up: Stack, shard: int) -> list[str]:
    """Workers that have it, and have it follow the topic."""
    urls = [up.entry(f"worker-{number}").address for number in (1, 2)]
    shards = [local_http.get(f"{url}/v1/status", timeout=30).json()["shards"] for url in urls]
    live = [{one["shard"] for one in some if one["phase"] == "live"} for some in shards]
    return [url for url, here in zip(urls, live, strict=True) if shard in here]


def test_what_the_document_tells_beside_reads_is_so(running: Stack) -> None:
    description, shard = document(OPERATIONS), 0
    running.until(lambda: live_on(running, shard) != [])
    url = live_on(running, shard)[0]
    operations: list[AnyOperation] = [*WORKER, *THRIFT]
    for declared in operations:
        operation = description["paths"][declared.path][declared.method]
        answer = local_http.request(
            declared.method,
            url + declared.path.format(shard=shard),
            headers={"content-type": "application/json"},
            content=None if declared.body is None else msgspec.json.encode(declared.body_example),
            timeout=60,
        )
        assert answer.status_code == 200, answer.text
        media = operation["responses"]["200"]["content"]["application/json"]
        validator(closed(description), media["schema"]).validate(answer.json())


def test_pages_have_the_metrics_that_dashboards_are_made_of(running: Stack) -> None:
    names: dict[str, set[str]] = {}
    for family in metric_families.exported():
        names.setdefault(family.job, set()).add(family.name)
    of_both = names[metric_families.BOTH]
    assert running.metrics("worker-1") == names[metric_families.WORKER] | of_both
    assert running.metrics("connect") == names[metric_families.CONNECTOR] | of_both


@contextmanager
def last_accessed(up: Stack, table: str, at: int) -> Iterator[None]:
    """A table whose row says so, without an event; afterwards as it was."""
    url = find_target(Config(data_dir=up.folder)).database_url
    assert url is not None
    engine = unpooled_engine(url)
    with engine.connect() as connection:
        version = detect(connection)
    assert version is not None
    tbls, dbs = (metadata(version).tables[name] for name in ("TBLS", "DBS"))
    db, _, name = table.partition(".")
    ids = sa.select(dbs.c.DB_ID).where(dbs.c.NAME == db)
    row = tbls.c.TBL_NAME == name, tbls.c.DB_ID == ids.scalar_subquery()

    def write(value: int) -> None:
        with engine.begin() as connection:
            done = connection.execute(sa.update(tbls).where(*row).values(LAST_ACCESS_TIME=value))
            assert done.rowcount == 1

    with engine.connect() as connection:
        before: Any = connection.scalar(sa.select(tbls.c.LAST_ACCESS_TIME).where(*row))
    write(at)
    try:
        yield
    finally:
        write(before)
        engine.dispose()


def test_an_audit_finds_what_sql_changed_and_orders_are_obeyed(
    running: Stack, kafka_broker: str
) -> None:
    """One stack, one story: nothing is wrong, one row is, a refresh mends it; and other orders."""
    kafka, name = ("--kafka", kafka_broker), all_tables(running)[0]
    path = "{}/v1/databases/{}/tables/{}".format(
        running.entry("worker-2").address, *name.split(".")
    )

    def table() -> tuple[str, str, int]:
        answer = local_http.get(path, params={"consistency": "any"}, timeout=30)
        source, reason = (answer.headers[f"Metatide-{one}"] for one in ("Source", "Reason"))
        return source, reason, answer.json()["lastAccessTime"]

    def is_cached() -> bool:
        return table()[0] == "cache"

    def audit(status: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(metatide(running, "audit", *kafka, status=status))
        return found

    running.until(is_cached)
    nothing = audit(0)
    assert [one for one in nothing["disagreements"] if not one["silent"]] == []
    assert nothing["totals"]["objects"]["seen"] > 20
    assert nothing["totals"]["objects"]["nines"] > 0

    with last_accessed(running, name, 12345):
        [wrong] = (one for one in audit(1)["disagreements"] if not one["silent"])
        assert (wrong["scope"], wrong["object"]) == (f"table hive.{name}", "table")
        [field] = wrong["fields"]
        assert (field["field"], field["database"]) == ("lastAccessTime", 12345)
        assert table()[2] == field["cache"] != 12345
        metatide(running, "admin", "refresh", name, *kafka)
        running.until(lambda: table()[0::2] == ("cache", 12345))

    metatide(running, "admin", "pause", *kafka)
    assert table()[:2] == ("database", "paused")
    metatide(running, "admin", "resume", *kafka)
    assert is_cached()
    greatest = [encode(Pause(0, NATURAL_MAX, paused=True))]
    topic = TopicClient(kafka_broker, "serving").describe()
    forged = TopicWriter(topic)
    home = table_shard(table_name(None, *name.split(".")), topic.shards)
    forged.write(home, greatest)
    forged.flush()
    running.until(lambda: table()[1] == "paused")
    metatide(running, "admin", "resume", *kafka)
    assert is_cached()
    forged.write(home, map(encode, [Reset(1 << 62, 1), Reset(3, 1 << 61)]))
    forged.flush()
    running.until(lambda: table()[1] == "cold")
    metatide(running, "admin", "reset", *kafka)
    running.until(is_cached)
    [epoch] = {one["epoch"] for one in json.loads(metatide(running, "admin", "show", *kafka))}
    # The connector begins epoch 4 by itself if a load is requested in the forged one first.
    assert epoch in (4, 5)
    metatide(running, "admin", "lists", "--blacklist", name, *kafka)
    assert table()[1] == "excluded"
    metatide(running, "admin", "lists", *kafka)
    metatide(running, "admin", "warm", name, *kafka)
    running.until(is_cached)


def test_a_table_that_does_not_exist_is_told_to_operators(
    running: Stack, kafka_broker: str
) -> None:
    name, nobody = all_tables(running)[0], "nobody.nothing"
    orders = (("admin", order, name, nobody) for order in ("warm", "refresh"))
    for command in (("audit", "--table", name, "--table", nobody), *orders):
        said = refused(running, *command, "--kafka", kafka_broker)
        assert said == "metatide: there is no table hive.nobody.nothing\n"
    report = json.loads(metatide(running, "audit", "--table", name, "--kafka", kafka_broker))
    assert report["audited"] == 1
    drop = ("admin", "drop", name, nobody, "--kafka", kafka_broker)
    done = CliRunner(catch_exceptions=False).invoke(root, drop, env=environment(running))
    assert done.stderr.splitlines() == [
        f"{name}: will be dropped until somebody reads it",
        "there is no table hive.nobody.nothing in the metastore: "
        "the cache drops it, if it holds it",
    ]
