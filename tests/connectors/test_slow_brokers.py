"""What brokers took late is compared with the log, and nothing else counts as their delay."""

import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Final

import pytest
from structlog.testing import LogCapture

from connectors.log.source import Bounds, Poll
from connectors.log.sql_source import SqlSource
from connectors.publish import publisher, tails
from connectors.publish.publisher import Publisher
from connectors.publish.sender import Sender
from hive.errors import PublishError, SourceError
from state.topic import Topic
from state.topic.client import topic_bounds
from tests.connectors.connector_runs import QUICK, Log, connecting, publish

HASTY: Final = replace(QUICK, acknowledged_s_max=0.25)
"""With little patience, so that what takes longer needn't take long."""


def slow_down_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on they acknowledge late."""
    flush = Publisher.flush

    def flush_late(publisher: Publisher) -> None:
        time.sleep(HASTY.acknowledged_s_max)
        flush(publisher)

    monkeypatch.setattr(Publisher, "flush", flush_late)


def while_events_follow(log: Log, first: int, condition: Callable[[], bool]) -> Callable[[], bool]:
    """The condition, with another event before each look at it, from this one on."""
    events = count(first)

    def look() -> bool:
        log.write(next(events))
        return condition()

    return look


def test_what_brokers_took_late_is_compared_with_the_log(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
        slow_down_brokers(monkeypatch)
        publish(topic, 2, b"lost")
        log.write(4)
        connector.until(lambda: tails.find(topic).epoch == 1)
        assert connector.value("faults_total", kind="history") == 1


def test_what_is_visible_once_brokers_take_other_records_is_compared(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They had taken it from a connector that ended, and their followers lagged."""
    fence, appeared = publisher.fence, iter([partial(publish, topic, 2, b"lost")])

    def fence_and_appear(sender: Sender, topic: Topic, epoch: int) -> None:
        fence(sender, topic, epoch)
        for appear in appeared:
            appear()

    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
    monkeypatch.setattr(publisher, "fence", fence_and_appear)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until(lambda: connector.value("epoch") == 1)


