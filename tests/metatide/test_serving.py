"""The whole way: a database that is written to, and a worker that answers for it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

DEMO = ("demo", "run", "--events", "120", "--tables", "4", "--partitions", "20", "--writers", "1")


@pytest.fixture(scope="module")
def running(kafka_broker: str) -> Iterator[Stack]:
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--workers", "2"),
            METATIDE_KAFKA_TOPIC="serving",
            METATIDE_READS_CONSISTENCY="any",
            METATIDE_READS_TABLES="*=latest",
        ) as up,
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
        answer = httpx.request(method, f"{url}{path}", timeout=30, **more)
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
