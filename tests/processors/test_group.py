"""The live consumer: its settings, and starts and stops that fail."""

from pathlib import Path
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from processors.group import Group, Membership
from state.topic import Topic


def ignore(*_: object) -> None:
    pass


def group_without_brokers(folder: Path, session_timeout_s: int = 10) -> Group:
    membership = Membership("group", "worker", "127.0.0.1:1", session_timeout_s, folder)
    topic = Topic("127.0.0.1:1", "topic", 1, {}, "id")
    return Group(topic, membership, offer=ignore, assigned=ignore, unsettled=ignore)


@pytest.mark.parametrize("session_timeout_s", [10, 90, 91, 1800])
async def test_a_session_may_be_long(tmp_path: Path, session_timeout_s: int) -> None:
    app = group_without_brokers(tmp_path, session_timeout_s)._make_app()
    thread: Any = app.consumer._thread  # type: ignore[attr-defined]
    try:
        await thread._create_worker_consumer(app.transport).stop()
    finally:
        thread.thread_loop.close()


async def test_a_start_that_fails_leaves_no_files_open(tmp_path: Path) -> None:
    group = group_without_brokers(tmp_path)
    for number in range(3):
        app = group._make_app()
        with pytest.raises(KafkaError):
            await app.start()
        await group._stop(app)
        if number == 0:
            before = open_files()
    assert open_files() == before


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
