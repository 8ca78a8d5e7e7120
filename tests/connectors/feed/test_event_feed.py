"""The feed has each event once, in order, whatever comes twice, late or in parts."""

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.feed.event_feed import GAP, FeedEvent, Merge, _take_all, feed
from hive.errors import MachineError
from hive.names import DatabaseName, table_name
from state.records import AnyRecord, Change, Reset, encode
from state.records.actions import (
    AbortTxn,
    AnyAction,
    CreateNames,
    DropTable,
    RenameTable,
    Side,
)
from state.records.objects import TableImage
from state.topic import same_topic
from tests.support.kafka.topics import delete_topic, new_topic, write

SHARDS = 3
Written = tuple[int, AnyRecord]
"""A record and its shard."""


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[Written]]:
    """The ids of events that did something, and the records that publishers wrote of them."""
    seed, count = draw(st.integers(0, 2**32)), draw(st.integers(1, 30))
    random = Random(seed)
    reached = dict.fromkeys(range(SHARDS), 0)
    written: list[Written] = []
    for event in range(1, count + 1):
        for shard in sorted(random.sample(range(SHARDS), random.randint(0, SHARDS))):
            written += [(shard, part) for part in parts(random, reached[shard], event)]
            reached[shard] = event
        if random.random() < 0.2:
            # Another connector, or a later attempt, sends what came before.
            shard = random.randrange(SHARDS)
            mine = [record for of, record in written if of == shard]
            written += [(shard, record) for record in mine[-random.randint(1, 5) :]]
    written += [(shard, Change(0, upto, count + 1)) for shard, upto in reached.items()]
    done = {record.upto for _, record in written if isinstance(record, Change) and record.actions}
    return sorted(done), interleaved(random, written)


def parts(random: Random, after: int, upto: int) -> list[Change]:
    count = random.choice((1, 1, 3))
    actions: list[AnyAction] = [AbortTxn(upto * 10 + part) for part in range(count)]
    whole = [Change(0, after, upto, (action,), part, count) for part, action in enumerate(actions)]
    broken_off = whole[: random.randrange(count)]
    return [*broken_off, *whole]


def interleaved(random: Random, written: list[Written]) -> list[Written]:
    """The records of each shard in their order, and the shards in any."""
    queues = [[one for one in written if one[0] == shard] for shard in range(SHARDS)]
    mixed: list[Written] = []
    while any(queues):
        mixed.append(random.choice([queue for queue in queues if queue]).pop(0))
    return mixed


def merged(written: list[Written], shards: int = SHARDS) -> list[FeedEvent]:
    merge = Merge(range(shards))
    events: list[FeedEvent] = []
    for shard, record in written:
        merge.take(shard, record, "TYPE", 1000)
        events += merge.ready()
    return events


