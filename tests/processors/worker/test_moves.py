"""Who has which shards as workers come, go and are killed: what needn't move stays."""

import signal
from contextlib import ExitStack
from pathlib import Path

from tests.support.topics import new_topic
from tests.support.workers import WorkerProcess, workers

SHARDS = 12
ALL = frozenset(range(SHARDS))
Shares = dict[str, frozenset[int]]


def shares(*members: WorkerProcess) -> Shares:
    """What each has, once they have all shards between them, as evenly as can be."""
    least, more = divmod(SHARDS, len(members))
    sizes = sorted([least + 1] * more + [least] * (len(members) - more))
    while True:
        found = {one.name: shards(one) for one in members}
        if sorted(map(len, found.values())) == sizes and frozenset().union(*found.values()) == ALL:
            return found


def shards(worker: WorkerProcess) -> frozenset[int]:
    return frozenset(one["shard"] for one in worker.until_ready()["shards"])


def test_shards_move_as_little_as_possible(kafka_broker: str, tmp_path: Path) -> None:
    # Nobody can wait for a session to run out: that takes longer than the test's patience.
    settings = {"METATIDE_WORKER_SESSION_TIMEOUT_S": "80"}
    topic = new_topic(kafka_broker, SHARDS)
    one, two, three, four = (
        WorkerProcess(topic, tmp_path, name, **settings) for name in ("one", "two", "three", "four")
    )
    with workers(one, two, three), ExitStack() as later:
        before = shares(one, two, three)
        three.end(signal.SIGKILL)
        three.start()
        assert shares(one, two, three) == before, "killed and started again: nothing moves"
        later.enter_context(workers(four))
        after = shares(one, two, three, four)
        for old in (one, two, three):
            assert after[old.name] < before[old.name], "a new one gets a share, and no others move"
        assert two.end() == 0
        last = shares(one, three, four)
        for kept in (one, three, four):
            assert after[kept.name] < last[kept.name], "only those move whose worker left"
