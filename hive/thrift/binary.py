"""Mappings with the IDL's names ↔ canonical TBinaryProtocol bytes.

A field that our description lacks comes out of `decode` as "#<id>" with its bytes as they are,
and `encode` puts it back. A value given to `encode` as bytes where a struct is expected must be
that struct's encoding: it is copied, so an answer around a stored object costs no decoding.
"""

from collections.abc import Mapping
from struct import error as packing_error
from typing import Any

from hive.errors import ThriftError
from hive.thrift.readers import reader
from hive.thrift.types import Struct
from hive.thrift.writers import Unknown, writer

__all__ = ["Unknown", "decode", "encode"]


def encode(struct: Struct, mapping: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a mapping; None means that a field is not set."""
    parts: list[bytes] = []
    try:
        writer(struct)(mapping, parts.append)
    except (TypeError, ValueError, AttributeError, packing_error, RecursionError) as error:
        raise ThriftError(f"a mapping that is no {struct.name}: {error}") from error
    return b"".join(parts)


def decode(struct: Struct, data: bytes) -> dict[str, Any]:
    """The mapping that these bytes hold: fields that are not set are left out."""
    try:
        value, end = reader(struct)(data, 0)
    except (IndexError, packing_error, RecursionError, UnicodeDecodeError) as error:
        raise ThriftError(f"{len(data)} bytes that are no {struct.name}: {error}") from error
    if end != len(data):
        raise ThriftError(f"{len(data) - end} bytes too many after a {struct.name}")
    mapping: dict[str, Any] = value
    return mapping
