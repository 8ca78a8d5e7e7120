"""Mappings with the IDL's names ↔ canonical TBinaryProtocol bytes.

A field that our description lacks comes out of `decode` as "#<id>" with its bytes as they are, and
`encode` puts it back. Where `encode` expects a struct it also takes bytes, which must be that
struct's encoding, and copies them: so an answer around a stored object costs no decoding.
"""

from collections.abc import Mapping
from struct import error as packing_error
from typing import Any

from hive.errors import ThriftError
from hive.thrift.readers import Read, reader
from hive.thrift.types import Struct
from hive.thrift.wire import FIELD
from hive.thrift.writers import Unknown, writer

__all__ = ["Unknown", "decode", "encode", "extended", "replaced"]


def encode(struct: Struct, mapping: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a mapping; a field that is None is not set."""
    parts: list[bytes] = []
    try:
        writer(struct)(mapping, parts.append)
    except (TypeError, ValueError, AttributeError, packing_error, RecursionError) as error:
        raise ThriftError(f"a mapping that is no {struct.name}: {error}") from error
    return b"".join(parts)


def decode(struct: Struct, data: bytes, read: Read | None = None) -> dict[str, Any]:
    """The mapping in these bytes, without fields that are not set.

    `read` is a `struct_reader` of the struct with other functions for some fields.
    """
    try:
        value, end = (read or reader(struct))(data, 0)
    except (IndexError, packing_error, RecursionError, UnicodeDecodeError) as error:
        raise ThriftError(f"{len(data)} bytes that are no {struct.name}: {error}") from error
    if end != len(data):
        raise ThriftError(f"{len(data) - end} bytes too many after a {struct.name}")
    mapping: dict[str, Any] = value
    return mapping


def replaced(struct: Struct, data: bytes, **changes: Any) -> bytes:
    """An encoded object with other values in some fields."""
    return encode(struct, {**decode(struct, data), **changes})


def extended(struct: Struct, data: bytes, **fields: Any) -> bytes:
    """An encoded object with fields that the canonical form leaves out, for one caller's answer.

    The fields go to the end, where readers accept them.
    """
    types = {field.name: field for field in struct.fields}
    parts = [data[:-1]]
    for name, value in fields.items():
        parts.append(FIELD.pack(types[name].type.code, types[name].id))
        writer(types[name].type)(value, parts.append)
    return b"".join([*parts, data[-1:]])
