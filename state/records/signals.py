"""The signals topic: what workers, readers and operators ask of the connectors."""

from typing import Final

import msgspec

from hive.errors import UNDECODABLE, RecordFormatError
from hive.names import TableName
from state.records.envelopes import Record, Scope, ScopeKind
from state.records.numbers import Natural, Word

_FORMAT_VERSION: Final = 1
_PREFIX: Final = bytes((_FORMAT_VERSION,))


class LoadRequest(Record, frozen=True, tag="a"):
    """A request for a load; a load that begins to read at or after event `floor` answers it."""

    scope: Scope
    floor: Natural
    objects: tuple[tuple[str, ...], ...] = ()
    """For the kind OBJECTS: partitions by the values in their names, () for the table itself."""


class ResetTableOrder(Record, frozen=True, tag="f"):
    """An operator's order to delete a table from the cache, and to load it anew or not."""

    table: TableName
    load: bool


class SetListsOrder(Record, frozen=True, tag="l"):
    """An operator's order that sets which tables are cached."""

    above: Natural
    """The highest version of such a decision that the sender knows."""
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]


class PauseOrder(Record, frozen=True, tag="s"):
    """An operator's order that starts or stops serving from the cache."""

    above: Natural
    paused: bool


class NewEpochOrder(Record, frozen=True, tag="e"):
    """An operator's order to begin an epoch above this one, which is the highest that the sender
    knows: everything is forgotten."""


class SkipOrder(Record, frozen=True, tag="p"):
    """An operator's order to skip the records of a shard between two offsets that can't be
    read."""

    shard: Word
    first: Natural
    last: Natural


Order = ResetTableOrder | SetListsOrder | PauseOrder | NewEpochOrder | SkipOrder
"""Operators' decisions: a connector writes them into the events topic as Control records."""
AnySignal = LoadRequest | Order

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[AnySignal] = msgspec.msgpack.Decoder(AnySignal)


def encode_signal(signal: AnySignal) -> bytes:
    """Encodes the value of a message of the signals topic."""
    return _PREFIX + _encoder.encode(signal)


def signal_key(signal: AnySignal) -> bytes:
    """The key of a signal. Signals of one scope share a key, so that one connector gets them all in
    order; so do decisions about the whole cache."""
    match signal:
        case LoadRequest():
            return _encoder.encode(signal.scope)
        case ResetTableOrder():
            return _encoder.encode(Scope(ScopeKind.TABLE, signal.table))
    return b"cache"


def decode_signal(value: bytes) -> AnySignal:
    """Decodes a message's value; refuses other format versions, and bytes that aren't a signal."""
    if value[:1] != _PREFIX:
        raise RecordFormatError(
            f"the signals topic has a message that begins with {value[:1]!r}; this release reads "
            f"format {_FORMAT_VERSION}"
        )
    try:
        return _decoder.decode(memoryview(value)[1:])
    except UNDECODABLE as error:
        raise RecordFormatError(f"a message of the signals topic can't be read: {error}") from error
