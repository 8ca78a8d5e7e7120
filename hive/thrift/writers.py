"""Functions that append the canonical bytes of Python values, one a type."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from hive.errors import ThriftError
from hive.thrift.canonical import canonical_fields
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

Append = Callable[[bytes], None]
Write = Callable[[Any, Append], None]
STOP_BYTE = bytes([STOP])
PACKINGS = {BYTE: PACK_I8, I16: PACK_I16, I32: PACK_I32, I64: PACK_I64, DOUBLE: PACK_DOUBLE}
UNKNOWN_PREFIX = "#"


class Unknown(NamedTuple):
    """The value of a field that our description lacks: its type's code and its bytes."""

    code: int
    data: bytes


@cache
def writer(type_: Type) -> Write:
    """The function that appends the canonical bytes of a value of this type."""
    if isinstance(type_, Struct):
        return _struct_writer(type_)
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
    """Append a text."""
    data = value.encode()
    append(PACK_I32.pack(len(data)) + data)


def write_binary(value: bytes, append: Append) -> None:
    """Append bytes."""
    append(PACK_I32.pack(len(value)) + value)


def write_boolean(value: bool, append: Append) -> None:
    """Append a truth value."""
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
    plan: list[tuple[str, bytes, Write, Any]] = []
    names = {field.name for field in struct.fields}

    def write_struct(value: Mapping[str, Any] | bytes, append: Append) -> None:
        if isinstance(value, bytes):
            append(value)
            return
        if not plan:
            plan.extend(
                (f.name, FIELD.pack(f.type.code, f.id), writer(f.type), f.default)
                for f in canonical_fields(struct)
            )
        if not value.keys() <= names:
            append(b"".join(_with_unknown(struct, names, value)))
            return
        for name, header, write, default in plan:
            item = value.get(name, default)
            if item is not None:
                append(header)
                write(item, append)
        append(STOP_BYTE)

    return write_struct


def _with_unknown(struct: Struct, names: set[str], value: Mapping[str, Any]) -> Iterable[bytes]:
    """The encoding of a struct that holds fields which our description lacks, in order of ids."""
    fields: dict[int, bytes] = {}
    for name in value.keys() - names:
        item = value[name]
        if not (isinstance(item, Unknown) and name[:1] == UNKNOWN_PREFIX and name[1:].isdigit()):
            raise ThriftError(f"{struct.name} has no field {name!r}")
        fields[int(name[1:])] = FIELD.pack(item.code, int(name[1:])) + item.data
    for field in canonical_fields(struct):
        item = value.get(field.name, field.default)
        if item is not None:
            parts = [FIELD.pack(field.type.code, field.id)]
            writer(field.type)(item, parts.append)
            fields[field.id] = b"".join(parts)
    return [fields[id_] for id_ in sorted(fields)] + [STOP_BYTE]
