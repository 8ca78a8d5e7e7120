"""Changes an object's canonical bytes in places, leaving the rest as it is."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hive.errors import ThriftError
from hive.thrift.binary import decode, encode
from hive.thrift.canonical import ACID_PARTITION
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import BOOL, I32, LIST, MAP, STOP, STRING, STRUCT, Struct
from hive.thrift.wire import FIELD, PACK_I32, PACK_ITEMS, PACK_PAIRS, packing_error, skip

_MARK: Final = FIELD.pack(BOOL, 100) + b"\1\0"
"""A field id beyond all of Hive's, which its clients skip."""
_NO_BUCKETS: Final = PACK_I32.pack(-1)
_NO_MAP: Final = PACK_PAIRS.pack(STRING, STRING, 0)
_NO_STRUCTS: Final = bytes((STRUCT, 0, 0, 0, 0))
_DESCRIPTOR_OF: Final = {PARTITION: 6, TABLE: 7}
_COLUMNS, _BUCKETS = 1, 6
_NO_SKEW: Final = (
    FIELD.pack(LIST, 1)
    + bytes((STRING, 0, 0, 0, 0))
    + FIELD.pack(LIST, 2)
    + bytes((LIST, 0, 0, 0, 0))
    + FIELD.pack(MAP, 3)
    + PACK_PAIRS.pack(LIST, STRING, 0)
    + b"\0"
)


class _Span(NamedTuple):
    """A field: the positions of its header, of its value and of what follows."""

    id: int
    code: int
    start: int
    value: int
    end: int


def _fields(data: bytes, at: int) -> Iterator[_Span]:
    try:
        while data[at] != STOP:
            code, id_ = FIELD.unpack_from(data, at)
            end = skip(data, at + FIELD.size, code)
            yield _Span(id_, code, at, at + FIELD.size, end)
            at = end
    except (IndexError, packing_error):
        raise ThriftError(f"a struct ends beyond all {len(data)} bytes") from None


def _field(data: bytes, at: int, id_: int, code: int) -> _Span | None:
    for field in _fields(data, at):
        if field.id >= id_:
            return field if (field.id, field.code) == (id_, code) else None
    return None


def without_buckets(struct: Struct, data: bytes) -> bytes:
    """A table or a partition without its buckets, if it has any."""
    descriptor = _field(data, 0, _DESCRIPTOR_OF[struct], STRUCT)
    buckets = descriptor and _field(data, descriptor.value, _BUCKETS, I32)
    if not buckets or PACK_I32.unpack_from(data, buckets.value)[0] <= 0:
        return data
    return data[: buckets.value] + _NO_BUCKETS + data[buckets.end :]


def without_columns(partition: bytes) -> bytes:
    """A partition whose descriptor has no columns."""
    descriptor = _field(partition, 0, _DESCRIPTOR_OF[PARTITION], STRUCT)
    columns = descriptor and _field(partition, descriptor.value, _COLUMNS, LIST)
    if not columns:
        return partition
    return partition[: columns.value] + _NO_STRUCTS + partition[columns.end :]


def lacking_serde_details(partition: bytes) -> bytes:
    """A partition, marked as lacking fields of its serde that only a read of it alone returns."""
    return partition if lacks_serde_details(partition) else partition[:-1] + _MARK


def without_mark(partition: bytes) -> bytes:
    """A partition without the mark of `lacking_serde_details`, if it has it."""
    if not lacks_serde_details(partition):
        return partition
    return partition[: -len(_MARK)] + b"\0"


def has_values(partition: bytes, values: Sequence[str]) -> bool:
    """Whether a stored partition has exactly these values, which are its first field."""
    texts = [value.encode() for value in values]
    parts = [PACK_I32.pack(len(text)) + text for text in texts]
    head = FIELD.pack(LIST, 1) + PACK_ITEMS.pack(STRING, len(parts))
    return partition.startswith(head + b"".join(parts))


def lacks_serde_details(partition: bytes) -> bool:
    """Whether a read of this partition alone would return more of its serde."""
    return partition.endswith(_MARK)


@lru_cache(maxsize=4096)
def acid_partition(data: bytes) -> bytes:
    """A partition of a full ACID table as all reads except those by names return it."""
    descriptor = _field(data, 0, _DESCRIPTOR_OF[PARTITION], STRUCT)
    if descriptor is None:
        return encode(ACID_PARTITION, decode(PARTITION, data))
    parts = [data[: descriptor.value]]
    for field in _fields(data, descriptor.value):
        parts.append(data[field.start : field.value])
        match field.id:
            case 7:
                parts.append(_plain_serde(data, field.value))
            case 9:
                parts.append(_NO_STRUCTS)
            case 10:
                parts.append(_NO_MAP)
            case 11:
                parts.append(_NO_SKEW)
            case _:
                parts.append(data[field.value : field.end])
    parts.append(data[descriptor.end - 1 :])
    return b"".join(parts)


def _plain_serde(data: bytes, at: int) -> bytes:
    """The name and the library of a serde, without parameters."""
    kept = [data[field.start : field.end] for field in _fields(data, at) if field.id < 3]
    return b"".join([*kept, FIELD.pack(MAP, 3), _NO_MAP, b"\0"])
