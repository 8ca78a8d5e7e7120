"""What a process knows of the log when it can't be read, or not in time."""

import asyncio
import threading

import pytest
from sqlalchemy.exc import OperationalError

from hive.errors import InputError, MachineError
from metatide.config import load
from metatide.health import HealthWatch, Thresholds, hear_once
from metatide.health.thresholds import thresholds
from query_api.latest.missing_events import LogStart
from state.records.heartbeats import Heartbeat, encode_heartbeat
from tests.support.kafka.topics import TopicWriter, new_topic


class Log:
    """A log that is read once it may be."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.may_be_read = threading.Event()
        self._fault = fault

    def oldest_after(self, event: int, /) -> LogStart:
        self.may_be_read.wait(30)
        if self._fault is not None:
            raise self._fault
        return LogStart(event, None, None)


def watching(log: Log) -> HealthWatch:
    return HealthWatch(lambda: None, Thresholds(), lambda: 7, log)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (OperationalError("SELECT 1", {}, OSError("it is away")), "it is away"),
        (MachineError("it has no tables"), "it has no tables"),
    ],
)
async def test_a_log_that_cannot_be_read_is_a_problem(fault: Exception, why: str) -> None:
    log = Log(fault)
    log.may_be_read.set()
    health = await watching(log).measure(30)
    assert health.problems == [f"the database can't be read: {why}"]
    assert health.event is None


async def test_a_log_that_takes_long_is_a_problem_until_it_is_read() -> None:
    log = Log()
    watch = watching(log)
    try:
        health = await watch.measure(0)
        assert health.problems == ["the database doesn't say in time which event is the last"]
    finally:
        log.may_be_read.set()
    await watch.close()
    assert (watch.health.problems, watch.health.event) == ([], 7)
    # The measurement is kept for a moment.
    log.may_be_read.clear()
    async with asyncio.timeout(20):
        assert (await watch.measure(30)).event == 7


def test_red_is_no_earlier_than_amber() -> None:
    environ = {"METATIDE_HEALTH_AMBER_S": "9", "METATIDE_HEALTH_RED_S": "8"}
    with pytest.raises(InputError, match=r"^health\.red_s is 8, less than health\.amber_s, 9$"):
        thresholds(load(environ=environ).config)


def test_a_heartbeat_of_somebody_else_is_passed_over(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    beats = TopicWriter(new_topic(kafka_broker, 1, topic.heartbeats))
    heartbeat = Heartbeat(name="c1", host="here", address="here:1", position=7)
    beats.write(0, [b"", b"of a later release", encode_heartbeat(heartbeat)])
    beats.flush()
    assert [heard.heartbeat for heard in hear_once(topic)] == [heartbeat]
