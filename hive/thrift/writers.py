"""Functions that append the canonical bytes of Python values, one for each type."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from hive.errors import ThriftError
from hive.thrift.canonical import table_form
from hive.thrift.structs import TABLE
from hive.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    SET,
    STOP,
    ListOf,
    MapOf,
    Struct,
    Type,
    binary,
    string,
)
from hive.thrift.wire import (
    FIELD,
    PACK_DOUBLE,
    PACK_I8,
    PACK_I16,
    PACK_I32,
    PACK_I64,
    PACK_ITEMS,
    PACK_PAIRS,
)
from hive.thrift.write_plan import Append, Write, plan

STOP_BYTE = bytes([STOP])
PACKINGS = {BYTE: PACK_I8, I16: PACK_I16, I32: PACK_I32, I64: PACK_I64, DOUBLE: PACK_DOUBLE}
UNKNOWN_PREFIX = "#"
_pack_length = PACK_I32.pack
VIEW_TEXTS = ("viewOriginalText", "viewExpandedText")


class Unknown(NamedTuple):
    """The value of a field that our description lacks: the code of its type and its bytes."""

    code: int
    data: bytes


@cache
def writer(type_: Type) -> Write:
    """The function that appends the canonical bytes of a value of this type."""
    if isinstance(type_, Struct):
        return _table_writer() if type_ is TABLE else _struct_writer(type_)
    if isinstance(type_, ListOf):
        return _list_writer(type_)
    if isinstance(type_, MapOf):
        return _map_writer(type_)
    if type_ is string:
        return write_string
    if type_ is binary:
        return write_binary
    if type_.code == BOOL:
        return write_boolean
    pack = PACKINGS[type_.code].pack
    return lambda value, append: append(pack(value))


def write_string(value: str, append: Append) -> None:
    data = value.encode()
    append(_pack_length(len(data)) + data)


def write_binary(value: bytes, append: Append) -> None:
    append(_pack_length(len(value)) + value)


def write_boolean(value: bool, append: Append) -> None:
    append(b"\x01" if value else b"\x00")


def _list_writer(type_: ListOf) -> Write:
    write, code, is_set = writer(type_.item), type_.item.code, type_.code == SET

    def write_list(values: list[Any], append: Append) -> None:
        append(PACK_ITEMS.pack(code, len(values)))
        for value in sorted(values) if is_set else values:
            write(value, append)

    return write_list


def _map_writer(type_: MapOf) -> Write:
    write_key, write_value = writer(type_.key), writer(type_.value)
    codes = type_.key.code, type_.value.code

    def write_map(values: Mapping[Any, Any], append: Append) -> None:
        append(PACK_PAIRS.pack(*codes, len(values)))
        for key in sorted(values):
            write_key(key, append)
            write_value(values[key], append)

    return write_map


def _struct_writer(struct: Struct) -> Write:
    # Made at the first use, since structs may hold each other.
    fields: tuple[tuple[str, bytes, Write, bytes], ...] | None = None
    names = {field.name for field in struct.fields}

    def write_struct(value: Mapping[str, Any] | bytes, append: Append) -> None:
        nonlocal fields
        if isinstance(value, bytes):
            append(value)
            return
        if not value.keys() <= names:
            append(_with_unknown(struct, names, value))
            return
        if fields is None:
            # All at once: other threads write without those that are missing.
            fields = tuple(
                ("" if f.fixed else f.name, f.header, f.write, f.absent)
                for f in plan(struct, writer, writer)
            )
        for name, header, write, absent in fields:
            item = value.get(name)
            if item is not None:
                append(header)
                write(item, append)
            elif absent:
                append(absent)
        append(STOP_BYTE)

    return write_struct


def _with_unknown(struct: Struct, names: set[str], value: Mapping[str, Any]) -> bytes:
    """The encoding of a struct with fields that our description lacks, in order of ids."""
    fields: dict[int, bytes] = {}
    for name in value.keys() - names:
        item = value[name]
        if not (isinstance(item, Unknown) and name[:1] == UNKNOWN_PREFIX and name[1:].isdigit()):
            raise ThriftError(f"{struct.name} has no field {name!r}")
        fields[int(name[1:])] = FIELD.pack(item.code, int(name[1:])) + item.data
    for field in plan(struct, writer, writer):
        item = None if field.fixed else value.get(field.name)
        if item is None:
            fields[field.id] = field.absent
        else:
            parts = [field.header]
            field.write(item, parts.append)
            fields[field.id] = b"".join(parts)
    return b"".join(fields[id_] for id_ in sorted(fields)) + STOP_BYTE


def _table_writer() -> Write:
    write_plain = _struct_writer(TABLE)

    def write_table(value: Mapping[str, Any] | bytes, append: Append) -> None:
        if isinstance(value, bytes):
            append(value)
            return
        has_view_text = value.get(VIEW_TEXTS[0]) is not None
        form = table_form(
            value.get("tableType"), value.get("parameters") or {}, has_view_text=has_view_text
        )
        if form.table_type != value.get("tableType"):
            value = {**value, "tableType": form.table_type}
        if not form.is_view and any(value.get(name) is not None for name in VIEW_TEXTS):
            value = {name: item for name, item in value.items() if name not in VIEW_TEXTS}
        write = write_plain if form.struct is TABLE else writer(form.struct)
        write(value, append)

    return write_table
