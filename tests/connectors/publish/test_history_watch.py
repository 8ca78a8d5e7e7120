"""What is compared with the log at each poll."""

from typing import cast

import pytest

from connectors.log.source import Poll, Source
from connectors.metrics import Metrics
from connectors.publish.history_watch import HistoryChanged, HistoryWatch
from connectors.publish.published_history import PublishedEvent
from connectors.publish.tails import Tails

LAST = PublishedEvent(9, b"nine")
OLDER = PublishedEvent(7, b"seven")
TAILS = Tails(2, (9, 9), LAST, (50, 60), (40, 50), published=frozenset({OLDER, LAST}))


class Log:
    """Rows of a log, and what was looked up of them."""

    def __init__(self) -> None:
        self.rows = {7: b"seven", 9: b"nine"}
        self.hashes_of: list[tuple[int, ...]] = []
        self.older_than: list[tuple[int, int | None]] = []

    def hashes(self, events: tuple[int, ...]) -> dict[int, bytes]:
        self.hashes_of.append(tuple(events))
        return {event: self.rows[event] for event in events if event in self.rows}

    def older(self, event: int, written_s: int | None) -> int | None:
        self.older_than.append((event, written_s))
        return min((row for row in self.rows if row < event), default=None)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def watch(log: Log, metrics: Metrics) -> HistoryWatch:
    return HistoryWatch(cast(Source, log), TAILS, 8, metrics)


def test_all_that_was_published_is_compared_once(watch: HistoryWatch, log: Log) -> None:
    assert not watch.has_compared
    assert watch.check(Poll(9, b"nine", []))
    assert watch.has_compared
    assert not watch.check(Poll(9, b"nine", []))
    assert log.hashes_of == [(7, 9)]


def test_tails_that_are_read_again_are_compared_again(watch: HistoryWatch, log: Log) -> None:
    watch.check(Poll(9, b"nine", []))
    later = PublishedEvent(11, b"eleven")
    watch.compare(Tails(2, (11, 9), later, (51, 60), (40, 50), published=frozenset({later})))
    assert (watch.has_compared, watch.ends, watch.furthest) == (False, (51, 60), later)
    assert watch.check(Poll(11, b"eleven", []))
    assert log.hashes_of == [(7, 9), (11,)]


def test_an_older_row_that_differs_is_another_history(
    watch: HistoryWatch, log: Log, metrics: Metrics
) -> None:
    log.rows[7] = b"else"
    with pytest.raises(HistoryChanged, match="event 7 differs") as raised:
        watch.check(Poll(12, b"nine", []))
    assert raised.value.current == 12
    assert not watch.has_compared
    labels = {"kind": "history"}
    assert metrics.registry.get_sample_value("metatide_connect_faults_total", labels) == 1


def test_ids_that_went_back_behind_a_load_are_another_history(watch: HistoryWatch) -> None:
    watch.compare(Tails(2, (9, 9), LAST, (50, 60), (40, 50), loaded=20))
    with pytest.raises(HistoryChanged, match="had come to 20 before"):
        watch.check(Poll(19, b"nine", []))


def test_a_missing_row_is_judged_by_those_written_before_it(watch: HistoryWatch, log: Log) -> None:
    watch.check(Poll(9, b"nine", [], checked_s=100))
    with pytest.raises(HistoryChanged, match="event 9 was published, but is missing"):
        watch.check(Poll(9, None, []))
    log.rows.clear()
    watch.check(Poll(9, None, []))
    assert log.older_than == [(9, 100), (9, 100)]


def test_only_a_later_event_is_the_furthest(watch: HistoryWatch) -> None:
    for event in (PublishedEvent(8, b"eight"), PublishedEvent(9, b"another")):
        watch.published(*event)
        assert watch.furthest == LAST
    watch.published(12, None)
    assert watch.furthest == PublishedEvent(12, None)


def test_the_row_of_an_event_is_learned_from_the_log(watch: HistoryWatch) -> None:
    watch.published(12, None)
    watch.check(Poll(12, b"twelve", []))
    assert watch.furthest == PublishedEvent(12, b"twelve")
