"""What operators' orders become in the events topic."""

from contextlib import AbstractContextManager, closing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors import orders, topic_admin
from connectors.log.last_event import LastEvent
from connectors.orders import OrderWriter
from connectors.publish import tails
from connectors.publish.headers import RecordKind
from connectors.publish.sender import Sender
from hive.errors import PublishError, RecordFormatError
from hive.names import TableName
from state.records import Pause, Reset, ResetTable, Scope, ScopeKind, SetLists, Skip
from state.records.numbers import NATURAL_MAX
from state.records.routing import table_shard
from state.records.signals import (
    AnySignal,
    LoadRequest,
    NewEpochOrder,
    Order,
    PauseOrder,
    ResetTableOrder,
    SetListsOrder,
    SkipOrder,
    decode_signal,
    encode_signal,
    signal_key,
)
from state.topic import Topic
from tests.connectors.connector_runs import new_topic, read

TABLE = TableName("hive", "db", "t")
LAST = LastEvent(99, b"12345678", 7)
NUMBERS = st.integers(0, 2**63 - 1)
SCOPES = st.builds(Scope)
SIGNALS: st.SearchStrategy[AnySignal] = (
    st.builds(ResetTableOrder, epoch=NUMBERS)
    | st.builds(NewEpochOrder, epoch=NUMBERS)
    | st.builds(SetListsOrder, epoch=NUMBERS, above=NUMBERS)
    | st.builds(PauseOrder, epoch=NUMBERS, above=NUMBERS)
    | st.builds(SkipOrder, NUMBERS, st.integers(0, 2**32 - 1), NUMBERS, NUMBERS)
    | st.builds(LoadRequest, epoch=NUMBERS, scope=SCOPES, floor=NUMBERS)
)


def writing(topic: Topic) -> AbstractContextManager[OrderWriter]:
    return closing(OrderWriter(topic, lambda: LAST))


def test_orders_are_written_to_the_shards_that_they_concern(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 3)
    topic_admin.create(events)
    given_orders: list[Order] = [
        ResetTableOrder(2, TABLE, load=False),
        SetListsOrder(2, 0, ("db.*",), ()),
        PauseOrder(2, 40, paused=True),
        PauseOrder(2, 41, paused=False),
    ]
    with writing(events) as writer:
        for offset, order in enumerate(given_orders, 7):
            writer.write(5, order, offset)
    messages = read(events)
    assert {message.head.kind for message in messages} == {RecordKind.CONTROL}
    of_all = [
        SetLists(5, 9, ("db.*",), ()),
        # Greater than what is known, though the signals topic was made anew.
        Pause(5, 41, paused=True),
        Pause(5, 42, paused=False),
    ]
    home = table_shard(TABLE, 3)
    for shard in range(3):
        records = [message.record for message in messages if message.shard == shard]
        own = [ResetTable(5, 99, TABLE, load=False)] if shard == home else []
        assert records == [*own, *of_all]


def test_an_order_above_the_greatest_version_can_be_read(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 2)
    topic_admin.create(events)
    with writing(events) as writer:
        writer.write(0, PauseOrder(0, NATURAL_MAX, paused=False), 3)
        writer.write(0, SetListsOrder(0, NATURAL_MAX - 1, (), ()), 4)
    resumed, chosen = Pause(0, NATURAL_MAX, paused=False), SetLists(0, NATURAL_MAX, (), ())
    assert [message.record for message in read(events)] == 2 * [resumed, chosen]


def test_an_order_begins_an_epoch_above_what_any_shard_has(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 2)
    topic_admin.create(events)
    with writing(events) as writer:
        for highest in (5, 8, 4, 1 << 62):
            writer.write(5, NewEpochOrder(highest), 3)
    records = [Reset(6, 99, 7), Reset(9, 99, 7), Reset(6, 99, 7)]
    assert [message.record for message in read(events)] == 2 * records
    assert tails.find(events).epoch == 9


def test_an_order_to_skip_goes_to_its_shard_alone(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 2)
    topic_admin.create(events)
    with writing(events) as writer:
        for shard in (1, 2):
            writer.write(5, SkipOrder(3, shard, 7, 9), 4)
    [message] = read(events)
    assert (message.shard, message.record) == (1, Skip(5, 7, 9))


def test_a_sender_is_kept_until_it_fails(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class BreakableSender(Sender):
        def __init__(self, topic: Topic) -> None:
            super().__init__(topic)
            self.is_broken = False
            senders.append(self)

        def flush(self) -> None:
            if self.is_broken:
                raise PublishError("broken")
            super().flush()

    events, senders = new_topic(kafka_broker, 2), list[BreakableSender]()
    topic_admin.create(events)
    monkeypatch.setattr(orders, "Sender", BreakableSender)
    order = ResetTableOrder(0, TABLE, load=True)
    with writing(events) as writer:
        writer.write(0, order, 1)
        writer.write(0, order, 2)
        assert len(senders) == 1
        senders[0].is_broken = True
        with pytest.raises(PublishError, match="broken"):
            writer.write(0, order, 3)
        writer.write(0, order, 3)
    assert len(senders) == 2
    records = [message.record for message in read(events)]
    assert set(map(str, records)) == {str(ResetTable(0, 99, TABLE))}
    assert len(records) >= 3


@pytest.mark.parametrize(
    "order", [PauseOrder(0, 1 << 63, paused=False), SetListsOrder(0, 1 << 63, (), ())]
)
def test_a_version_that_no_order_has_is_refused(order: Order) -> None:
    with pytest.raises(RecordFormatError, match="int"):
        decode_signal(encode_signal(order))


def test_texts_that_are_no_utf_8_are_refused() -> None:
    signal = encode_signal(LoadRequest(0, Scope(ScopeKind.TABLE, TABLE), 3))
    with pytest.raises(RecordFormatError, match="utf-8"):
        decode_signal(signal.replace(TABLE.db.encode(), b"\xff" * len(TABLE.db)))


def test_too_many_levels_are_refused() -> None:
    signal = bytearray(encode_signal(PauseOrder(0, 1, paused=False)))
    signal[1] += 1
    with pytest.raises(RecordFormatError, match="recursion"):
        decode_signal(bytes(signal) + b"\x91" * 5000)


@given(SIGNALS)
def test_signals_survive_the_topic(signal: AnySignal) -> None:
    assert decode_signal(encode_signal(signal)) == signal


def test_what_concerns_a_table_has_one_key_and_what_concerns_all_another() -> None:
    ask = signal_key(LoadRequest(0, Scope(ScopeKind.TABLE, TABLE), 3))
    assert ask == signal_key(ResetTableOrder(1, TABLE, load=True))
    assert ask != signal_key(ResetTableOrder(1, TABLE._replace(table="u"), load=True))
    assert (
        signal_key(PauseOrder(0, 1, paused=True)) == signal_key(SetListsOrder(0, 2, (), ())) != ask
    )


def test_a_reset_of_an_earlier_release_asks_for_a_load() -> None:
    old = msgspec.msgpack.encode(["ct", 1, 7, ["hive", "db", "t"]])
    assert msgspec.msgpack.decode(old, type=ResetTable) == ResetTable(1, 7, TABLE, load=True)
