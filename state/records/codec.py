"""Records as bytes: a format version, then MessagePack."""

import msgspec

from hive.errors import RecordFormatError, UnwritableRecordError
from state.records.envelopes import AnyRecord

FORMAT_VERSION = 1

_PREFIX = bytes((FORMAT_VERSION,))
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnyRecord] = msgspec.msgpack.Decoder(AnyRecord)


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
    return _PREFIX + body


def decode(value: bytes) -> AnyRecord:
    """Decodes a message's value; refuses other format versions, and bytes that aren't a record."""
    if value[:1] != _PREFIX:
        raise RecordFormatError(_version_problem(value))
    try:
        return _decoder.decode(memoryview(value)[1:])
    except msgspec.MsgspecError as error:
        raise RecordFormatError(f"a record of the topic can't be read: {error}") from error


def _version_problem(value: bytes) -> str:
    if not value:
        return "an empty message isn't a record; is this the events topic?"
    if value[0] > FORMAT_VERSION:
        return (
            f"the topic has records of format {value[0]}; this release reads format "
            f"{FORMAT_VERSION}; upgrade the workers before the connectors"
        )
    return f"the topic has records of unknown format {value[0]}; is this the events topic?"
