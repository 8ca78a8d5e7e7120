"""The bytes of names, constraints and column statistics in a shard, written and read."""

from typing import Final

import msgspec

from state.records.objects import ColumnStatisticsImage, ConstraintImage, NameImage

ANALYZED_BYTES: Final = 8
"""The length of the time of analysis, which stands before the bytes of statistics."""


class StoredName(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A table's line in a list of tables; its key holds the name itself."""

    type: str
    owner: str | None
    comment: str | None
    owner_type: int


_encode = msgspec.msgpack.Encoder().encode
_decode_columns = msgspec.msgpack.Decoder(tuple[bytes, ...]).decode
_decode_name = msgspec.msgpack.Decoder(StoredName).decode


def name_data(image: NameImage) -> bytes:
    return _encode((image.type, image.owner, image.comment, image.owner_type))


def stored_name(data: bytes) -> StoredName:
    return _decode_name(data)


def constraint_data(image: ConstraintImage) -> bytes:
    """The structs of a constraint's columns; its key holds the name and the kind."""
    return _encode(image.columns)


def constraint_columns(data: bytes) -> tuple[bytes, ...]:
    return _decode_columns(data)


def statistics_data(image: ColumnStatisticsImage) -> bytes:
    """When one column was analysed, then the bytes of its statistics."""
    return image.last_analyzed.to_bytes(ANALYZED_BYTES, signed=True) + image.data


def stored_statistics(data: bytes) -> tuple[int, bytes]:
    """When one column was analysed, and the bytes of its statistics."""
    return int.from_bytes(data[:ANALYZED_BYTES], signed=True), data[ANALYZED_BYTES:]
