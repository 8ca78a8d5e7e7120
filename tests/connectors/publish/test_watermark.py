"""Waiting for events to be published."""

import threading

from connectors.publish.watermark import MARKS_MAX, Watermark

SHARDS = (0, 1)


def test_only_events_of_the_present_epoch_are_published() -> None:
    watermark = Watermark()
    assert watermark.event(0, SHARDS) == -1
    watermark.rise(0, [7, 8])
    assert (watermark.event(0, SHARDS), watermark.event(1, SHARDS)) == (7, -1)
    watermark.rise(0, [5, 9])
    assert [watermark.event(0, shards) for shards in (SHARDS, [0], [1])] == [7, 7, 9]
    watermark.rise(1, [5, 5])
    assert (watermark.event(0, SHARDS), watermark.event(1, SHARDS)) == (-1, 5)


def test_what_any_shard_had_is_remembered_within_an_epoch() -> None:
    watermark = Watermark()
    assert watermark.furthest(0) == -1
    watermark.rise(0, [7, 9])
    watermark.rise(0, [5, 5])
    assert (watermark.furthest(0), watermark.furthest(1)) == (9, -1)
    watermark.rise(1, [5, 6])
    assert (watermark.furthest(0), watermark.furthest(1)) == (-1, 6)


def test_a_waiting_thread_goes_on_once_the_event_is_published() -> None:
    watermark, passed = Watermark(), threading.Event()
    watermark.rise(3, [7, 7])
    assert watermark.wait(3, 7, SHARDS, lambda: True)

    def wait() -> None:
        if watermark.wait(3, 9, [1], lambda: True):
            passed.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while watermark.wanted(9) != {1}:
        pass
    assert watermark.wanted(8) == set()
    watermark.rise(3, [9, 8])
    watermark.rise(2, [20, 20])
    assert not passed.wait(0.05)
    watermark.rise(3, [8, 9])
    thread.join()
    assert passed.is_set()
    assert watermark.wanted(9) == set()


def test_only_shards_that_lack_the_event_are_wanted() -> None:
    watermark, goes_on = Watermark(), True
    watermark.rise(0, [7, 9])
    thread = threading.Thread(target=watermark.wait, args=(0, 9, SHARDS, lambda: goes_on))
    thread.start()
    while not watermark.wanted(9):
        pass
    assert watermark.wanted(9) == {0}
    goes_on = False
    thread.join()


def test_a_thread_that_is_told_to_stop_waits_no_longer() -> None:
    watermark = Watermark()
    assert not watermark.wait(0, 1, SHARDS, lambda: False)
    assert watermark.wanted(1) == set()


def test_marks_are_of_the_present_epoch_and_the_latest_events() -> None:
    watermark = Watermark()
    watermark.rise(0, [2], {1: 10, 2: 20})
    assert [watermark.mark(0, event) for event in (1, 2, 3)] == [10, 20, None]
    assert watermark.mark(1, 1) is None
    watermark.rise(0, [MARKS_MAX + 1], dict.fromkeys(range(3, MARKS_MAX + 2), 1))
    assert [watermark.mark(0, event) for event in (1, 2)] == [None, 20]
    watermark.rise(1, [2])
    assert watermark.mark(1, 2) is None
