"""Records as bytes: a format version, MessagePack, a checksum."""

from enum import StrEnum
from typing import Final
from zlib import crc32

import msgspec

from hive.errors import UNDECODABLE, RecordFormatError, UnwritableRecordError
from state.records.envelopes import AnyRecord, Skip

FORMAT_VERSION = 2

_PREFIX = bytes((FORMAT_VERSION,))
BODY: Final = slice(1, -4)
"""Where the MessagePack is."""
_SOUND: Final = 0x2144DF1C
"""The CRC-32 of all bytes that end with their own CRC-32, lowest byte first."""
# A record is an array of less than 16 items, the first of which is its tag.
_TAG_AT: Final = 2
_FIXED_TEXT: Final = 0xA0
_TAGS: Final = {str(kind.__struct_config__.tag): kind for kind in AnyRecord.__args__}
_SKIP_TAG: Final = msgspec.msgpack.encode(Skip.__struct_config__.tag)
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyRecord] = msgspec.msgpack.Decoder(AnyRecord)


class Unreadable(StrEnum):
    """Why a record can't be read."""

    EMPTY = "empty"
    NEWER_FORMAT = "newer_format"
    UNKNOWN_FORMAT = "unknown_format"
    DAMAGED = "damaged"


def encode(record: AnyRecord) -> bytes:
    """Encodes the value of a message of the topic; refuses what could not be decoded again.

    A record that can't be read stops its shard, so every one is decoded before it is written.
    """
    try:
        body = _encoder.encode(record)
        _decoder.decode(body)
    except (msgspec.MsgspecError, OverflowError, UnicodeError) as error:
        kind = type(record).__name__
        raise UnwritableRecordError(f"a {kind} that nobody could read: {error}") from error
    return framed(body)


def framed(body: bytes) -> bytes:
    """The value of a message with this MessagePack.

    Brokers check batches when they take them, but what a disk has changed since is up to those who
    read. librdkafka, which reads a shard from its beginning, ends its process where it checks a
    damaged batch (2.16.0), so it checks none.
    """
    data = _PREFIX + body
    return data + crc32(data).to_bytes(4, "little")


def checksum(value: bytes) -> int:
    """The checksum with which a message's value ends. Nobody has compared it."""
    return int.from_bytes(value[BODY.stop :], "little")


def decode(value: bytes) -> AnyRecord:
    """Decodes a message's value; refuses other format versions, and bytes that aren't a record."""
    if value[:1] != _PREFIX:
        raise _version_problem(value)
    if crc32(value) != _SOUND:
        raise RecordFormatError(
            "a record of the topic can't be read: its checksum is another", Unreadable.DAMAGED
        )
    try:
        return _decoder.decode(memoryview(value)[BODY])
    except UNDECODABLE as error:
        raise RecordFormatError(
            f"a record of the topic can't be read: {error}", Unreadable.DAMAGED
        ) from error


def skip_in(value: bytes) -> Skip | None:
    """The order to skip records that these bytes are; other records aren't decoded."""
    if not value.startswith(_SKIP_TAG, _TAG_AT):
        return None
    try:
        record = decode(value)
    except RecordFormatError:
        return None
    return record if isinstance(record, Skip) else None


def type_of(value: bytes) -> str | None:
    """The type of a record as its first bytes tell it; None if they don't."""
    if value[:1] != _PREFIX or len(value) <= _TAG_AT:
        return None
    tag = value[_TAG_AT + 1 : _TAG_AT + 1 + max(0, value[_TAG_AT] - _FIXED_TEXT)]
    kind = _TAGS.get(tag.decode("ascii", "replace"))
    return None if kind is None else kind.__name__


def _version_problem(value: bytes) -> RecordFormatError:
    if not value:
        why = "an empty message isn't a record; is this the events topic?"
        return RecordFormatError(why, Unreadable.EMPTY)
    if value[0] > FORMAT_VERSION:
        return RecordFormatError(
            f"the topic has records of format {value[0]}; this release reads format "
            f"{FORMAT_VERSION}; upgrade the workers before the connectors",
            Unreadable.NEWER_FORMAT,
        )
    return RecordFormatError(
        f"the topic has records of unknown format {value[0]}; is this the events topic?",
        Unreadable.UNKNOWN_FORMAT,
    )
