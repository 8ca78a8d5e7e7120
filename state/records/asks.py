"""The signals topic: what workers, readers and operators ask the connectors to load."""

import msgspec

from hive.errors import RecordFormatError
from state.records.codec import FORMAT_VERSION
from state.records.envelopes import Record, Scope

_PREFIX = bytes((FORMAT_VERSION,))


class Ask(Record, frozen=True, tag="a"):
    """Somebody misses this: a load that begins to read at or after event `floor` answers it."""

    scope: Scope
    floor: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Ask)


def signals_topic(topic: str) -> str:
    """Where the asks for loads of an events topic go."""
    return f"{topic}.signals"


def encode_ask(ask: Ask) -> bytes:
    """The value of a message of the signals topic."""
    return _PREFIX + _encoder.encode(ask)


def ask_key(ask: Ask) -> bytes:
    """Equal asks share a key, so that one connector gets them all."""
    return _encoder.encode(ask.scope)


def decode_ask(value: bytes) -> Ask:
    """Reads a message's value; refuses other format versions, and bytes that aren't an ask."""
    if value[:1] != _PREFIX:
        raise RecordFormatError(
            f"the signals topic has a message that begins with {value[:1]!r}, this release reads "
            f"format {FORMAT_VERSION}"
        )
    try:
        return _decoder.decode(memoryview(value)[1:])
    except msgspec.MsgspecError as error:
        raise RecordFormatError(f"a message of the signals topic can't be read: {error}") from error
