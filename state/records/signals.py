"""The signals topic: what workers, readers and operators ask the connectors for."""

import msgspec

from hive.errors import RecordFormatError
from hive.names import TableName
from state.records.codec import FORMAT_VERSION
from state.records.envelopes import Record, Scope, ScopeKind

_PREFIX = bytes((FORMAT_VERSION,))


class Ask(Record, frozen=True, tag="a"):
    """Somebody misses this: a load that begins to read at or after event `floor` answers it."""

    scope: Scope
    floor: int
    objects: tuple[tuple[str, ...], ...] = ()
    """Of the kind OBJECTS: partitions by the values in their names, and () for the table itself."""


class Forget(Record, frozen=True, tag="f"):
    """An operator wants a table out of the cache, and loaded anew or not."""

    table: TableName
    load: bool


class Choose(Record, frozen=True, tag="l"):
    """An operator says which tables are cached, in place of what was said before."""

    above: int
    """The highest version of such a decision that is known to whoever asks."""
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]


class Serve(Record, frozen=True, tag="s"):
    """An operator says whether the cache serves."""

    above: int
    paused: bool


Order = Forget | Choose | Serve
"""What an operator decides: a connector writes it into the events topic as a Control record."""
AnySignal = Ask | Order

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnySignal] = msgspec.msgpack.Decoder(AnySignal)


def signals_topic(topic: str) -> str:
    """Where the signals of an events topic go."""
    return f"{topic}.signals"


def encode_signal(signal: AnySignal) -> bytes:
    """The value of a message of the signals topic."""
    return _PREFIX + _encoder.encode(signal)


def signal_key(signal: AnySignal) -> bytes:
    """What concerns one scope shares a key, so that one connector gets it all, in its order; and
    so do decisions about the whole cache."""
    match signal:
        case Ask():
            return _encoder.encode(signal.scope)
        case Forget():
            return _encoder.encode(Scope(ScopeKind.TABLE, signal.table))
    return b"cache"


def decode_signal(value: bytes) -> AnySignal:
    """Reads a message's value; refuses other format versions, and bytes that aren't a signal."""
    if value[:1] != _PREFIX:
        raise RecordFormatError(
            f"the signals topic has a message that begins with {value[:1]!r}, this release reads "
            f"format {FORMAT_VERSION}"
        )
    try:
        return _decoder.decode(memoryview(value)[1:])
    except msgspec.MsgspecError as error:
        raise RecordFormatError(f"a message of the signals topic can't be read: {error}") from error
