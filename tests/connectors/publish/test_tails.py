"""Positions from what a topic holds, from the headers of its records alone."""

import pytest

from connectors.publish.headers import RecordHeaders, RecordKind, read, write
from connectors.publish.published_history import PublishedEvent
from connectors.publish.tails import WINDOW_RECORDS, Tail, _together

HASH = b"12345678"


def tail(*heads: RecordHeaders) -> tuple[int, int]:
    found = Tail()
    for head in heads:
        found.see(head, 0)
    return found.epoch, found.upto


def change(upto: int, epoch: int = 0) -> RecordHeaders:
    return RecordHeaders(RecordKind.CHANGE, epoch, upto, "ALTER_TABLE", HASH)


def reset(at: int, epoch: int) -> RecordHeaders:
    return RecordHeaders(RecordKind.RESET, epoch, at)


@pytest.mark.parametrize(
    "head", [change(7), reset(3, 2), RecordHeaders(RecordKind.PART, 0, 9, "X")]
)
def test_what_is_written_is_read(head: RecordHeaders) -> None:
    assert read(write(head)) == head


def test_what_is_not_ours_is_not_read() -> None:
    assert read(None) is None
    assert read([("kind", b"change")]) is None
    assert read([("kind", b"song"), ("epoch", b"1"), ("upto", b"1")]) is None


def test_the_furthest_change_counts() -> None:
    assert tail(change(5), change(8), change(6)) == (0, 8)


def test_what_moves_no_position_is_passed_over() -> None:
    assert tail(
        change(5), RecordHeaders(RecordKind.PART, 0, 9, "X"), RecordHeaders(RecordKind.LOAD, 0, 50)
    ) == (0, 5)


def test_records_that_tell_of_no_event_do_not_hide_those_that_do() -> None:
    enough = WINDOW_RECORDS // 2
    tail = Tail()
    for head in (change(1), *[RecordHeaders(RecordKind.CONTROL, 0)] * enough):
        tail.see(head, 0)
    assert tail.found
    assert not tail.is_enough
    for event in range(2, 1 + enough):
        tail.see(change(event), 0)
    assert tail.is_enough


def test_a_later_epoch_counts_more_than_a_greater_id() -> None:
    assert tail(change(50), reset(20, 1), change(51)) == (1, 20)
    assert tail(change(50), change(21, 1), change(51)) == (1, 21)


def test_of_two_resets_to_one_epoch_the_first_counts_as_in_the_fold() -> None:
    assert tail(reset(20, 1), reset(23, 1)) == (1, 20)
    assert tail(reset(20, 1), change(21, 1), reset(23, 1)) == (1, 21)


def test_an_epoch_that_no_connector_can_have_begun_is_passed_over() -> None:
    assert tail(change(50), reset(20, 1 << 62), change(51)) == (0, 51)
    assert tail(change(50), change(51, 1 << 62)) == (0, 50)
    assert tail(reset(20, 1 << 62), change(51, 2), change(52, 2)) == (2, 52)


def test_what_a_load_has_seen_is_known_in_its_epoch() -> None:
    """The event may have been lost before anybody published it."""
    end = RecordHeaders(RecordKind.LOAD, 1, 8, "end")
    tail = Tail()
    for head in (reset(3, 1), change(5, 1), end):
        tail.see(head, 0)
    together = _together({0: tail}, {0: 9})
    assert (together.upto, together.furthest) == ((5,), PublishedEvent(5, HASH))
    assert together.loaded == 8
    tail.see(reset(4, 2), 0)
    assert _together({0: tail}, {0: 9}).loaded == 0


@pytest.mark.parametrize("heads", [[change(41)], []])
def test_a_load_before_the_first_change_counts(heads: list[RecordHeaders]) -> None:
    """A topic's first records are those of loads, or a search begins among them."""
    seen = Tail()
    for head in (RecordHeaders(RecordKind.LOAD, 0, 50, "end"), *heads):
        seen.see(head, 0)
    assert _together({0: seen}, {0: 9}).loaded == 50


