"""Objects whose descriptors are looked up parse to what a parser makes of their whole texts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError
from hive.events.envelope import open_message
from hive.events.parsed_objects import load_partition, load_table
from hive.thrift.shared_descriptor import SharedDescriptor
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.tjson import dumps, loads
from hive.thrift.types import Struct
from tests.hive.events.logs import LOGS, notification_rows
from tests.hive.thrift.objects import values

Load = Callable[[str], Any]

OBJECTS = [(PARTITION, load_partition), (TABLE, load_table)]
REQUIRED: dict[str, dict[str, Any]] = {
    "Partition": {"parameters": {}},
    "Table": {"partitionKeys": []},
}
TABLES = ("tableObjJson", "tableObjBeforeJson", "tableObjAfterJson")
PIECES = [
    '"6":{"rec":',
    '"7":{"rec":',
    ']},"2":{"str":"',
    '},"7":{"map":',
    '},"8":{"lst":["rec",',
    '"2":{"str":"/a"}',
    "null",
    '"',
    "\\",
    "\\u00fc",
    "\x00",
    "}",
    ",",
]
TEXTS = st.sampled_from(["", "/a", "ü", 'q"', "\\", "\x00", *PIECES[:6]])


def outcome(load: Load, text: str) -> Any:
    try:
        return load(text)
    except ThriftError as error:
        return str(error)


def texts(struct: Struct) -> st.SearchStrategy[list[str]]:
    """The texts of objects that differ in the locations, and mostly are as Hive writes them."""

    @st.composite
    def drawn(draw: st.DrawFn) -> list[str]:
        mapping = {**REQUIRED[struct.name], **draw(values(struct))}
        columns = [{"name": draw(TEXTS), "type": draw(TEXTS)}]
        descriptor = {**mapping.get("sd", {}), "cols": columns}
        return [
            dumps(struct, {**mapping, "sd": {**descriptor, "location": location}})
            for location in draw(st.lists(TEXTS, min_size=1, max_size=3))
        ]

    return drawn()


@pytest.mark.parametrize(("struct", "load"), OBJECTS)
@given(st.data())
def test_objects_parse_as_by_themselves(struct: Struct, load: Load, data: st.DataObject) -> None:
    for text in data.draw(texts(struct)):
        assert load(text) == loads(text)


@pytest.mark.parametrize(("struct", "load"), OBJECTS)
@given(st.data())
def test_damaged_texts_parse_as_by_themselves(
    struct: Struct, load: Load, data: st.DataObject
) -> None:
    [text, *_] = data.draw(texts(struct))
    load(text)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 20)))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[end:]
    assert outcome(load, text) == outcome(loads, text)


@pytest.mark.parametrize(("struct", "load", "field"), [(*OBJECTS[0], "6"), (*OBJECTS[1], "7")])
@pytest.mark.parametrize("own", [None, '{"str":"x"}', '{"rec":null}'])
def test_the_descriptor_of_an_object_within_another_is_not_the_other_ones(
    struct: Struct, load: Load, field: str, own: str | None
) -> None:
    described = {"cols": [{"name": "a", "type": "int"}], "location": "/a"}
    inner = dumps(struct, {**REQUIRED[struct.name], "sd": described})
    assert isinstance(load(inner)[field]["rec"], SharedDescriptor)
    text = f'{{"99":{{"rec":{inner}}}' + (f',"{field}":{own}}}' if own else "}")
    assert load(text) == loads(text)


@pytest.mark.parametrize("log", LOGS)
def test_descriptors_of_a_real_log_are_shared(log: str) -> None:
    shapes, objects = set(), 0
    for row in notification_rows(log):
        message = json.loads(open_message(row.message, row.message_format))
        for load, field, parsed in (
            *((load_partition, "6", text) for text in message.get("partitionListJson") or []),
            *((load_table, "7", message[name]) for name in TABLES if message.get(name)),
        ):
            value = load(parsed)
            assert value == loads(parsed)
            descriptor = value[field]["rec"]
            if isinstance(descriptor, SharedDescriptor):
                shapes.add(descriptor.shape)
                objects += 1
    assert objects > 2 * len(shapes) > 0
