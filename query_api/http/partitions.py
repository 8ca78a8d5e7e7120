"""Writes the partitions of a table as JSON, without decoding each of them.

Partitions of a table differ only in a few fields, and an encoded value tells where it ends. If the
bytes between two such fields equal those of the previous partition, so do the values and their
JSON.
"""

from typing import Any, Final, NamedTuple

import msgspec

from hive.errors import ThriftError
from hive.thrift.binary import decode
from hive.thrift.readers import Read, reader, struct_reader
from hive.thrift.splice import without_mark
from hive.thrift.structs import PARTITION, STORAGE_DESCRIPTOR
from hive.thrift.types import Struct
from hive.thrift.wire import packing_error
from query_api.http.json_objects import as_json

_OWN: Final = frozenset(("values", "createTime", "location", "parameters"))
"""Fields in which most partitions differ, and `sd`, which contains some of them."""
_HERE: Final = b"\0"
"""A placeholder for a field that differs; JSON contains no such byte."""


class _Own(NamedTuple):
    """A field that differs between partitions, and the bytes that precede it in each."""

    bytes_before: bytes
    json_before: bytes
    read: Read


class _Form(NamedTuple):
    """The layout that the partitions share."""

    own: tuple[_Own, ...]
    bytes_after: bytes
    json_after: bytes


class PartitionWriter:
    """Writes partitions one after the other; one with the layout of the last costs less."""

    def __init__(self) -> None:
        self._form: _Form | None = None

    def write(self, data: bytes) -> bytes:
        """A Partition."""
        data = without_mark(data)
        text = None if self._form is None else _written(self._form, data)
        if text is None:
            self._form = _form_of(data)
            text = as_json(decode(PARTITION, data))
        return text


def _written(form: _Form, data: bytes) -> bytes | None:
    """The JSON of a partition of this layout; None for any other."""
    at = 0
    parts: list[bytes] = []
    try:
        for bytes_before, json_before, read in form.own:
            if not data.startswith(bytes_before, at):
                return None
            value, at = read(data, at + len(bytes_before))
            parts += (json_before, as_json(value))
    except (ThriftError, IndexError, UnicodeDecodeError, packing_error):
        return None
    if data[at:] != form.bytes_after:
        return None
    parts.append(form.json_after)
    return b"".join(parts)


def _form_of(data: bytes) -> _Form:
    places: list[tuple[int, int, Read]] = []

    def noting(read: Read) -> Read:
        def note(data: bytes, at: int) -> tuple[Any, int]:
            _, end = read(data, at)
            places.append((at, end, read))
            return msgspec.Raw(_HERE), end

        return note

    def own(struct: Struct) -> dict[str, Read]:
        return {
            field.name: noting(reader(field.type)) for field in struct.fields if field.name in _OWN
        }

    descriptor = struct_reader(STORAGE_DESCRIPTOR, **own(STORAGE_DESCRIPTOR))
    partition = struct_reader(PARTITION, **own(PARTITION), sd=descriptor)
    *texts, json_after = as_json(decode(PARTITION, data, partition)).split(_HERE)
    begins = [0, *(end for _, end, _ in places)]
    own_fields = tuple(
        _Own(data[begin:at], text, read)
        for begin, (at, _, read), text in zip(begins, places, texts, strict=False)
    )
    return _Form(own_fields, data[begins[-1] :], json_after)
