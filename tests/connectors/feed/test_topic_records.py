import pytest

from connectors.feed.topic_records import _messages, touches
from hive.names import table_name
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    Reread,
    ResetTable,
    Rows,
    Scope,
    ScopeKind,
)
from state.records.actions import AlterPartition, AnyAction, PutName, RenameTable, Side
from state.records.objects import NameImage, PartitionImage, TableImage
from tests.support.kafka.topics import new_topic, write

NEW, OLD = table_name(None, "db", "new"), table_name(None, "db", "old")
OTHER = table_name(None, "db", "other")
PARTITION = PartitionImage(("a", "b", "c"), 1, 1, b"")


def change(action: AnyAction) -> Change:
    return Change(0, 1, 2, (action,))


def test_a_rename_touches_both_names() -> None:
    renamed = change(RenameTable(OLD, TableImage(NEW, 1, 0, False, True, b""), Side.BOTH))
    assert [touches(renamed, name) for name in (NEW, OLD, OTHER)] == [True, True, False]


def test_a_partition_whose_values_read_like_a_table_does_not_touch_it() -> None:
    altered = change(AlterPartition(NEW, 1, tuple(OLD), None, PARTITION, truncates=False))
    assert touches(altered, NEW)
    assert not touches(altered, OLD)


def test_a_line_in_a_list_of_names_does_not_touch_the_table() -> None:
    assert not touches(change(PutName(NEW.database, NameImage("new", "", None, None, 1))), NEW)


SCOPE = Scope(ScopeKind.TABLE, NEW)


@pytest.mark.parametrize(
    "record",
    [
        LoadBegin(0, "load", SCOPE),
        LoadEnd(0, "load", SCOPE, 1, 1, 0),
        ResetTable(0, 1, NEW, load=True),
        Reread(0, NEW, 1, 7, (("a",),), Rows()),
    ],
)
def test_loads_and_orders_touch_their_table(record: AnyRecord) -> None:
    assert [touches(record, name) for name in (NEW, OLD)] == [True, False]


def test_a_follower_gets_what_comes_later(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    write(topic, {0: [Change(0, 0, 1)]})
    messages = _messages(topic, [0], ever=True)
    assert next(messages).offset() == 0
    write(topic, {0: [Change(0, 1, 2)]})
    assert next(messages).offset() == 1
    del messages
