"""What operators' orders become in the events topic."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors import topic_admin
from connectors.log.last_event import LastEvent
from connectors.orders import obey
from connectors.publish import tails
from connectors.publish.headers import RecordKind
from hive.errors import RecordFormatError
from hive.names import TableName
from state.records import Pause, Reset, ResetTable, Scope, ScopeKind, SetLists, Skip
from state.records.numbers import NATURAL_MAX
from state.records.routing import table_shard
from state.records.signals import (
    AnySignal,
    Ask,
    BeginEpoch,
    Choose,
    Forget,
    Order,
    PassOver,
    Serve,
    decode_signal,
    encode_signal,
    signal_key,
)
from tests.connectors.connector_runs import new_topic, read

TABLE = TableName("hive", "db", "t")
LAST = LastEvent(99, b"12345678", 7)
NUMBERS = st.integers(0, 2**63 - 1)
SCOPES = st.builds(Scope)
SIGNALS: st.SearchStrategy[AnySignal] = (
    st.builds(Forget, epoch=NUMBERS)
    | st.builds(BeginEpoch, epoch=NUMBERS)
    | st.builds(Choose, epoch=NUMBERS, above=NUMBERS)
    | st.builds(Serve, epoch=NUMBERS, above=NUMBERS)
    | st.builds(PassOver, NUMBERS, st.integers(0, 2**32 - 1), NUMBERS, NUMBERS)
    | st.builds(Ask, epoch=NUMBERS, scope=SCOPES, floor=NUMBERS)
)


def test_orders_are_written_to_the_shards_that_they_concern(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 3)
    topic_admin.create(events)
    orders: list[Order] = [
        Forget(2, TABLE, load=False),
        Choose(2, 0, ("db.*",), ()),
        Serve(2, 40, paused=True),
        Serve(2, 41, paused=False),
    ]
    for offset, order in enumerate(orders, 7):
        obey(events, 5, order, offset, lambda: LAST)
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
    obey(events, 0, Serve(0, NATURAL_MAX, paused=False), 3, lambda: LAST)
    obey(events, 0, Choose(0, NATURAL_MAX - 1, (), ()), 4, lambda: LAST)
    resumed, chosen = Pause(0, NATURAL_MAX, paused=False), SetLists(0, NATURAL_MAX, (), ())
    assert [message.record for message in read(events)] == 2 * [resumed, chosen]


def test_an_order_begins_an_epoch_above_what_any_shard_has(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 2)
    topic_admin.create(events)
    for highest in (5, 8, 4, 1 << 62):
        obey(events, 5, BeginEpoch(highest), 3, lambda: LAST)
    records = [Reset(6, 99, 7), Reset(9, 99, 7), Reset(6, 99, 7)]
    assert [message.record for message in read(events)] == 2 * records
    assert tails.find(events).epoch == 9


def test_an_order_to_skip_goes_to_its_shard_alone(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 2)
    topic_admin.create(events)
    for shard in (1, 2):
        obey(events, 5, PassOver(3, shard, 7, 9), 4, lambda: LAST)
    [message] = read(events)
    assert (message.shard, message.record) == (1, Skip(5, 7, 9))


@pytest.mark.parametrize("order", [Serve(0, 1 << 63, paused=False), Choose(0, 1 << 63, (), ())])
def test_a_version_that_no_order_has_is_refused(order: Order) -> None:
    with pytest.raises(RecordFormatError, match="int"):
        decode_signal(encode_signal(order))


@given(SIGNALS)
def test_signals_survive_the_topic(signal: AnySignal) -> None:
    assert decode_signal(encode_signal(signal)) == signal


def test_what_concerns_a_table_has_one_key_and_what_concerns_all_another() -> None:
    ask = signal_key(Ask(0, Scope(ScopeKind.TABLE, TABLE), 3))
    assert ask == signal_key(Forget(1, TABLE, load=True))
    assert ask != signal_key(Forget(1, TABLE._replace(table="u"), load=True))
    assert signal_key(Serve(0, 1, paused=True)) == signal_key(Choose(0, 2, (), ())) != ask


def test_a_reset_of_an_earlier_release_asks_for_a_load() -> None:
    old = msgspec.msgpack.encode(["ct", 1, 7, ["hive", "db", "t"]])
    assert msgspec.msgpack.decode(old, type=ResetTable) == ResetTable(1, 7, TABLE, load=True)
