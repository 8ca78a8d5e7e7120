"""Messages that real metastores of today hardly write."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from hive.events import event_types, object_fields, objects, parsed_objects, stored_objects
from hive.events.accuracy import after_statistics
from hive.events.decode import decode
from hive.events.decode_partitions import _altered, _ordered
from hive.events.row import NotificationRow
from hive.names import DEFAULT_PARTITION
from hive.thrift.binary import decode as decode_struct
from hive.thrift.structs import PARTITION, TABLE
from tests.hive.events.logs import notification_rows


def row_of(event_type: str) -> NotificationRow:
    rows = notification_rows("every-event-json")
    return next(row for row in rows if row.event_type == event_type)


def without(row: NotificationRow, *fields: str) -> NotificationRow:
    message = json.loads(row.message)
    for field in fields:
        del message[field]
    return replace(row, message=json.dumps(message))


def test_statistics_come_with_the_table_or_without_it() -> None:
    row = row_of("UPDATE_TBL_COL_STAT_EVENT")
    whole, alone = decode(row), decode(without(row, "tableObjJson"))
    assert isinstance(whole, event_types.UpdateTableStatistics)
    assert isinstance(alone, event_types.UpdateTableStatistics)
    assert whole.image is not None
    assert alone.image is None
    assert alone.columns == whole.columns
    message = json.loads(row.message)
    parameters = object_fields.parameters(parsed_objects.load_table(message["tableObjJson"]))
    of_table = decode(without(row, "parameters"))
    assert isinstance(of_table, event_types.UpdateTableStatistics)
    assert of_table.image is not None
    assert decode_struct(TABLE, of_table.image.data)["parameters"] == parameters


def test_events_about_partitions_need_not_tell_the_table() -> None:
    assert objects.table_before(None) is None
    row = row_of("DROP_PARTITION")
    whole, alone = decode(row), decode(without(row, "tableObjJson"))
    assert isinstance(whole, event_types.DropPartitions)
    assert isinstance(alone, event_types.DropPartitions)
    assert (alone.table_before, alone.values) == (None, whole.values)
    assert _ordered(None, {"b": "2", "A": None}) == ("2", DEFAULT_PARTITION)


def test_a_partition_of_which_the_event_tells_no_write_id_has_none() -> None:
    value = {"1": {"lst": ["str", 1, "a"]}, "10": {"i64": 7}}
    assert [_altered(value, tells_ids).write_id for tells_ids in (True, False)] == [7, -1]
    data = _altered(value, tells_ids=False).data
    assert decode_struct(PARTITION, data)["writeId"] == -1


@pytest.mark.parametrize("text", ["{half", "[]", "{}", '{"2":{"i32":1}}', '{"2":{"str":"x"}}'])
def test_what_is_no_descriptor_has_no_shape(text: str) -> None:
    assert parsed_objects._shape(text) is None


def test_few_shapes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes: dict[str, Any] = {}
    monkeypatch.setattr(parsed_objects, "_shapes", shapes)
    monkeypatch.setattr(parsed_objects, "_SHAPES_MAX", 2)
    texts = [f'{{"2":{{"str":""}},"3":{{"str":"{number}"}}}}' for number in range(3)]
    for text in texts:
        assert parsed_objects._shape(text) is not None
    assert list(shapes) == texts[2:]


def test_an_object_without_a_descriptor_keeps_no_classes_of_one() -> None:
    before = {"7": {"rec": {"7": {"rec": {"5": {"str": "a.Serializer"}}}}}}
    assert stored_objects._with_serde_classes({}, before, "7") == {}


def test_only_a_remote_database_has_a_connector() -> None:
    native = {"1": {"str": "d"}, "12": {"str": "postgres"}}
    remote = {**native, "11": {"i32": 2}}
    assert stored_objects.created_database(native) == {"1": {"str": "d"}}
    assert stored_objects.created_database(remote) == remote


FLAG = "COLUMN_STATS_ACCURATE"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{half", '{"BASIC_STATS":"true"}'),
        (f'{{"x":{"[" * 1500}{"]" * 1500}}}', '{"BASIC_STATS":"true"}'),
        (None, "{half"),
        (None, "[]"),
    ],
)
def test_a_flag_that_can_not_be_read_tells_nothing(before: str | None, after: str) -> None:
    old = {} if before is None else {FLAG: before}
    assert after_statistics(old, {FLAG: after}, ("c",), transactional=False) is None
