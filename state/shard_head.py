"""What a shard knows of itself."""

import msgspec


class ShardHead(msgspec.Struct, array_like=True):
    """The state of a shard as a whole."""

    epoch: int = 0
    applied: int = 0
    """Every event up to this one is folded."""
    floor: int = 0
    """The last event of which nothing is known in the whole shard."""
    lists_floor: int = 0
    """Where the lists last changed: a table that they let in is unknown up to here."""
    lists_version: int = 0
    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    pause_version: int = 0
    paused: bool = False
    loads_open: int = 0
    """Loads of tables and of write ids that are between their Begin and their End."""
    ended_count: int = 0
    """Transactions whose end is kept for these loads."""


_decoder = msgspec.msgpack.Decoder(ShardHead)
_encoder = msgspec.msgpack.Encoder()


def encode(head: ShardHead) -> bytes:
    return _encoder.encode(head)


def decode(value: bytes | None) -> ShardHead:
    """The head of a shard; of a new one when there is none."""
    return ShardHead() if value is None else _decoder.decode(value)
