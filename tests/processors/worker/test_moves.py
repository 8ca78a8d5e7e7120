"""Which worker has which shards as workers come, go and are killed: what needn't move stays."""

import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from metatide.members import members
from metatide.stack.machine import LOOPBACK
from tests.support.kafka.topics import new_topic
from tests.support.workers import WorkerProcess, workers

pytestmark = pytest.mark.slow

SHARDS = 12
ALL = frozenset(range(SHARDS))
Shares = dict[str, frozenset[int]]


def shares(*members: WorkerProcess) -> Shares:
    """What each has, once they have all shards between them, as evenly as can be."""
    least, more = divmod(SHARDS, len(members))
    sizes = sorted([least + 1] * more + [least] * (len(members) - more))
    while True:
        by_member = {one.name: shards(one) for one in members}
        if (
            sorted(map(len, by_member.values())) == sizes
            and frozenset().union(*by_member.values()) == ALL
        ):
            return by_member


def shards(worker: WorkerProcess) -> frozenset[int]:
    return frozenset(one["shard"] for one in worker.until_ready()["shards"])


def test_shards_move_as_little_as_possible(kafka_broker: str, tmp_path: Path) -> None:
    # Nobody can wait for a session to run out: that takes longer than the test's patience.
    settings = {"METATIDE_WORKER_SESSION_TIMEOUT_S": "80"}
    topic = new_topic(kafka_broker, SHARDS)
    first, second, third, fourth = (
        WorkerProcess(topic, tmp_path, name, **settings) for name in ("one", "two", "three", "four")
    )
    with workers(first, second, third), ExitStack() as later:
        before = shares(first, second, third)
        third.end(signal.SIGKILL)
        third.start()
        assert shares(first, second, third) == before, "killed and started again: nothing moves"
        later.enter_context(workers(fourth))
        after = shares(first, second, third, fourth)
        for old in (first, second, third):
            assert after[old.name] < before[old.name], "a new one gets a share, and no others move"
        assert second.end() == 0
        last = shares(first, third, fourth)
        for staying in (first, third, fourth):
            assert after[staying.name] < last[staying.name], "only those move whose worker left"


def test_a_worker_that_ends_leaves_its_group_before_its_port_closes(
    kafka_broker: str, tmp_path: Path
) -> None:
    topic = new_topic(kafka_broker, SHARDS)
    worker = WorkerProcess(topic, tmp_path, "one")
    with workers(worker):
        worker.until_ready(SHARDS)
        assert [*members(topic, topic.name)]
        worker.send(signal.SIGTERM)
        while is_open(worker.port):
            pass
        assert [*members(topic, topic.name)] == [], worker.log.read_text()
        assert worker.wait() == 0


def is_open(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port)).close()
    except ConnectionError:
        return False
    return True