def test_nothing_is_written_while_the_database_is_away(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt would leave records behind, and hide those that are to be compared."""
    attempts = count()

    def fail(source: SqlSource, after: int) -> Bounds:
        next(attempts)
        raise SourceError("the database is away")

    monkeypatch.setattr(SqlSource, "bounds", fail)
    with connecting(SqlSource(log.engine), topic, replace(QUICK, retry_s_max=0.1)) as connector:
        connector.until(lambda: next(attempts) > 5)
    assert {bound.end for bound in topic_bounds(topic).values()} == {0}


BURYING = range(4, 4 + 3 * tails.WINDOW_RECORDS)
"""So many events that a look at the end of the topic doesn't show what is behind them."""


def entries(said: LogCapture, word: str) -> list[MutableMapping[str, Any]]:
    """The entries of the log whose events have this word in them."""
    return [entry for entry in said.entries if word in entry["event"]]


def bury_a_lost_event(log: Log, topic: Topic) -> None:
    """Publishes an event that the log lacks, and others after it."""
    publish(topic, 2, b"lost")
    log.write(*BURYING)


def after_burying(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Acts once, when brokers have taken the last of these events."""
    flush, actions = Publisher.flush, iter([act])

    def flush_and_act(publisher: Publisher) -> None:
        flush(publisher)
        if max(publisher.uptos) >= BURYING[-1]:
            for due in actions:
                due()

    monkeypatch.setattr(Publisher, "flush", flush_and_act)


def test_what_could_not_be_compared_is_still_in_doubt(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = SqlSource.hashes
    failures = iter([SourceError("the database is away")])

    def fail_once(source: SqlSource, events: Sequence[int]) -> dict[int, bytes]:
        for failure in failures:
            raise failure
        return hashes(source, events)

    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
        monkeypatch.setattr(SqlSource, "hashes", fail_once)
        after_burying(monkeypatch, partial(time.sleep, HASTY.acknowledged_s_max))
        bury_a_lost_event(log, topic)
        connector.until(lambda: tails.find(topic).epoch == 1)
    assert next(failures, None) is None


def test_what_brokers_refused_is_in_doubt(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise PublishError("no acknowledgement")

    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
        after_burying(monkeypatch, fail)
        bury_a_lost_event(log, topic)
        connector.until(lambda: tails.find(topic).epoch == 1)


def test_only_what_came_since_the_last_comparison_is_compared(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else comparing takes the time that makes the next records late."""
    hashes = SqlSource.hashes
    compared: list[int] = []

    def compare(source: SqlSource, events: Sequence[int]) -> dict[int, bytes]:
        compared.append(len(events))
        return hashes(source, events)

    before = 8 * tails.WINDOW_RECORDS
    log.write(*range(1, before))
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(before - 1)
        monkeypatch.setattr(SqlSource, "hashes", compare)
        slow_down_brokers(monkeypatch)
        connector.until(while_events_follow(log, before, lambda: len(compared) > 2))
    assert max(compared[1:]) < 5 * tails.WINDOW_RECORDS


def test_a_long_way_behind_is_no_delay_of_the_brokers(
    log: Log, topic: Topic, said: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = replace(QUICK, acknowledged_s_max=2.0)
    poll = SqlSource.poll

    def poll_slowly(source: SqlSource, *places: int) -> Poll:
        time.sleep(0.1)
        return poll(source, *places)

    monkeypatch.setattr(SqlSource, "poll", poll_slowly)
    log.write(1)
    with connecting(SqlSource(log.engine, rows_max=1), topic, pace) as connector:
        connector.until_position(1)
        # A new broker may take long for the first record of a producer.
        said.entries.clear()
        log.write(*range(2, 42))
        connector.until_position(41)
        log.write(42)
        connector.until_position(42)
    assert entries(said, "slow") == []


def test_a_long_comparison_is_no_delay_of_the_brokers(
    log: Log, topic: Topic, said: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = replace(QUICK, acknowledged_s_max=2.0)
    hashes = SqlSource.hashes

    def compare_slowly(source: SqlSource, events: Sequence[int]) -> dict[int, bytes]:
        time.sleep(pace.acknowledged_s_max)
        return hashes(source, events)

    log.write(1)
    with connecting(SqlSource(log.engine), topic, pace) as connector:
        connector.until_position(1)
    monkeypatch.setattr(SqlSource, "hashes", compare_slowly)
    said.entries.clear()
    log.write(2)
    with connecting(SqlSource(log.engine), topic, pace) as connector:
        connector.until_position(2)
        log.write(3)
        connector.until_position(3)
    assert entries(said, "slow") == []


def test_a_session_goes_on_after_a_comparison(
    log: Log, topic: Topic, said: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers take long for the first records of another."""
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
        slow_down_brokers(monkeypatch)
        compared = partial(entries, said, "compared")
        connector.until(while_events_follow(log, 4, lambda: len(compared()) > 2))
    assert len(entries(said, "resumed")) == 1


def test_what_slow_brokers_have_lost_is_published_again(
    log: Log, topic: Topic, said: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = tails.find

    def find_less(topic: Topic, doubtful_from: Sequence[int] | None = None) -> tails.Tails:
        whole = find(topic, doubtful_from)
        return whole if doubtful_from is None else replace(whole, upto=(1, *whole.upto[1:]))

    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(3)
        monkeypatch.setattr(tails, "find", find_less)
        slow_down_brokers(monkeypatch)
        log.write(4)
        connector.until(lambda: len(entries(said, "resumed")) > 1)
    assert entries(said, "resumed")[1]["event_id"] == 1


def test_what_brokers_took_late_counts_once_it_was_compared(
    log: Log, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no load would end while brokers are slow."""
    log.write(1)
    with connecting(SqlSource(log.engine), topic, HASTY) as connector:
        connector.until_position(1)
        slow_down_brokers(monkeypatch)
        complete_to = partial(connector.watermark.event, 0, [0, 1])
        connector.until(while_events_follow(log, 2, lambda: complete_to() >= 5))
