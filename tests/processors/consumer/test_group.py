"""The live consumer: its settings, and starts and stops that fail."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka.errors import KafkaError
from faust import App
from faust.types import TP
from mode.threads import QueueServiceThread
from structlog.testing import capture_logs

from processors.back_off import BackOff
from processors.consumer.group import Group, Membership
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


def test_each_rebalance_tells_the_owners(tmp_path: Path) -> None:
    group = group_without_brokers(tmp_path)
    assert group.owner(0) is None
    assignor = SimpleNamespace(external_topic_distribution={})
    group._app = cast(App, SimpleNamespace(assignor=assignor))
    assert group.owner(0) is None
    for shards in ([0, 2], [1]):
        assignor.external_topic_distribution = {
            "http://10.0.0.1:8080/": {"topic": shards, "another": [7]},
            "http://10.0.0.2:8080": {"topic": [3]},
        }
        owners = {number: owner for number in range(8) if (owner := group.owner(number))}
        assert owners == dict.fromkeys(shards, "10.0.0.1:8080") | {3: "10.0.0.2:8080"}


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


class _StoppingThread(QueueServiceThread):
    """The thread of a consumer that takes long to leave its group."""

    def __init__(self) -> None:
        super().__init__(thread_loop=asyncio.new_event_loop())
        self._close_thread_loop_on_stop = True
        self.stops, self.may_stop = threading.Event(), threading.Event()

    async def on_thread_stop(self) -> None:
        await super().on_thread_stop()
        self.stops.set()
        await asyncio.to_thread(self.may_stop.wait)

    async def seek(self) -> None:
        pass


async def test_a_consumer_that_stops_can_not_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processors.consumer.group.FOLLOW_TIMEOUT_S", 0.1)
    group, thread = group_without_brokers(tmp_path), _StoppingThread()
    consumer = SimpleNamespace(
        assignment=lambda: {TP("topic", 0)},
        flow_active=True,
        seek_wait=lambda _: thread.call_thread(thread.seek),
    )
    group._app = cast("App", SimpleNamespace(rebalancing=False, consumer=consumer))
    await thread.start()
    assert await group.follow(0, 5)
    stopping = asyncio.create_task(thread.stop())
    await asyncio.to_thread(thread.stops.wait)
    assert not await group.follow(0, 5)
    thread.may_stop.set()
    await stopping
    assert not await group.follow(0, 5)


@pytest.mark.parametrize(
    ("shards", "flow_active", "moved"), [([0], True, [5]), ([1], True, []), ([0], False, [])]
)
async def test_only_a_consumer_that_reads_a_shard_is_moved(
    tmp_path: Path, shards: list[int], flow_active: bool, moved: list[int]
) -> None:
    """While a group comes together, it has lost its shards, or has stopped reading them."""
    group, offsets = group_without_brokers(tmp_path), list[int]()

    async def seek(positions: dict[TP, int]) -> None:
        offsets.extend(positions.values())

    consumer = SimpleNamespace(
        assignment=lambda: {TP("topic", shard) for shard in shards},
        flow_active=flow_active,
        seek_wait=seek,
    )
    group._app = cast("App", SimpleNamespace(rebalancing=False, consumer=consumer))
    assert await group.follow(0, 5) is bool(moved)
    assert offsets == moved


async def test_a_consumer_that_does_not_start_or_crashes_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, unsettled = group_without_brokers(tmp_path), list[bool]()
    monkeypatch.setattr(group, "_unsettled", lambda: unsettled.append(group._app is None))
    monkeypatch.setattr(BackOff, "wait", lambda *_: asyncio.sleep(0))

    class Apps:
        """Of the first three applications, none starts, runs or stops as it should."""

        crash_reason = "a crash"
        transport = SimpleNamespace(close_unused_loop=lambda: None)
        made = 0

        async def start(self) -> None:
            self.made += 1
            if self.made == 1:
                raise KafkaError("no brokers")
            if self.made > 3:
                await asyncio.Event().wait()

        async def wait_until_stopped(self) -> None:
            assert group._app is not None

        async def stop(self) -> None:
            if self.made == 2:
                raise ZeroDivisionError

    apps = Apps()
    monkeypatch.setattr(group, "_make_app", lambda: apps)
    with capture_logs() as logs:
        running = asyncio.create_task(group.run())
        async with asyncio.timeout(30):
            while apps.made < 4:
                await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
    assert [(line["event"], line["why"]) for line in logs] == [
        ("the live consumer didn't start; starting another", "KafkaError: no brokers"),
        ("the live consumer crashed; starting another", "a crash"),
        ("the live consumer failed to stop", "ZeroDivisionError()"),
        ("the live consumer crashed; starting another", "a crash"),
    ]
    assert unsettled == [True] * 4
