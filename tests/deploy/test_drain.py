"""A rolling restart of two workers, as a drain or an upgrade makes it, while clients read."""

import threading
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests.query_api.sales import ORDERS, sales
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

SHARDS = 4
CLIENTS = 3
PATH = f"/v1/databases/{ORDERS.db}/tables/{ORDERS.table}"


class Reader(threading.Thread):
    """A client that reads from one worker after the other, and from the next one if one is away."""

    def __init__(self, servers: list[WorkerProcess]) -> None:
        super().__init__(daemon=True)
        self.answered: Counter[str] = Counter()
        """How often each source has answered."""
        self.faults: list[str] = []
        self._servers = servers
        self._ended = threading.Event()

    def run(self) -> None:
        for first, second in cycle([self._servers, self._servers[::-1]]):
            if self._ended.is_set():
                return
            # A connection of its own for each read, as after a change of the Service.
            answer = first.get(PATH) or second.get(PATH)
            if answer is None:
                self.faults.append("neither answers")
            elif answer.status_code != 200:
                self.faults.append(f"{answer.status_code} {answer.text}")
            else:
                self.answered[answer.headers["Metatide-Source"]] += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


def test_no_read_fails_while_workers_are_replaced_one_by_one(
    kafka_broker: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    url = new_database()
    sales(url)
    topic = new_topic(kafka_broker, SHARDS)
    settings = {
        "METATIDE_DATABASE_URL": url,
        "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
    }
    connector = WorkerProcess(topic, tmp_path, "connector", "metatide connect", **settings)
    pair = [WorkerProcess(topic, tmp_path, name, **settings) for name in ("one", "two")]
    with workers(connector, *pair):
        for worker in pair:
            worker.until_ready(SHARDS // 2)
        until_cached(pair)
        readers = [Reader(pair) for _ in range(CLIENTS)]
        for reader in readers:
            reader.start()
        for worker in pair:
            assert worker.end() == 0
            worker.start()
            for each in pair:
                each.until_ready(SHARDS // 2)
        until_cached(pair)
        for reader in readers:
            reader.end()
    for reader in readers:
        assert reader.faults == []
        assert reader.answered["cache"] > 0


def until_cached(pair: list[WorkerProcess]) -> None:
    """Reads until each of them answers from the cache."""
    for worker in pair:
        while True:
            answer = worker.get(PATH)
            assert answer is not None
            assert answer.status_code == 200, answer.text
            if answer.headers["Metatide-Source"] == "cache":
                break
