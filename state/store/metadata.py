"""The identity of a store, and its position."""

from typing import Final

import msgspec
from msgspec import Struct

FAMILY: Final = "metadata"
IDENTITY_KEY: Final = b"identity"
POSITION_KEY: Final = b"position"
POSITION_END: Final = POSITION_KEY + b"\0"


class Identity(Struct, frozen=True, kw_only=True):
    """Which shard of which topic a store holds."""

    # Written once, when the store is made. Encoded as a map, so that any version can read
    # `format_version` of any other.

    format_version: int
    topic_id: str
    partitions: int
    shard: int


class StorePosition(Struct, frozen=True, array_like=True, order=True):
    """How far a store is: the last event applied, and the offset of the next record that it
    applies."""

    epoch: int = 0
    applied: int = 0
    offset: int = 0
    mark: int = 0
    """The mark of the row of event `applied`; 0 if it isn't known."""
    record_mark: int = 0
    """The mark of the last record before `offset`; 0 if it isn't known."""


class _Version(Struct):
    format_version: int


_decode_version = msgspec.msgpack.Decoder(_Version).decode
decode_identity = msgspec.msgpack.Decoder(Identity).decode
decode_position = msgspec.msgpack.Decoder(StorePosition).decode
encode = msgspec.msgpack.Encoder().encode


def differences(stored: bytes, expected: Identity) -> str | None:
    """Describes why a store isn't the expected one; None when it is.

    Raises one of `UNDECODABLE` when the stored bytes aren't an identity.
    """
    format_version = _decode_version(stored).format_version
    if format_version != expected.format_version:
        return f"its format is {format_version}, but this version reads {expected.format_version}"
    identity = decode_identity(stored)
    if identity == expected:
        return None
    return f"it is {_words(identity)}, wanted is {_words(expected)}"


def _words(identity: Identity) -> str:
    return f"shard {identity.shard} of {identity.partitions} of topic {identity.topic_id}"