def test_the_last_event_of_a_load_is_compared_where_no_record_tells_a_position() -> None:
    """In a topic that was created anew, loads may be all that there is."""
    end = RecordHeaders(RecordKind.LOAD, 0, 6, "end", HASH)
    loaded, empty = Tail(), Tail()
    for head in (RecordHeaders(RecordKind.LOAD, 0, 0, "begin"), end, end._replace(epoch=3)):
        loaded.see(head, 0)
    together = _together({0: loaded, 1: empty}, {0: 9, 1: 0})
    assert together.published == {PublishedEvent(6, HASH)}
    assert together.upto == (0, 0)
    for head in (change(7), reset(3, 1)):
        loaded.see(head, 1)
    assert _together({0: loaded, 1: empty}, {0: 9, 1: 0}).published == set()


def test_all_hashes_of_the_epoch_are_found() -> None:
    """Two connectors may have published different events with one id."""
    other = change(6, 1)._replace(hash=b"87654321")
    shards = Tail(), Tail()
    for head in (change(4), reset(3, 1), change(5, 1), change(6, 1), change(7, 1)):
        shards[0].see(head, 0)
    for head in (reset(3, 1), other, change(6, 1)._replace(hash=None), change(7)):
        shards[1].see(head, 0)
    assert _together(dict(enumerate(shards)), {0: 9, 1: 9}).published == {
        *(PublishedEvent(event, HASH) for event in (5, 6, 7)),
        PublishedEvent(6, b"87654321"),
    }


def test_the_event_after_which_an_epoch_began_is_known_by_its_hash() -> None:
    shards = Tail(), Tail(), Tail()
    shards[0].see(reset(3, 1)._replace(hash=HASH), 0)
    for head in (reset(3, 1)._replace(hash=b"87654321"), change(4, 1)):
        shards[1].see(head, 0)
    together = _together(dict(enumerate(shards)), {0: 9, 1: 9, 2: 9})
    assert together.behind == (2,)
    assert together.lowest_event in {PublishedEvent(3, HASH), PublishedEvent(3, b"87654321")}
    assert together.published > {PublishedEvent(3, HASH), PublishedEvent(3, b"87654321")}


def test_any_record_is_a_trace_of_its_epoch() -> None:
    """The records that began the epoch may have been deleted."""
    newer, older = Tail(), Tail()
    for head in (change(5), RecordHeaders(RecordKind.LOAD, 3, 0), change(6)):
        newer.see(head, 0)
    older.see(change(6), 0)
    together = _together({0: newer, 1: older}, {0: 9, 1: 9})
    assert (together.epoch, together.upto, together.trace) == (0, (6, 6), 3)


def test_shards_are_together_in_an_epoch_that_a_connector_can_have_begun() -> None:
    def together(*epochs: int) -> tuple[int, tuple[int, ...]]:
        tails = {shard: Tail(epoch, 7) for shard, epoch in enumerate(epochs)}
        joined = _together(tails, dict.fromkeys(tails, 9))
        return joined.epoch, joined.behind

    assert together(3, 3) == (3, ())
    assert together(3, 4, 3) == (4, (0, 2))
    assert together(3, 1 << 62, 3) == (3, (1,))
    assert together(-1, 1 << 62, -1) == (0, ())
    assert together(-1, -1) == (0, ())


def test_a_change_after_a_reset_counts_in_any_case() -> None:
    assert tail(reset(23, 1), change(22, 1)) == (1, 22)


def test_the_record_that_tells_the_position_is_found_among_others() -> None:
    tail = Tail()
    load = RecordHeaders(RecordKind.LOAD, 1, 50)
    for offset, head in enumerate([change(4), reset(3, 1), load, reset(3, 1), load]):
        tail.see(head, offset)
    assert tail.offset == 1, "the first reset of an epoch counts"
    for offset, head in enumerate([change(5, 1), change(5, 1), load, change(4, 1), load], 5):
        tail.see(head, offset)
    assert tail.offset == 6, "a shard stands at the highest event"
    silent = Tail()
    silent.see(load, 0)
    assert _together({0: tail, 1: silent}, {0: 9, 1: 9}).offsets == (6, None)
