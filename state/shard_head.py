"""The head of a shard: its state as a whole."""

import msgspec


class ShardHead(msgspec.Struct, array_like=True):
    """The state of a shard as a whole."""

    epoch: int = 0
    applied: int = 0
    """The event up to which everything is folded."""
    floor: int = 0
    """The last event whose effects on the whole shard are unknown."""
    lists_floor: int = 0
    """The event at which the lists last changed: tables that they let in are unknown up to it."""
    lists_version: int = 0
    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    pause_version: int = 0
    paused: bool = False
    loads_open: int = 0
    """The number of loads of tables and of write ids between their Begin and their End; for the
    fold alone."""
    ended_count: int = 0
    """The number of transactions whose end is kept for these loads; for the fold alone."""
    renames_floor: int = -1
    """The event up to which renames may be unknown: a record was skipped, events were missing, an
    epoch began, or the lists let tables in; -1 if none of these has happened."""
    mark: int = 0
    """The mark of the row of event `applied`; 0 if it isn't known."""


_decoder = msgspec.msgpack.Decoder(ShardHead)
_encoder = msgspec.msgpack.Encoder()


def encode(head: ShardHead) -> bytes:
    return _encoder.encode(head)


def decode(value: bytes | None) -> ShardHead:
    """Decodes the head of a shard; a new shard has an empty one."""
    return ShardHead() if value is None else _decoder.decode(value)
