"""What a shard knows of a table beside its objects."""

import msgspec

from state.loads import Cold, Doubt, Loads


class TableState(msgspec.Struct, array_like=True):
    """One table of a shard."""

    loads: Loads
    """Of everything but the write ids."""
    ids_loads: Loads
    """Of the write ids alone: a load of the table brings them too."""
    id: int = 0
    """0 where it isn't known."""
    managed: bool = False
    partitioned: bool = True
    detailed: bool = False
    """It has had statistics or constraints."""
    statistics_floor: int = 0
    """The last event whose effects on statistics can't be known."""
    statistics_doubt: Doubt = Doubt.NONE
    pending: list[int] = []
    """Write ids, sorted, of writes that were folded before it is known how they end."""

    def statistics_cold(self, applied: int, shard_floor: int) -> Cold | None:
        """Why statistics can't be answered; None when they can."""
        return self.loads.cold(applied, max(shard_floor, self.statistics_floor))


_decoder = msgspec.msgpack.Decoder(TableState)
_encoder = msgspec.msgpack.Encoder()


def encode(state: TableState) -> bytes:
    return _encoder.encode(state)


def decode(value: bytes) -> TableState:
    return _decoder.decode(value)