@given(histories())
def test_each_event_comes_once_and_in_order(history: tuple[list[int], list[Written]]) -> None:
    done, written = history
    events = merged(written)
    assert [event.place for event in events] == [(0, event_id) for event_id in done]
    for event in events:
        txns = [action.txn for action in event.actions if isinstance(action, AbortTxn)]
        assert txns == sorted(set(txns))
        assert {txn // 10 for txn in txns} == {event.place[1]}


def test_an_event_waits_for_the_slowest_shard() -> None:
    merge = Merge(range(2))
    merge.take(0, Change(0, 0, 5, (AbortTxn(1),)), "ABORT_TXN", 1)
    assert merge.behind() == [1]
    assert not list(merge.ready())
    merge.take(1, Change(0, 0, 4), "", 1)
    assert not list(merge.ready())
    merge.take(1, Change(0, 4, 6), "", 1)
    assert [event.place for event in merge.ready()] == [(0, 5)]
    assert merge.behind() == [0]


def test_both_halves_of_a_rename_are_one_action() -> None:
    old, new = table_name(None, "db", "old"), table_name(None, "db", "new")
    image = TableImage(new, 1, 0, False, False, b"data")
    written: list[Written] = [
        (shard, Change(0, 0, 1, (RenameTable(old, image, side),)))
        for shard, side in enumerate((Side.OLD, Side.NEW))
    ]
    [event] = merged(written, 2)
    assert event.actions == (RenameTable(old, image, Side.BOTH),)


def test_parts_of_which_one_is_lost_are_no_event_until_all_come_again() -> None:
    parts = [Change(0, 0, 1, (AbortTxn(number),), number, 3) for number in range(3)]
    broken_off: list[Written] = [(0, parts[0]), (0, parts[2])]
    assert merged(broken_off, 1) == []
    [event] = merged([*broken_off, *((0, part) for part in parts)], 1)
    assert event.actions == (AbortTxn(0), AbortTxn(1), AbortTxn(2))


def test_parts_of_two_publishers_are_one_event() -> None:
    """The fold joins them, too, though one of the publishers has ended before its last part."""
    first, second, third = (Change(0, 4, 5, (AbortTxn(of),), of, 3) for of in range(3))
    before, after = Change(0, 3, 4, (AbortTxn(4),)), Change(0, 5, 6)
    written: list[Written] = [
        (0, record) for record in (before, first, second, first, third, after)
    ]
    events = merged(written, 1)
    assert [event.place for event in events] == [(0, 4), (0, 5)]
    assert events[1].actions == (AbortTxn(0), AbortTxn(1), AbortTxn(2))


def test_of_several_resets_of_an_epoch_the_first_one_counts() -> None:
    """As in the fold. Two connectors have seen the log at different events."""
    written: list[Written] = [
        (0, Reset(1, 7)),
        (0, Reset(1, 9)),
        (0, Change(1, 7, 8, (AbortTxn(8),))),
        (0, Change(1, 8, 10, (AbortTxn(10),))),
    ]
    assert [(event.type, event.place) for event in merged(written, 1)] == [
        ("TYPE", (1, 8)),
        ("TYPE", (1, 10)),
    ]


@pytest.mark.parametrize("forged", [Reset(1 << 40, 0), Change(1 << 40, 0, 9)])
def test_an_epoch_that_follows_none_begins_none(forged: AnyRecord) -> None:
    first, second = (Change(3, at - 1, at, (AbortTxn(at),)) for at in (1, 2))
    for written in ([first, forged, second], [forged, first, second]):
        events = merged([(0, record) for record in written], 1)
        assert [event.place for event in events] == [(3, 1), (3, 2)]


def test_a_first_event_that_never_becomes_whole_is_a_gap() -> None:
    parted = Change(0, 0, 1, (AbortTxn(1),), 0, 2)
    written: list[Written] = [(0, parted), (0, Change(0, 1, 2, (AbortTxn(2),)))]
    events = merged(written, 1)
    assert [(event.type, event.place) for event in events] == [(GAP, (0, 1)), ("TYPE", (0, 2))]


class Message(NamedTuple):
    """A message of the first partition."""

    data: bytes

    def value(self) -> bytes:
        return self.data

    def headers(self) -> None:
        return None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 0

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000


def test_a_record_that_cannot_be_read_is_a_gap() -> None:
    merge = Merge([0])
    records = encode(Change(0, 0, 1, (AbortTxn(1),))), b"?", encode(Change(0, 2, 3))
    _take_all(merge, map(Message, records))
    assert [(event.type, event.place) for event in merge.ready()] == [("", (0, 1)), (GAP, (0, 2))]


def test_lines_of_lists_are_left_out() -> None:
    names = CreateNames(DatabaseName("hive", "db"))
    dropped = DropTable(table_name(None, "db", "t"))
    written: list[Written] = [
        (0, Change(0, 0, 1, (names,))),
        (0, Change(0, 1, 2, (names, dropped))),
    ]
    [event] = merged(written, 1)
    assert event == FeedEvent((0, 2), "TYPE", 1000, (dropped,))


def test_a_gap_is_told_once_and_in_its_place() -> None:
    lost: list[Written] = [
        (shard, record)
        for record in (Change(0, 0, 1, (AbortTxn(1),)), Change(0, 4, 5, (AbortTxn(5),)))
        for shard in range(2)
    ]
    events = merged(lost, 2)
    assert [(event.place, event.type, event.after) for event in events] == [
        ((0, 1), "TYPE", None),
        ((0, 4), GAP, 1),
        ((0, 5), "TYPE", None),
    ]


def test_a_gap_has_a_place_of_its_own_before_the_event_at_its_end() -> None:
    """Of several shards that lack what ends there, it tells all, whichever comes first."""
    lost: list[Written] = [
        *((shard, Change(0, 0, 3 + shard, (AbortTxn(3 + shard),))) for shard in range(3)),
        *((shard, Change(0, 10, 11, (AbortTxn(11),))) for shard in range(2)),
        (2, Change(0, 5, 10, (AbortTxn(10),))),
        (2, Change(0, 10, 11)),
    ]
    for written in (lost, [*lost[:3], lost[4], lost[3], *lost[5:]]):
        events = merged(written)
        assert [(event.type, event.place, event.after) for event in events] == [
            ("TYPE", (0, 3), None),
            ("TYPE", (0, 4), None),
            ("TYPE", (0, 5), None),
            (GAP, (0, 10), 3),
            ("TYPE", (0, 10), None),
            ("TYPE", (0, 11), None),
        ]
        positions = [event.position for event in events]
        assert positions == sorted(set(positions))


def test_a_new_epoch_follows_the_one_before() -> None:
    written: list[Written] = [
        (0, Change(0, 0, 90, (AbortTxn(1),))),
        (0, Reset(1, 7)),
        (0, Change(0, 90, 91, (AbortTxn(2),))),
        (0, Change(1, 7, 8, (AbortTxn(3),))),
    ]
    assert [event.place for event in merged(written, 1)] == [(0, 90), (1, 8)]


def test_a_follower_of_a_topic_that_is_created_anew_is_told(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: [Change(0, 0, 1, (AbortTxn(1),))]})
    events = feed(topic, ever=True)
    assert next(events).place == (0, 1)
    delete_topic(kafka_broker, topic.name)
    new_topic(kafka_broker, 1, topic.name)
    monkeypatch.setattr(same_topic, "SAME_TOPIC_S", 0.01)
    with pytest.raises(MachineError, match="created anew"):
        next(events)
