"""The whole way: a database that is written to, and a worker that answers for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

DEMO = ("demo", "run", "--events", "120", "--tables", "4", "--partitions", "20", "--writers", "1")


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[Stack]:
    with (
        open_folder() as parent,
        stack(parent / "data", "--kafka", kafka_broker, METATIDE_KAFKA_TOPIC="serving") as up,
    ):
        up.until_ready()
        metatide(up, *DEMO)
        yield up


def metatide(up: Stack, *arguments: str) -> str:
    environment = {**os.environ, "METATIDE_DATA_DIR": str(up.folder)}
    command = [sys.executable, "-m", "metatide", *arguments]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=120
    ).stdout


def a_table(up: Stack) -> str:
    """The path of one."""
    databases = json.loads(metatide(up, "get", "databases", "--consistency", "latest"))
    for db in (one["name"] for one in databases):
        tables = json.loads(metatide(up, "get", "tables", db, "--consistency", "latest"))
        if tables:
            return f"/v1/databases/{db}/tables/{tables[0]['tableName']}"
    raise AssertionError("the demo made no table")


def test_what_was_written_is_answered_from_the_cache_as_the_database_has_it(
    running: Stack,
) -> None:
    url = running.entry("worker-1").address + a_table(running)
    sources = set()

    def is_cached() -> bool:
        answer = httpx.get(url, params={"consistency": "latest"}, timeout=30)
        assert answer.status_code == 200, answer.text
        sources.add((answer.headers["Metatide-Source"], answer.text))
        return answer.headers["Metatide-Source"] == "cache"

    running.until(is_cached)
    assert len({text for _, text in sources}) == 1


def test_one_page_has_the_metrics_of_the_worker_and_of_its_server(running: Stack) -> None:
    page = httpx.get(f"{running.entry('worker-1').address}/metrics", timeout=30).text
    assert "metatide_rebalances" in page
    assert "metatide_requests_in_flight" in page
