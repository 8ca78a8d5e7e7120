"""TJSON and the canonical bytes say the same."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol import TBinaryProtocol
from thrift.Thrift import TType
from thrift.transport import TTransport

from hive.errors import ThriftError
from hive.events.envelope import open_message
from hive.thrift.binary import decode, encode
from hive.thrift.json_writers import json_writer
from hive.thrift.structs import (
    COLUMN_STATISTICS_OBJ,
    DATABASE,
    FIELD_SCHEMA,
    PARTITION,
    SKEWED_INFO,
    STORAGE_DESCRIPTOR,
    TABLE,
)
from hive.thrift.tjson import dumps, loads, transcode, transcode_value
from hive.thrift.types import CODES, Struct
from tests.hive.events.logs import LOGS, rows
from tests.hive.thrift.objects import STRUCT_AND_OBJECT, values

SCALARS = {
    TType.BOOL: "readBool",
    TType.BYTE: "readByte",
    TType.I16: "readI16",
    TType.I32: "readI32",
    TType.I64: "readI64",
    TType.DOUBLE: "readDouble",
    TType.STRING: "readString",
}


def by_library(data: bytes) -> Any:
    """A struct read by the thrift package: {id: value}, maps as sorted pairs."""
    return library_value(TBinaryProtocol.TBinaryProtocol(TTransport.TMemoryBuffer(data)), 12)


def library_value(protocol: Any, code: int) -> Any:
    if code in SCALARS:
        return getattr(protocol, SCALARS[code])()
    if code == TType.STRUCT:
        fields = {}
        while (header := protocol.readFieldBegin())[1] != TType.STOP:
            fields[header[2]] = library_value(protocol, header[1])
        return fields
    if code == TType.MAP:
        key, value, count = protocol.readMapBegin()
        pairs = (
            (library_value(protocol, key), library_value(protocol, value)) for _ in range(count)
        )
        return sorted(pairs)
    item, count = protocol.readListBegin()
    return [library_value(protocol, item) for _ in range(count)]


def by_json(kind: str, value: Any) -> Any:
    """The same from parsed TJSON."""
    if kind == "rec":
        return {int(id_): by_json(*one(typed)) for id_, typed in value.items()}
    if kind in ("lst", "set"):
        return [by_json(value[0], item) for item in value[2:]]
    if kind == "map":
        return sorted((by_json(value[0], k), by_json(value[1], v)) for k, v in value[3].items())
    return bool(value) if kind == "tf" else value


def one(typed: dict[str, Any]) -> tuple[str, Any]:
    ((kind, value),) = typed.items()
    return kind, value


@given(STRUCT_AND_OBJECT)
def test_tjson_and_the_mapping_that_it_holds_have_the_same_bytes(
    case: tuple[Struct, dict[str, Any]],
) -> None:
    struct, mapping = case
    assert transcode(struct, dumps(struct, mapping)) == encode(struct, mapping)


@given(STRUCT_AND_OBJECT)
def test_canonical_bytes_are_a_fixed_point(case: tuple[Struct, dict[str, Any]]) -> None:
    struct, mapping = case
    data = encode(struct, mapping)
    assert encode(struct, decode(struct, data)) == data


@given(values(DATABASE))
def test_without_a_description_everything_is_carried_over(mapping: dict[str, Any]) -> None:
    assert decode(DATABASE, transcode(None, dumps(DATABASE, mapping))) == mapping


@given(values(STORAGE_DESCRIPTOR), st.text("/abc", max_size=5), st.text("/abc", max_size=5))
def test_a_remembered_descriptor_differs_by_its_location_alone(
    descriptor: dict[str, Any], one: str, other: str
) -> None:
    for location in (one, other):
        mapping = {**descriptor, "location": location}
        again = dumps(STORAGE_DESCRIPTOR, mapping)
        assert transcode(STORAGE_DESCRIPTOR, again) == encode(STORAGE_DESCRIPTOR, mapping)


@pytest.mark.parametrize("log", LOGS)
def test_the_thrift_package_reads_from_our_bytes_what_the_log_says(log: str) -> None:
    count = 0
    for row in rows(log):
        message = loads(open_message(row["MESSAGE"], row["MESSAGE_FORMAT"]))
        for field, objects_of_field in message.items():
            texts = objects_of_field if isinstance(objects_of_field, list) else [objects_of_field]
            if "Json" in field:
                for text in filter(None, texts):
                    value = loads(text)
                    assert by_library(transcode(None, text)) == by_json("rec", value)
                    count += 1
    assert count > 50


def test_binary_fields_are_base64_without_padding() -> None:
    obj = {"colName": "a", "statsData": {"longStats": {"numNulls": 1, "bitVectors": b"HL\xff\x01"}}}
    text = dumps(COLUMN_STATISTICS_OBJ, obj)
    assert '"5":{"str":"SEz/AQ"}' in text
    assert decode(COLUMN_STATISTICS_OBJ, transcode(COLUMN_STATISTICS_OBJ, text)) == obj


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_texts(number: str) -> None:
    obj = {"statsData": {"doubleStats": {"lowValue": float(number)}}}
    text = dumps(COLUMN_STATISTICS_OBJ, obj)
    assert f'"{number}"' in text
    back = decode(COLUMN_STATISTICS_OBJ, transcode(COLUMN_STATISTICS_OBJ, text))
    assert repr(back["statsData"]["doubleStats"]["lowValue"]) == repr(float(number))


def test_lists_as_keys_are_read_although_they_are_no_json() -> None:
    text = (
        '{"1":{"lst":["str",1,"a"]},"3":{"map":["lst","str",2,'
        '{["str",1,"z"]:"file:/z",["str",1,"b"]:"file:/b"}]}}'
    )
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(text)
    skewed = decode(SKEWED_INFO, transcode(SKEWED_INFO, text))
    assert skewed["skewedColValueLocationMaps"] == {("b",): "file:/b", ("z",): "file:/z"}


def test_control_characters_may_stand_unescaped() -> None:
    text = '{"1":{"str":"a\tb\x01"},"2":{"str":"int"}}'
    assert decode(FIELD_SCHEMA, transcode(FIELD_SCHEMA, text))["name"] == "a\tb\x01"


def test_unknown_fields_stand_in_their_place() -> None:
    unknown = '"40":{"map":["i32","lst",1,{"7":["dbl",2,1.5,2.0]}]},"2":{"str":"int"}'
    data = transcode(FIELD_SCHEMA, '{"50":{"rec":{"1":{"tf":1}}},"1":{"str":"A"},' + unknown + "}")
    fields = by_library(data)
    assert fields == {1: "a", 2: "int", 40: [(7, [1.5, 2.0])], 50: {1: True}}
    assert list(fields) == sorted(fields)
    assert encode(FIELD_SCHEMA, decode(FIELD_SCHEMA, data)) == data


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        '{"1":"x"}',
        '{"1":{"i32":1}}',
        '{"1":{"str":1}}',
        '{"1":{"str":"x","i32":1,"zz":2},"9":{}}',
        '{"9":{"str":"x","i32":1}}',
        '{"9":{"no":1}}',
        '{"x":{"str":"x"}}',
        '{"99999":{"str":"x"}}',
        '{"9":{"lst":["str",3,"x"]}}',
        '{"9":{"i32":99999999999}}',
        '{"9":{"i32":"1"}}',
        '{"9":{"tf":7}}',
        '{"1":{"str":"x"}} {}',
        '{"1":{"str":"\\ud800"}}',
        '{"9":' + '{"rec":{"1":' * 200 + '{"tf":1}' + "}}" * 200 + "}",
        "[" * 100_000,
        '{["str",1,{"a":1}]:1}',
    ],
)
def test_what_is_no_struct_is_refused(text: str) -> None:
    with pytest.raises(ThriftError):
        transcode(FIELD_SCHEMA, text)


@pytest.mark.parametrize(
    ("struct", "text"),
    [
        (PARTITION, '{"1":{"lst":["str",2,"a"]}}'),
        (PARTITION, '{"1":{"lst":["i32",1,"a"]}}'),
        (PARTITION, '{"1":{"lst":[]}}'),
        (PARTITION, '{"7":{"map":["str","str",2,{"a":"b"}]}}'),
        (PARTITION, '{"7":{"map":["str","i32",1,{"a":"b"}]}}'),
        (PARTITION, '{"6":{"rec":[]}}'),
        (TABLE, '{"9":{"map":["str","str",1,{"transactional":1}]}}'),
        (TABLE, '{"9":{"map":[]}}'),
        (COLUMN_STATISTICS_OBJ, '{"3":{"rec":{"2":{"rec":{"5":{"str":"*"}}}}}}'),
    ],
)
def test_wrong_types_within_are_refused(struct: Struct, text: str) -> None:
    with pytest.raises(ThriftError, match=f"no {struct.name}"):
        transcode(struct, text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from([*"123567", *CODES, "x"]), inner, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_nothing_but_our_error_comes_of_any_json(value: Any) -> None:
    for struct in (TABLE, PARTITION, None):
        try:
            transcode_value(struct, value)
        except ThriftError:
            continue


def test_writers_are_made_once() -> None:
    assert json_writer(TABLE) is json_writer(TABLE)


@pytest.mark.parametrize("text", ['["\\ud800"]', '{"\\udc00": 1}', '{[1]: "\\uD8ff"}'])
def test_half_of_a_surrogate_pair_is_no_text(text: str) -> None:
    with pytest.raises(ThriftError, match="no JSON"):
        loads(text)
    assert loads('["\\ud83d\\ude00"]') == ["😀"]


@pytest.mark.parametrize(
    ("struct", "mapping", "why"),
    [
        (FIELD_SCHEMA, {"nme": "a"}, "FieldSchema has no field 'nme'"),
        (TABLE, {"parameters": 5}, "a mapping that is no Table"),
    ],
)
def test_a_mapping_that_is_no_struct_has_no_text(
    struct: Struct, mapping: dict[str, Any], why: str
) -> None:
    with pytest.raises(ThriftError, match=why):
        dumps(struct, mapping)
