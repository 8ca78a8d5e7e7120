"""Functions that append the canonical bytes of TJSON values, one for each type."""

from base64 import b64decode
from collections.abc import Sized
from functools import cache, lru_cache
from typing import Any

from hive.errors import ThriftError
from hive.thrift.canonical import table_form
from hive.thrift.shared_descriptor import LOCATION, DescriptorShape, SharedDescriptor
from hive.thrift.structs import STORAGE_DESCRIPTOR, TABLE
from hive.thrift.types import (
    BOOL,
    CODES,
    DOUBLE,
    LIST,
    MAP,
    SET,
    STRING,
    STRUCT,
    ListOf,
    MapOf,
    Struct,
    Type,
    binary,
    string,
)
from hive.thrift.wire import DEPTH_MAX, FIELD, PACK_I32, PACK_ITEMS, PACK_PAIRS, skip
from hive.thrift.write_plan import Append, PlannedField, Write, plan
from hive.thrift.writers import PACKINGS, STOP_BYTE, write_string, writer

_VIEW_TEXTS = ("10", "11")
_REMEMBERED_MAX = 1_000
_BOOLEANS = {0: b"\x00", 1: b"\x01"}


@cache
def json_writer(type_: Type) -> Write:
    """The function that appends the canonical bytes of a TJSON value of this type."""
    if isinstance(type_, Struct):
        if type_ is TABLE:
            return _table_writer()
        # Compared by name: the struct of a full ACID table is a variant.
        if type_.name == STORAGE_DESCRIPTOR.name:
            return _descriptor_writer(type_)
        return _struct_writer(type_)
    if isinstance(type_, ListOf):
        return _list_writer(type_)
    if isinstance(type_, MapOf):
        texts = type_.key is string and type_.value is string
        return _write_texts if texts else _map_writer(type_)
    if type_ is string:
        return write_string
    if type_ is binary:
        return _write_base64
    return _scalar_writer(type_.code)


@cache
def _scalar_writer(code: int) -> Write:
    if code == BOOL:
        return lambda value, append: append(_BOOLEANS[value])
    pack = PACKINGS[code].pack
    if code == DOUBLE:
        # NaN and the infinities are texts in TJSON.
        return lambda value, append: append(pack(float(value)))
    return lambda value, append: append(pack(value))


def _write_base64(value: str, append: Append) -> None:
    # Java's TJSONProtocol leaves the padding out.
    data = b64decode(value + "=" * (-len(value) % 4), validate=True)
    append(PACK_I32.pack(len(data)) + data)


def _list_writer(type_: ListOf) -> Write:
    write, code, kind = json_writer(type_.item), type_.item.code, type_.item.json_name
    is_set, empty = type_.code == SET, PACK_ITEMS.pack(type_.item.code, 0)

    def write_list(value: list[Any], append: Append) -> None:
        item_kind, count, *items = value
        if count == 0 and not items:
            append(empty)
            return
        if count != len(items) or item_kind != kind:
            raise ThriftError(f"{len(items)} of {item_kind} where {count} of {kind} should be")
        append(PACK_ITEMS.pack(code, count))
        for item in sorted(items) if is_set else items:
            write(item, append)

    return write_list


def _map_writer(type_: MapOf) -> Write:
    write_key, write_value = json_writer(type_.key), json_writer(type_.value)
    codes = type_.key.code, type_.value.code
    kinds = type_.key.json_name, type_.value.json_name
    of_lists, empty = isinstance(type_.key, ListOf), PACK_PAIRS.pack(*codes, 0)

    def write_map(value: list[Any], append: Append) -> None:
        items = _pairs(value, kinds)
        if not items:
            append(empty)
            return
        append(PACK_PAIRS.pack(*codes, len(items)))
        for key in sorted(items, key=_elements) if of_lists else sorted(items):
            write_key(key, append)
            write_value(items[key], append)

    return write_map


def _write_texts(value: list[Any], append: Append) -> None:
    """Writes a map of texts, such as properties; there are so many that each call matters."""
    items = _pairs(value, ("str", "str"))
    append(PACK_PAIRS.pack(STRING, STRING, len(items)))
    if not items:
        return
    pack = PACK_I32.pack
    for key in sorted(items):
        data = items[key].encode()
        append(_property_name(key) + pack(len(data)) + data)


@lru_cache(maxsize=4_096)
def _property_name(key: str) -> bytes:
    """The encoded key of a map of texts: objects share most keys."""
    data = key.encode()
    return PACK_I32.pack(len(data)) + data


def _pairs(value: list[Any], kinds: tuple[str, str]) -> Any:
    """The items of a map of the expected types; an empty one may declare any types."""
    key_kind, value_kind, count, items = value
    if count != len(items) or (items and (key_kind, value_kind) != kinds):
        raise ThriftError(f"{len(items)} of {key_kind}, {value_kind} where {count} of {kinds}")
    return items


