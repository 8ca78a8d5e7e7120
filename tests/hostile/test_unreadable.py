"""Records that nobody can read: their shard stops, and goes on when an operator says so."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

from connectors.feed.single_records import record_at
from hive.errors import UnreadableRecordError
from hive.names import table_name
from metatide.cli.digest import _digests
from processors.consumer.inflate import BATCH_BYTES_MAX
from processors.replay.replay import rebuild
from state.records import FORMAT_VERSION, AnyRecord, Change, Skip, encode
from state.records.routing import table_shard
from state.store import MemoryBudget
from state.topic import Topic, TopicClient
from tests.support import local_http
from tests.support.kafka.topics import TopicWriter, log_records, new_topic
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]

NAME = "hostile-records"
SHARDS = 4
BUDGET = MemoryBudget(64 << 20)
DEMO = ("demo", "run", "--events", "120", "--tables", "4", "--partitions", "20", "--writers", "1")
GARBAGE = {
    "unknown_format": b"\x00\x1b[31mgarbage\xff",
    "empty": b"",
    "newer_format": bytes((FORMAT_VERSION + 1,)) + encode(Change(0, 1, 2))[1:],
    "damaged": encode(Change(0, 1, 2))[:-1],
}


def metatide(up: Stack, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "METATIDE_DATA_DIR": str(up.folder),
        "METATIDE_KAFKA_TOPIC": NAME,
        "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
    }
    command = [sys.executable, "-m", "metatide", *arguments]
    done = subprocess.run(
        command, env=environment, check=False, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[Stack]:
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--workers", "1"),
            METATIDE_KAFKA_TOPIC=NAME,
            METATIDE_KAFKA_PARTITIONS=str(SHARDS),
        ) as up,
    ):
        metatide(up, *DEMO)
        yield up


def get(up: Stack, path: str, **parameters: str) -> httpx.Response:
    url = up.entry("worker-1").address
    answer = local_http.get(f"{url}{path}", params=parameters, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer


def source(up: Stack, table: str) -> tuple[str, str]:
    answer = get(up, "/v1/databases/{}/tables/{}".format(*table.split(".")))
    return answer.headers["Metatide-Source"], answer.headers["Metatide-Reason"]


def tables_by_shard(up: Stack) -> dict[int, list[str]]:
    by_shard: dict[int, list[str]] = {}
    for table in json.loads(metatide(up, "get", "tables", "*", "--consistency", "latest").stdout):
        name = table_name(None, table["dbName"], table["tableName"])
        by_shard.setdefault(table_shard(name, SHARDS), []).append(f"{name.db}.{name.table}")
    return by_shard


def status(up: Stack, shard: int) -> dict[str, Any]:
    shards = get(up, "/v1/status").json()["shards"]
    return next((each for each in shards if each["shard"] == shard), {"phase": None})


def forge(topic: Topic, shard: int, *values: bytes) -> None:
    writer = TopicWriter(topic)
    writer.write(shard, values)
    writer.flush()


def test_a_shard_that_meets_garbage_is_named_skipped_and_loaded_again(
    running: Stack, kafka_broker: str
) -> None:
    """One stack, one story."""
    kafka = ("--kafka", kafka_broker)
    topic = TopicClient(kafka_broker, NAME).describe()
    by_shard = tables_by_shard(running)
    (shard, [table, *_]), (_, [elsewhere, *_]) = list(by_shard.items())[:2]

    def is_cached(name: str) -> Callable[[], bool]:
        return lambda: source(running, name)[0] == "cache"

    running.until(is_cached(table))
    running.until(is_cached(elsewhere))
    pid = running.entry("worker-1").pid
    forge(topic, shard, *GARBAGE.values())

    running.until(lambda: status(running, shard)["phase"] == "stopped")
    stopped = status(running, shard)
    offset = stopped["unreadable"]["offset"]
    assert stopped["unreadable"]["reason"] == "unknown_format"
    assert stopped["offset"] == offset, "what came before it is folded"
    for name in (f"shard {shard}", f"offset {offset}", "unknown_format"):
        assert name in stopped["fault"]
    assert get(running, "/readyz").is_success
    series = f'offset="{offset}",reason="unknown_format",shard="{shard}"'
    running.until(
        lambda: f"metatide_unreadable_record{{{series}}} 1.0" in get(running, "/metrics").text
    )
    [worker] = get(running, "/v1/overview").json()["workers"]
    [shown] = [one for one in worker["status"]["shards"] if one["shard"] == shard]
    assert shown["fault"] == stopped["fault"]

    # All others go on, and so do the readers of this one.
    metatide(running, *DEMO)
    assert source(running, table)[0] in ("cache", "database")
    running.until(is_cached(elsewhere))

    shown = metatide(running, "topic", "record", f"{shard}", f"{offset}", *kafka)
    record = json.loads(shown.stdout)
    assert (record["reason"], record["type"], record["bytes"]) == ("unknown_format", None, 14)
    assert record["excerpt"] == "\0\x1b[31mgarbage\\xff"
    last = TopicClient(kafka_broker, NAME).ends([shard])[shard] - 1
    after = [record_at(topic, shard, place) for place in range(offset, last + 1)]
    assert {one.reason for one in after} == {None, *GARBAGE}
    assert [one.type for one in after if one.reason == "damaged"] == ["Change"]

    readable = metatide(running, "admin", "skip", f"{shard}", "0", *kafka, status=2)
    assert "nothing to skip" in readable.stderr
    skipped = metatide(running, "admin", "skip", f"{shard}", f"{offset}", *kafka).stderr
    assert f"shard {shard} has passed offset {offset}" in skipped
    assert re.search(r"stops at offset \d+ \(empty\)", skipped)
    rest = (f"{offset + 1}", "--last", f"{last}")
    metatide(running, "admin", "skip", f"{shard}", *rest, *kafka)

    running.until(lambda: status(running, shard)["phase"] == "live")
    assert status(running, shard)["unreadable"] is None
    assert source(running, table) == ("database", "paused")
    states = json.loads(metatide(running, "admin", "show", *kafka).stdout)
    assert [one["shard"] for one in states if one["paused"]] == [shard]
    metatide(running, "admin", "resume", *kafka)
    running.until(is_cached(table))
    assert [one for one in audit(running, kafka) if not one["silent"]] == []
    assert running.entry("worker-1").pid == pid

    running.kill("worker-1")
    running.until(lambda: status(running, shard)["phase"] == "live")
    assert status(running, shard)["offset"] > last
    running.until(is_cached(table))
    assert "metatide_unreadable_record{" not in get(running, "/metrics").text


def audit(up: Stack, kafka: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(metatide(up, "audit", *kafka).stdout)["disagreements"]
    return found


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 2)


@pytest.fixture(scope="module")
def records() -> list[AnyRecord]:
    return log_records("four-writers", 2)[0]


def is_stopped(status: dict[str, Any]) -> bool:
    return any(shard["unreadable"] for shard in status["shards"])


def test_all_that_meet_it_later_skip_it_too(
    topic: Topic, records: list[AnyRecord], tmp_path: Path
) -> None:
    """Live, after kill -9, replayed, from an image: all hold the same."""
    images = {"METATIDE_IMAGES_URL": str(tmp_path / "images")}
    first, second = (WorkerProcess(topic, tmp_path, name, **images) for name in ("one", "two"))
    writer = TopicWriter(topic)
    with workers(first):
        first.until_ready(2)
        writer.write(0, map(encode, records[:100]))
        writer.flush()
        first.until_at({0: 100, 1: 0})
        writer.write(0, [*GARBAGE.values(), *map(encode, records[100:200])])
        writer.flush()
        assert first.until(is_stopped)["ready"]
        first.end(signal.SIGKILL)
        first.start()
        first.until(is_stopped)
        with pytest.raises(UnreadableRecordError, match="shard 0 stops at offset 100"):
            rebuild(topic, 0, tmp_path / "stopped", BUDGET)
        writer.write(0, [encode(Skip(0, 0, 1_000))])
        writer.write(0, map(encode, records[200:]))
        writer.flush()
        end = len(records) + len(GARBAGE) + 1
        first.until_at({0: end, 1: 0})
        answer = local_http.post(
            f"http://127.0.0.1:{first.port}/v1/images", json={"shard": 0}, timeout=60
        )
        assert answer.status_code == 200, answer.text
        assert first.end() == 0
    live = _digests(first.directory.store(0))
    rebuild(topic, 0, tmp_path / "replayed", BUDGET)
    assert _digests(tmp_path / "replayed") == live
    with workers(second):
        second.until_at({0: end, 1: 0})
        assert second.end() == 0
    assert _digests(second.directory.store(0)) == live


def test_an_order_reaches_back_but_never_ahead(topic: Topic, tmp_path: Path) -> None:
    """Whoever gives it knows what came before it, and not what comes."""
    writer = TopicWriter(topic)
    first = [encode(Change(0, 0, 1)), b"garbage", encode(Skip(0, 0, 1_000))]
    writer.write(0, [*first, encode(Change(0, 1, 2)), b"garbage"])
    writer.flush()
    with pytest.raises(UnreadableRecordError, match="shard 0 stops at offset 4"):
        rebuild(topic, 0, tmp_path / "stopped", BUDGET)
    writer.write(0, [encode(Skip(0, 3, 3)), encode(Skip(0, 5, 9))])
    writer.flush()
    with pytest.raises(UnreadableRecordError, match="shard 0 stops at offset 4"):
        rebuild(topic, 0, tmp_path / "still", BUDGET)
    writer.write(0, [encode(Skip(0, 4, 4)), encode(Change(0, 2, 3))])
    writer.flush()
    assert rebuild(topic, 0, tmp_path / "passed", BUDGET).applied == 3


def test_a_batch_that_cannot_be_inflated_stops_its_shard_alone(
    running: Stack, kafka_broker: str
) -> None:
    kafka = ("--kafka", kafka_broker)
    (shard, [table, *_]), (other_shard, [elsewhere, *_]) = list(tables_by_shard(running).items())[
        :2
    ]
    pid = running.entry("worker-1").pid
    writer = Producer(
        {
            "bootstrap.servers": kafka_broker,
            "compression.type": "lz4",
            "message.max.bytes": 2 * BATCH_BYTES_MAX,
        }
    )
    writer.produce(NAME, bytes(BATCH_BYTES_MAX + 1), partition=shard)
    assert writer.flush(60) == 0

    running.until(lambda: status(running, shard)["phase"] == "stopped")
    metatide(running, *DEMO)
    running.until(lambda: source(running, elsewhere)[0] == "cache")
    assert status(running, other_shard)["phase"] == "live"
    offset = status(running, shard)["unreadable"]["offset"]
    metatide(running, "admin", "skip", f"{shard}", f"{offset}", *kafka)
    metatide(running, "admin", "resume", *kafka)
    running.until(lambda: source(running, table)[0] == "cache")
    assert status(running, shard)["phase"] == "live"
    assert [each for each in audit(running, kafka) if not each["silent"]] == []
    assert running.entry("worker-1").pid == pid
