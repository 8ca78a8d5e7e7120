"""What operators have ordered holds when the topic is trimmed."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors import carried_orders, topic_admin
from connectors.carried_orders import StandingOrders, carry_orders
from connectors.publish import tails
from state.records import AnyRecord, Change, Pause, SetLists, decode, encode, type_of
from state.records.numbers import NATURAL_MAX
from state.shard_reader import ShardReader
from state.store import MemoryStore
from state.topic import Topic, TopicReader
from state.topic.client import topic_bounds
from tests.support.folding import folded_into
from tests.support.kafka.topics import delete_before, new_topic, write

PAUSE = Pause(0, 7, paused=True)
RESUME = Pause(0, 9, paused=False)
LISTS = SetLists(0, 8, ("*.kept",), ("db.secret",))


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 2)


def changes(count: int) -> list[AnyRecord]:
    return [Change(0, event, event + 1) for event in range(count)]


def records(topic: Topic, shard: int) -> list[AnyRecord]:
    """What the topic has now."""

    def read() -> Iterator[AnyRecord]:
        first, end = topic_bounds(topic)[shard]
        with TopicReader(topic) as reader:
            for batch in reader.read(shard, first, end):
                yield from (decode(record.value) for record in batch)

    return [*read()]


def orders_of(records: list[AnyRecord]) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """The orders that a shard of these records knows."""
    store = MemoryStore()
    txn = store.transaction()
    folded_into(txn, records)
    store.commit(txn, store.position)
    head = ShardReader(store.snapshot()).head
    return head.paused, head.whitelist, head.blacklist


def test_a_trimmed_topic_tells_them(topic: Topic) -> None:
    """Trimmed twice: what was written again is kept again."""
    write(topic, {0: [PAUSE, LISTS], 1: [PAUSE, RESUME]})
    for _ in range(2):
        write(topic, dict.fromkeys((0, 1), changes(2 * tails.WINDOW_RECORDS)))
        ends = {shard: bounds.end for shard, bounds in topic_bounds(topic).items()}
        first = topic_admin.trim(topic, ends)
        assert first == {shard: end - tails.WINDOW_RECORDS for shard, end in ends.items()}
        assert orders_of(records(topic, 0)) == (True, ("*.kept",), ("db.secret",))
        assert orders_of(records(topic, 1)) == (False, (), ())
        ends[0] += 2
        assert {shard: bounds.end for shard, bounds in topic_bounds(topic).items()} == ends


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [
        ([], [PAUSE], []),
        ([PAUSE], [], [PAUSE]),
        ([PAUSE], [Pause(0, 8, paused=True)], []),
        ([PAUSE], [RESUME], []),
        ([RESUME], [PAUSE], [RESUME]),
        ([PAUSE, RESUME], [], []),
        ([Pause(3, 5, paused=True)], [LISTS], [Pause(3, 5, paused=True)]),
    ],
)
def test_only_what_nothing_else_tells_is_written_again(
    topic: Topic, before: list[AnyRecord], after: list[AnyRecord], again: list[AnyRecord]
) -> None:
    written = [*changes(3), *before, *after]
    write(topic, {0: written})
    cuts = {0: 3 + len(before), 1: 0}
    assert carry_orders(topic, cuts) == cuts
    assert records(topic, 0) == [*written, *again]
    assert records(topic, 1) == []


def test_what_nothing_is_above_stays_where_it_is(topic: Topic) -> None:
    write(topic, {0: [*changes(3), Pause(0, NATURAL_MAX, paused=True), *changes(3)]})
    assert carry_orders(topic, {0: 6, 1: 0}) == {0: 3, 1: 0}
    assert len(records(topic, 0)) == 7


def test_nothing_is_read_where_nothing_goes(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    write(topic, {0: [PAUSE, *changes(3)]})
    delete_before(topic, 0, 2)
    monkeypatch.setattr(carried_orders, "_order_in", None)
    assert carry_orders(topic, {0: 2, 1: 0}) == {0: 2, 1: 0}


versions = st.sampled_from([0, 1, 2, 3, NATURAL_MAX])
orders = st.one_of(
    st.builds(Pause, st.integers(0, 2), versions, st.booleans()),
    st.builds(
        SetLists, st.integers(0, 2), versions, st.sampled_from([(), ("a",)]), st.just(("b",))
    ),
)


@given(st.lists(orders))
def test_they_hold_as_the_fold_says(made: list[Pause | SetLists]) -> None:
    standing = StandingOrders()
    for offset, order in enumerate(made):
        standing.see(offset, order)
    pause, lists = standing.orders[Pause][1], standing.orders[SetLists][1]
    assert isinstance(pause, Pause)
    assert isinstance(lists, SetLists)
    assert (pause.paused, lists.whitelist, lists.blacklist) == orders_of([*made])


def test_what_can_not_be_read_is_no_order() -> None:
    order = encode(Pause(0, 7, paused=True))
    assert carried_orders._order_in(order) == Pause(0, 7, paused=True)
    damaged = [bytes([*order[:at], order[at] ^ 1, *order[at + 1 :]]) for at in range(len(order))]
    of_its_type = [value for value in damaged if type_of(value) == "Pause"]
    assert of_its_type
    assert None in [carried_orders._order_in(value) for value in of_its_type]