def _elements(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sort key of a list that is a map's key in TJSON: the list without its type and length."""
    return key[2:]


@cache
def _struct_writer(struct: Struct) -> Write:
    # Made at the first use, since structs may hold each other.
    fields: tuple[tuple[str, str, bytes, Write, bytes], ...] | None = None
    described_ids = {str(field.id) for field in struct.fields}

    def write_struct(value: dict[str, Any], append: Append) -> None:
        nonlocal fields
        if fields is None:
            # All at once: other threads write without those that are missing.
            fields = tuple(
                ("" if f.fixed else str(f.id), f.kind, f.header, f.write, f.absent)
                for f in plan(struct, json_writer, writer)
            )
        if not value.keys() <= described_ids:
            append(_with_unknown(struct, described_ids, value))
            return
        for key, kind, header, write, absent in fields:
            typed = value.get(key)
            if typed is not None:
                append(header)
                write(typed[kind], append)
            elif absent:
                append(absent)
        append(STOP_BYTE)

    return write_struct


def _with_unknown(struct: Struct, described_ids: set[str], value: dict[str, Any]) -> bytes:
    """The encoding of a struct with fields that our description lacks, in order of ids."""
    fields = {int(key): _field(int(key), value[key]) for key in value.keys() - described_ids}
    for field in plan(struct, json_writer, writer):
        fields[field.id] = _planned(field, value)
    return b"".join(fields[id_] for id_ in sorted(fields)) + STOP_BYTE


def _planned(field: PlannedField, value: dict[str, Any]) -> bytes:
    typed = None if field.fixed else value.get(str(field.id))
    if typed is None:
        return field.absent
    parts = [field.header]
    field.write(typed[field.kind], parts.append)
    return b"".join(parts)


def _table_writer() -> Write:
    write_plain = _struct_writer(TABLE)

    def write_table(value: dict[str, Any], append: Append) -> None:
        table_type = value["12"]["str"] if "12" in value else None
        parameters = value["9"]["map"][3] if "9" in value else {}
        form = table_form(table_type, parameters, has_view_text=_VIEW_TEXTS[0] in value)
        if form.table_type != table_type:
            value = {**value, "12": {"str": form.table_type}}
        if not form.is_view and any(key in value for key in _VIEW_TEXTS):
            value = {key: item for key, item in value.items() if key not in _VIEW_TEXTS}
        write = write_plain if form.struct is TABLE else json_writer(form.struct)
        write(value, append)

    return write_table


def _descriptor_writer(struct: Struct) -> Write:
    """Writes descriptors. What many objects share of one is written once and remembered; a
    descriptor may be encoded already."""
    write_all = _struct_writer(struct)

    @lru_cache(maxsize=_REMEMBERED_MAX)
    def around(shape: DescriptorShape) -> tuple[bytes, bytes]:
        return around_location(struct, shape.fields)

    def write_descriptor(value: dict[str, Any] | bytes, append: Append) -> None:
        if isinstance(value, bytes):
            append(value)
        elif isinstance(value, SharedDescriptor):
            before, after = around(value.shape)
            append(before)
            write_string(value.location, append)
            append(after)
        else:
            write_all(value, append)

    return write_descriptor


def around_location(descriptor: Struct, rest: dict[str, Any]) -> tuple[bytes, bytes]:
    """The bytes of a descriptor before and after its location, from a value without one."""
    parts: list[bytes] = []
    _struct_writer(descriptor)({**rest, LOCATION: {"str": ""}}, parts.append)
    data, at = b"".join(parts), 0
    code, id_ = FIELD.unpack_from(data, at)
    while id_ < int(LOCATION):
        at = skip(data, at + FIELD.size, code)
        code, id_ = FIELD.unpack_from(data, at)
    at += FIELD.size
    return data[:at], data[at + PACK_I32.size :]


def write_undescribed(value: dict[str, Any], append: Append, depth: int = 0) -> None:
    """Appends a struct using only the types in its TJSON; binary comes out as base64."""
    for id_ in sorted(map(int, value)):
        append(_field(id_, value[str(id_)], depth + 1))
    append(STOP_BYTE)


def _field(id_: int, typed: dict[str, Any], depth: int = 0) -> bytes:
    ((kind, value),) = typed.items()
    parts = [FIELD.pack(CODES[kind], id_)]
    _write_any(kind, value, parts.append, depth)
    return b"".join(parts)


def _write_any(kind: str, value: Any, append: Append, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise ThriftError(f"more than {DEPTH_MAX} levels")
    code = CODES[kind]
    if code == STRING:
        write_string(value, append)
    elif code == STRUCT:
        write_undescribed(value, append, depth)
    elif code in (LIST, SET):
        item, count, *items = value
        append(PACK_ITEMS.pack(CODES[item], _counted(count, items)))
        for each in items:
            _write_any(item, each, append, depth + 1)
    elif code == MAP:
        key_kind, value_kind, count, pairs = value
        append(PACK_PAIRS.pack(CODES[key_kind], CODES[value_kind], _counted(count, pairs)))
        number = key_kind not in ("str", "lst", "dbl")
        for key in sorted(pairs, key=int if number else None):
            _write_any(key_kind, int(key) if number else key, append, depth + 1)
            _write_any(value_kind, pairs[key], append, depth + 1)
    else:
        _scalar_writer(code)(value, append)


def _counted(count: int, items: Sized) -> int:
    if count != len(items):
        raise ThriftError(f"{len(items)} values where {count} should be")
    return count
